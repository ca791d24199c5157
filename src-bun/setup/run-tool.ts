import { KeepwarmError } from "../base/errors.ts";
import type { Environment } from "./part.ts";

type ToolRun = {
  readonly command: readonly string[];
  readonly folder: string;
  readonly environment: Environment;
  readonly signal: AbortSignal;
};

type ToolOutcome = { readonly isGood: boolean; readonly output: string };

/** Of what the tool printed; the reason of a failure stands at the end. */
const KEPT_CHARACTERS = 16_384;

export const throwIfCancelled = (signal: AbortSignal): void => {
  if (signal.aborted) {
    throw new KeepwarmError("cancelled", "Set-up was stopped. What is already here is kept; start again to go on.");
  }
};

/** Runs a program to its end; a signal that aborts ends it. Both of its outputs are read, the last part is kept. */
export const runTool = async ({ command, folder, environment, signal }: ToolRun): Promise<ToolOutcome> => {
  throwIfCancelled(signal);
  const child = Bun.spawn([...command], {
    cwd: folder,
    env: { ...environment },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    signal,
    killSignal: "SIGTERM",
  });
  let output = "";
  const read = async (stream: ReadableStream<Uint8Array>): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const chunk of stream) {
      output = (output + decoder.decode(chunk, { stream: true })).slice(-KEPT_CHARACTERS);
    }
  };
  await Promise.all([read(child.stdout), read(child.stderr)]);
  const exitCode = await child.exited;
  throwIfCancelled(signal);
  return { isGood: exitCode === 0, output: output.trim() };
};
