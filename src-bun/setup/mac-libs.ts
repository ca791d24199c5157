// `npm run mac:libs -- [--out FOLDER] [--cache FOLDER]`: builds the three files that the Mac app carries, on Linux or on a
// Mac, with Zig's compiler. An entry of its own for developers and CI, no part of the app.
import { copyFileSync, mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { env } from "node:process";
import { parseArgs } from "node:util";
import { messageOf } from "../base/errors.ts";
import type { SetupPart } from "../contract/app-state.ts";
import { resolvePaths } from "../platform/paths.ts";
import { ensureParts } from "./ensure-parts.ts";
import { macPartsByZig, thisMachine } from "./setup-parts.ts";

const projectFolder = join(import.meta.dir, "../..");

/** Prints each new thing that happens, once. */
const printer = (): ((parts: readonly SetupPart[]) => void) => {
  let last = "";
  return (parts) => {
    const part = parts.find(({ state }) => state === "working");
    const line = part === undefined ? last : `${part.title}: ${part.detail}`;
    if (line !== last) console.log(line);
    last = line;
  };
};

const main = async (args: readonly string[]): Promise<void> => {
  const { values } = parseArgs({ args: [...args], options: { out: { type: "string" }, cache: { type: "string" } } });
  const outFolder = resolve(values.out ?? join(projectFolder, "build/mac/native"));
  const cacheFolder = resolve(values.cache ?? resolvePaths(process.platform, env, homedir()).downloads);
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort());
  const start = performance.now();
  const parts = macPartsByZig(thisMachine());
  await ensureParts(parts, { cacheFolder, environment: env, signal: stop.signal, onProgress: printer() });
  mkdirSync(outFolder, { recursive: true });
  const library = parts.find(({ id }) => id === "libmlxc");
  if (library === undefined) throw new Error("no part is the library");
  for (const file of library.files) copyFileSync(join(cacheFolder, library.folder, file), join(outFolder, file));
  console.log(`${library.files.join(", ")} in ${outFolder} after ${((performance.now() - start) / 1000).toFixed(1)} s`);
};

if (import.meta.main) {
  try {
    await main(Bun.argv.slice(2));
  } catch (thrown) {
    console.error(messageOf(thrown));
    process.exitCode = 1;
  }
}
