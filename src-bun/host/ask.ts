// `ask`: one question, through the running app when there is one, else by this process alone.
import { KeepwarmError } from "../base/errors.ts";
import type { GenerateRequest, GenerateResult } from "../contract/engine.ts";

export type AskOptions = {
  readonly text: string;
  readonly system: string | null;
  readonly maxTokens: number | null;
  readonly temperature: number;
  readonly seed: number | null;
};

export const askRequest = (options: AskOptions): GenerateRequest => {
  if (options.text.trim() === "") {
    throw new KeepwarmError("bad-request", "There is no question. Give it as the last argument or on standard input.");
  }
  const system = options.system === null ? [] : [{ role: "system" as const, content: options.system }];
  return {
    messages: [...system, { role: "user", content: options.text }],
    model: null,
    maxTokens: options.maxTokens,
    sampling: { temperature: options.temperature, seed: options.seed },
  };
};

/** What `--json` prints. */
export const askJson = (result: GenerateResult) => ({
  text: result.text,
  model: result.model,
  promptTokens: result.promptTokens,
  cachedTokens: result.cachedTokens,
  ttftMs: result.ttftMs,
  prefillTokensPerSecond: result.prefillTokensPerSecond,
  decodeTokensPerSecond: result.decodeTokensPerSecond,
  finishReason: result.finishReason,
});

const firstToken = (ms: number | null): string =>
  ms === null ? "no token came" : `first token after ${(ms / 1000).toFixed(2)} s`;

/** The line under an answer in a terminal. */
export const askNote = ({ promptTokens, cachedTokens, ttftMs, decodeTokensPerSecond }: GenerateResult): string => {
  const warm = cachedTokens.ram + cachedTokens.ssd;
  const speed = decodeTokensPerSecond === null ? "" : ` · ${decodeTokensPerSecond.toFixed(1)} tokens/s`;
  return `${warm.toLocaleString("en")} of ${promptTokens.toLocaleString("en")} prompt tokens were warm · ${firstToken(ttftMs)}${speed}`;
};
