import { KeepwarmError, messageOf } from "../base/errors.ts";

/**
 * One text from a worker's module and all that it imports, to be started with `new Worker(text, {eval: true})`.
 * The same in source runs, tests and the app, where a worker has no file of its own to be found at.
 */
export const bundleWorker = async (entry: string): Promise<string> => {
  try {
    const built = await Bun.build({
      entrypoints: [entry],
      target: "bun",
      format: "esm",
      external: ["bun:*", "node:*"],
    });
    const [output] = built.outputs;
    if (output === undefined) throw new Error("no output");
    return await output.text();
  } catch (cause) {
    throw new KeepwarmError("setup-failed", `The worker ${entry} could not be bundled: ${messageOf(cause)}.`, {
      cause,
    });
  }
};
