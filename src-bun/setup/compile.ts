// Compiles each source to an object file of its own; an object that is there is finished, so a build that was cut off
// goes on with the next one.
import { existsSync } from "node:fs";
import { rename } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Compiler } from "./compiler.ts";
import type { PartWork } from "./part.ts";
import { runTool } from "./run-tool.ts";
import { toolFailure } from "./tool-failure.ts";

export type Compilation = {
  readonly compiler: Compiler;
  readonly sources: readonly string[];
  readonly includeFolders: readonly string[];
};

const ADVICE =
  'A compiler for C++20 is needed, such as g++ 12 or clang 15; "npm run keepwarm -- doctor" names the one found.';

/** Runs the compiler; throws with the first error that it printed. */
export const compilerRun = async (
  compiler: Compiler,
  args: readonly string[],
  what: string,
  work: PartWork,
): Promise<void> => {
  const { isGood, output } = await runTool({
    command: [...compiler.command, ...args],
    folder: work.scratchFolder,
    environment: { ...work.environment, ...compiler.environment, TMPDIR: work.scratchFolder },
    signal: work.signal,
  });
  if (isGood) return;
  const firstError = output.split("\n").find((line) => /\berror\b/i.test(line)) ?? output;
  throw toolFailure("c++", firstError, { code: "setup-failed", what: `${what} failed`, advice: ADVICE });
};

const isCSource = (source: string): boolean => source.endsWith(".c");

const compileOne = async (compilation: Compilation, source: string, work: PartWork): Promise<string> => {
  const { compiler, includeFolders } = compilation;
  const object = join(work.keptFolder, `${basename(source)}.o`);
  if (existsSync(object)) return object;
  const unfinished = join(work.scratchFolder, `${basename(source)}.o`);
  const flags = isCSource(source) ? ["-x", "c", "-O2", "-fPIC"] : compiler.compileFlags;
  const includes = includeFolders.map((folder) => `-I${folder}`);
  const args = [...flags, ...includes, "-c", source, "-o", unfinished];
  await compilerRun(compiler, args, `Compiling ${basename(source)}`, work);
  await rename(unfinished, object);
  return object;
};

/** Returns the object files. The first failure stops the other compilers too. */
export const compileAll = async (compilation: Compilation, work: PartWork): Promise<string[]> => {
  const failed = new AbortController();
  const signal = AbortSignal.any([work.signal, failed.signal]);
  const { sources, compiler } = compilation;
  const waiting = [...sources];
  const objects: string[] = [];
  let firstFault: { readonly thrown: unknown } | null = null;
  const worker = async (): Promise<void> => {
    for (let source = waiting.shift(); source !== undefined; source = waiting.shift()) {
      work.report({ detail: `Compiling ${objects.length + 1} of ${sources.length}` });
      objects.push(await compileOne(compilation, source, { ...work, signal }));
    }
  };
  const guarded = async (): Promise<void> => {
    try {
      await worker();
    } catch (thrown) {
      firstFault ??= { thrown };
      failed.abort();
    }
  };
  await Promise.all(Array.from({ length: compiler.atATime }, guarded));
  const fault = firstFault as { readonly thrown: unknown } | null;
  if (fault !== null) throw fault.thrown;
  return objects;
};
