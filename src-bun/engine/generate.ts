// One request from its messages to its last token: take what is warm, prefill the rest, decode, put it back.
import { KeepwarmError } from "../base/errors.ts";
import type { PromptCache, PutOptions, Take } from "../cache/prompt-cache.ts";
import type { WriteBehind } from "../cache/write-behind.ts";
import type {
  ChosenLogprob,
  FinishReason,
  GenerateProgress,
  GenerateRequest,
  GenerateResult,
  KeepWish,
} from "../contract/engine.ts";
import type { MlxArray } from "../mlx/array.ts";
import type { MlxOps } from "../mlx/ops.ts";
import type { MlxRuntime } from "../mlx/runtime.ts";
import type { Conversation } from "../model/conversation.ts";
import type { LiveKv } from "../model/live-kv.ts";
import type { LoadedModel } from "../model/loaded-model.ts";
import { TextStream } from "../model/text-stream.ts";
import { AnswerText } from "./answer-text.ts";
import { Forward, type PieceShape } from "./forward.ts";
import type { KvBlock } from "./kv-blocks.ts";
import { Sampler } from "./sampler.ts";

export type Workbench = {
  readonly runtime: MlxRuntime;
  readonly ops: MlxOps;
  readonly model: LoadedModel;
  readonly shape: PieceShape;
  readonly cache: PromptCache<LiveKv, KvBlock>;
  readonly writeBehind: WriteBehind<LiveKv, KvBlock> | null;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
  readonly randomSeed: () => number;
  /** Lets messages in; resolves when they were served. */
  readonly turn: () => Promise<void>;
};

/** Room reserved for an answer before its length is known. */
const ANSWER_ROOM_TOKENS = 256;

type Order = {
  readonly bench: Workbench;
  readonly request: GenerateRequest;
  readonly prompt: Uint32Array;
  readonly arrivedMs: number;
  readonly onProgress: (progress: GenerateProgress) => void;
  readonly signal: AbortSignal;
};

type Answer = {
  readonly text: string;
  readonly tokens: readonly number[];
  readonly finishReason: FinishReason;
  readonly logprobs: readonly ChosenLogprob[] | undefined;
};

type Timing = { prefillMs: number; firstTokenMs: number | null; lastTokenMs: number };

const checkBias = ({ model }: Workbench, { sampling }: GenerateRequest): void => {
  const { vocabularySize } = model.llama.config;
  const unknown = sampling.logitBias?.find(([id]) => id >= vocabularySize);
  if (unknown === undefined) return;
  throw new KeepwarmError(
    "bad-request",
    `The logit bias names token ${unknown[0]}, but the tokens of ${model.name} end with ${vocabularySize - 1}.`,
  );
};

const conversationOf = ({ messages, tools }: GenerateRequest): Conversation =>
  tools === undefined ? { messages } : { messages, tools };

const encodePrompt = async (bench: Workbench, request: GenerateRequest, signal: AbortSignal): Promise<Uint32Array> => {
  const { model } = bench;
  if (request.model !== null && request.model !== model.id) {
    throw new KeepwarmError("unknown-model", `There is no model "${request.model}" here. Loaded is "${model.id}".`);
  }
  if (request.messages.length === 0) throw new KeepwarmError("bad-request", "The request holds no message to answer.");
  checkBias(bench, request);
  const prompt = await model.template.encode(conversationOf(request), signal);
  const { contextTokens } = model.llama.config;
  if (prompt.length >= contextTokens) {
    throw new KeepwarmError(
      "context-exceeded",
      `The prompt is ${prompt.length} tokens long, but ${model.name} reads at most ${contextTokens - 1} and answers within ${contextTokens}. Shorten it or start a new chat.`,
    );
  }
  return prompt;
};

/** Rejects with a KeepwarmError for what the request asks wrongly. Cancelling is a finish reason, not a fault. */
export const generate = async (
  bench: Workbench,
  request: GenerateRequest,
  onProgress: (progress: GenerateProgress) => void,
  signal: AbortSignal,
  arrivedMs: number,
): Promise<GenerateResult> => {
  const prompt = await encodePrompt(bench, request, signal);
  const order = { bench, request, prompt, arrivedMs, onProgress, signal };
  const room = Math.min(request.maxTokens ?? ANSWER_ROOM_TOKENS, ANSWER_ROOM_TOKENS);
  const take = await bench.cache.take(prompt, bench.model.namespace, prompt.length + room, request.keep?.noStore);
  const timing: Timing = { prefillMs: 0, firstTokenMs: null, lastTokenMs: 0 };
  try {
    const answer = await compute(order, take, timing);
    const isPinned = await keep(order, take, answer.tokens);
    const result = describe(order, take, answer, timing);
    return request.keep?.pin === true ? { ...result, isPinned } : result;
  } catch (thrown) {
    // Whatever failed may have left half a step in the KV.
    bench.cache.release(take);
    throw thrown;
  }
};

const compute = async (order: Order, take: Take<LiveKv>, timing: Timing): Promise<Answer> => {
  const { bench, prompt, request } = order;
  const seed = request.sampling.seed ?? bench.randomSeed();
  const sampler = new Sampler(bench.runtime, bench.ops, { ...request.sampling, seed }, prompt);
  const logits = await prefill(order, take, timing);
  if (logits === null) return { text: "", tokens: [], finishReason: "cancelled", logprobs: undefined };
  return decode(order, take.kv, logits, sampler, timing);
};

