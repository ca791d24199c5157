// `ask` as a process of its own, and what it answers.
import type { GenerateResult } from "../../src-bun/contract/engine.ts";
import { KeepwarmProcess, type StartOptions } from "./keepwarm-process.ts";

export type AskAnswer = Pick<
  GenerateResult,
  | "text"
  | "model"
  | "promptTokens"
  | "cachedTokens"
  | "ttftMs"
  | "prefillTokensPerSecond"
  | "decodeTokensPerSecond"
  | "finishReason"
>;

export type Ended = { readonly code: number; readonly out: string; readonly err: string };

/** Runs a command to its end. */
export const runKeepwarm = async (args: readonly string[], options: StartOptions): Promise<Ended> => {
  await using command = new KeepwarmProcess(args, options);
  const code = await command.exit();
  return { code, out: command.out, err: command.err };
};

/** Asks greedily and for few tokens: a token takes a tenth of a second. */
export const askJson = async (args: readonly string[], options: StartOptions): Promise<AskAnswer> => {
  const { code, out, err } = await runKeepwarm(["ask", "--json", "--max-tokens", "16", ...args], options);
  if (code !== 0) throw new Error(`ask ended with ${code}: ${err}`);
  return JSON.parse(out);
};
