// One answer as OpenAI's stream of chunks.
import { KeepwarmError } from "../base/errors.ts";
import type { EnginePort, GenerateProgress, GenerateResult } from "../contract/engine.ts";
import type { ChatCompletion } from "./chat-request.ts";
import { type ChatIdentity, chunkMaker } from "./chat-shapes.ts";
import { isFault, openAiError } from "./http-error.ts";
import { openEventStream } from "./sse.ts";

export type ChatRun = {
  readonly engine: EnginePort;
  readonly chat: ChatCompletion;
  readonly identity: ChatIdentity;
  readonly signal: AbortSignal;
  /** A silent answer shows this often that it lives. */
  readonly keepAliveMs: number;
  readonly reportFault: (thrown: unknown) => void;
};

/** Returns the result, or throws where the engine gave up an answer that its reader still waits for. */
export const finished = (result: GenerateResult): GenerateResult => {
  if (result.finishReason !== "cancelled") return result;
  throw new KeepwarmError("cancelled", "The answer was stopped before its end. Ask again.");
};

const lifeSign = (progress: GenerateProgress | null): string =>
  progress?.kind === "prefill" ? `prompt: ${progress.doneTokens} of ${progress.totalTokens} tokens` : "waiting";

/**
 * Returns once the answer has begun, or waits for longer than a sign of life may. Throws what went wrong before, which
 * can then still be told by the status; what goes wrong later is a chunk of the stream.
 */
export const streamChat = async (run: ChatRun): Promise<Response> => {
  const { engine, chat, identity, signal } = run;
  const stream = openEventStream();
  const chunks = chunkMaker(identity, chat.includeUsage);
  const begun = Promise.withResolvers<void>();
  let isBegun = false;
  const begin = (): void => {
    isBegun = true;
    begun.resolve();
  };
  let last: GenerateProgress | null = null;

  stream.send(chunks.first());
  const timer = setInterval(() => {
    stream.comment(lifeSign(last));
    begin();
  }, run.keepAliveMs);
  const onProgress = (progress: GenerateProgress): void => {
    last = progress;
    if (progress.kind === "text") stream.send(chunks.text(progress.text, progress.logprobs));
    begin();
  };

  const answer = engine.generate(chat.request, onProgress, signal).then((result) => {
    stream.send(chunks.last(finished(result)));
    if (chat.includeUsage) stream.send(chunks.usage(result));
    stream.send("[DONE]");
  });
  const settled = answer
    .catch((thrown) => {
      if (!isBegun) throw thrown;
      if (isFault(thrown)) run.reportFault(thrown);
      stream.send(JSON.stringify(openAiError(thrown)));
    })
    .finally(() => {
      clearInterval(timer);
      stream.end();
    });
  await Promise.race([begun.promise, settled]);
  return stream.response;
};
