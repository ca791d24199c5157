import { KeepwarmError } from "../base/errors.ts";
import type { Environment } from "../platform/paths.ts";

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

/** The program and those it started: a compiler's driver leaves its compiler running. It may have ended just now. */
const endGroup = (leader: number): void => {
  try {
    process.kill(-leader, "SIGTERM");
  } catch (thrown) {
    if (!(thrown instanceof Error && "code" in thrown && thrown.code === "ESRCH")) throw thrown;
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
    detached: true,
  });
  const end = (): void => endGroup(child.pid);
  signal.addEventListener("abort", end, { once: true });
  let output = "";
  const read = async (stream: ReadableStream<Uint8Array>): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const chunk of stream) {
      output = (output + decoder.decode(chunk, { stream: true })).slice(-KEPT_CHARACTERS);
    }
  };
  const [exitCode] = await Promise.all([child.exited, read(child.stdout), read(child.stderr)]);
  signal.removeEventListener("abort", end);
  throwIfCancelled(signal);
  return { isGood: exitCode === 0, output: output.trim() };
};
