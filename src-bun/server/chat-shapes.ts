// The objects of OpenAI's chat dialect, as its clients read them.
import type { ChosenLogprob, GenerateResult, TokenLogprob } from "../contract/engine.ts";

/** What all objects of one answer share. */
export type ChatIdentity = { readonly id: string; readonly created: number; readonly model: string };

/** The prompt's count includes what was cached. */
const usageOf = (result: GenerateResult) => ({
  prompt_tokens: result.promptTokens,
  completion_tokens: result.completionTokens,
  total_tokens: result.promptTokens + result.completionTokens,
  prompt_tokens_details: { cached_tokens: result.cachedTokens.ram + result.cachedTokens.ssd },
});

const tokenOf = ({ token, logprob, bytes }: TokenLogprob) => ({ token, logprob, bytes });

const logprobsOf = (logprobs: readonly ChosenLogprob[] | undefined) =>
  logprobs === undefined
    ? null
    : { content: logprobs.map((one) => ({ ...tokenOf(one), top_logprobs: one.top.map(tokenOf) })), refusal: null };

export const completion = (identity: ChatIdentity, result: GenerateResult) => ({
  id: identity.id,
  object: "chat.completion",
  created: identity.created,
  model: result.model,
  choices: [
    {
      index: 0,
      message: { role: "assistant", content: result.text, refusal: null },
      logprobs: logprobsOf(result.logprobs),
      finish_reason: result.finishReason,
    },
  ],
  usage: usageOf(result),
});

type Delta = { readonly role?: "assistant"; readonly content?: string };

/** Every chunk but the last says that its usage is null when the client asked for usage. */
export const chunkMaker = ({ id, created, model }: ChatIdentity, includeUsage: boolean) => {
  const chunk = (choices: readonly object[], usage: object | null): string =>
    JSON.stringify({
      id,
      object: "chat.completion.chunk",
      created,
      model,
      choices,
      ...(includeUsage ? { usage } : {}),
    });
  const delta = (delta: Delta, finishReason: string | null, logprobs?: readonly ChosenLogprob[]): string =>
    chunk([{ index: 0, delta, logprobs: logprobsOf(logprobs), finish_reason: finishReason }], null);
  return {
    first: () => delta({ role: "assistant", content: "" }, null),
    text: (text: string, logprobs?: readonly ChosenLogprob[]) => delta({ content: text }, null, logprobs),
    last: (result: GenerateResult) => delta({}, result.finishReason),
    usage: (result: GenerateResult) => chunk([], usageOf(result)),
  };
};