/** Null when it was cancelled; `take.kv` then holds the spans that were finished. */
const prefill = async (order: Order, take: Take<LiveKv>, timing: Timing): Promise<MlxArray | null> => {
  const { bench, prompt, signal, onProgress } = order;
  const { kv, cachedTokens } = take;
  const start = bench.now();
  const pieces = new Forward(bench.runtime, bench.model.llama).prefill(prompt.slice(kv.length), kv, bench.shape);
  let reported = -1;
  for (;;) {
    if (kv.length > reported) {
      reported = kv.length;
      onProgress({ kind: "prefill", doneTokens: kv.length, totalTokens: prompt.length, cachedTokens });
    }
    await bench.turn();
    if (signal.aborted) {
      pieces.return(null as never);
      return null;
    }
    const piece = pieces.next();
    if (piece.done) {
      timing.prefillMs = bench.now() - start;
      return piece.value;
    }
  }
};

/** Uses up `logits`. */
const decode = async (
  order: Order,
  kv: LiveKv,
  logits: MlxArray,
  sampler: Sampler,
  timing: Timing,
): Promise<Answer> => {
  const { bench, request, signal, onProgress } = order;
  const { llama, tokenizer } = bench.model;
  const forward = new Forward(bench.runtime, llama);
  const { stop = [], topLogprobs = null } = request;
  const bytesOf = (id: number): Uint8Array | null => tokenizer.bytesOf(id);
  const answer = new AnswerText({ stream: new TextStream(tokenizer), bytesOf, stop, topLogprobs, onProgress });
  const tokens: number[] = [];
  const close = (finishReason: FinishReason): Answer => ({
    text: answer.text,
    tokens,
    finishReason,
    logprobs: answer.logprobs,
  });
  const finish = (finishReason: FinishReason): Answer => close(answer.end() ? "stop" : finishReason);
  let current = logits;
  try {
    for (;;) {
      const id = sampler.sample(current);
      if (tokenizer.endTokens.has(id)) return finish("stop");
      timing.lastTokenMs = bench.now();
      timing.firstTokenMs ??= timing.lastTokenMs;
      tokens.push(id);
      if (answer.push(id, () => sampler.read(current))) return close("stop");
      if (tokens.length >= (request.maxTokens ?? Number.POSITIVE_INFINITY)) return finish("length");
      if (kv.length + 1 >= llama.config.contextTokens) return finish("length");
      await bench.turn();
      if (signal.aborted) return finish("cancelled");
      const next = forward.step(id, kv);
      current[Symbol.dispose]();
      current = next;
    }
  } finally {
    current[Symbol.dispose]();
  }
};

const putOptions = ({ ttlSeconds, ...wish }: KeepWish): PutOptions =>
  ttlSeconds === undefined ? wish : { ...wish, ttlMs: ttlSeconds * 1000 };

/**
 * The KV holds the prompt, or what was finished of it, and the answer but for the token that was never fed. Returns
 * whether it is pinned.
 */
const keep = async (
  { bench, prompt, request }: Order,
  take: Take<LiveKv>,
  answer: readonly number[],
): Promise<boolean> => {
  const wish = request.keep ?? {};
  const { kv } = take;
  const tokens = new Uint32Array(kv.length);
  tokens.set(prompt.subarray(0, kv.length));
  if (kv.length > prompt.length) tokens.set(answer.slice(0, kv.length - prompt.length), prompt.length);
  if (tokens.length === 0) {
    bench.cache.release(take);
    return false;
  }
  // The SSD tier knows no times yet, and would keep for ever what was to go.
  const isForSsd = wish.noStore !== true && wish.ttlSeconds === undefined;
  if (isForSsd) await bench.writeBehind?.schedule(tokens, take.namespace, kv, bench.turn);
  return bench.cache.put(take, tokens, Math.min(prompt.length, tokens.length), putOptions(wish)).isPinned;
};

const perSecond = (tokens: number, ms: number): number | null => (tokens > 0 && ms > 0 ? (tokens / ms) * 1000 : null);

const describe = (order: Order, take: Take<LiveKv>, answer: Answer, timing: Timing): GenerateResult => {
  const { prompt, arrivedMs, bench } = order;
  const { ram, ssd } = take.cachedTokens;
  const { firstTokenMs, lastTokenMs } = timing;
  return {
    text: answer.text,
    model: bench.model.id,
    promptTokens: prompt.length,
    completionTokens: answer.tokens.length,
    cachedTokens: { ram, ssd },
    missReason: take.reason,
    ttftMs: firstTokenMs === null ? null : firstTokenMs - arrivedMs,
    prefillTokensPerSecond: perSecond(prompt.length - ram - ssd, timing.prefillMs),
    decodeTokensPerSecond:
      firstTokenMs === null ? null : perSecond(answer.tokens.length - 1, lastTokenMs - firstTokenMs),
    finishReason: answer.finishReason,
    ...(answer.logprobs === undefined ? {} : { logprobs: answer.logprobs }),
  };
};
