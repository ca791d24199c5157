// What the main thread and the engine worker say to each other. Everything here survives a structured clone and JSON.

import type { Sampling } from "./sampling.ts";

export type WireError = { readonly code: string; readonly message: string };

/** An object of JSON. */
export type JsonObject = { readonly [key: string]: unknown };

/** One call of a tool that an assistant made. */
type ToolCall = {
  readonly id: string;
  readonly type: "function";
  readonly function: {
    readonly name: string;
    /** The text as it came where that was no JSON object. */
    readonly arguments: JsonObject | string;
  };
};

/** Spelt as chat templates read it. */
export type ChatMessage =
  | { readonly role: "system" | "user" | "assistant"; readonly content: string }
  | { readonly role: "assistant"; readonly content: string | null; readonly tool_calls: readonly ToolCall[] }
  | { readonly role: "tool"; readonly content: string; readonly tool_call_id: string; readonly name?: string };

/** What becomes of a prompt's KV once it is answered. What is absent: kept and shared as long as there is room. */
export type KeepWish = {
  /** Who asked: what is kept can be told apart by it. */
  readonly label?: string;
  /** Never on the SSD; in RAM for nothing but the chat's own next turn. */
  readonly noStore?: boolean;
  /** Gone when so much time has passed since the answer. */
  readonly ttlSeconds?: number;
  /** Kept until it is unpinned. */
  readonly pin?: boolean;
};

export type GenerateRequest = {
  readonly messages: readonly ChatMessage[];
  /** OpenAI's tool declarations, with their keys in one order: the same tools are the same tokens. */
  readonly tools?: readonly JsonObject[];
  /** A model's id as `/v1/models` lists it; null means the one that is loaded. */
  readonly model: string | null;
  /** Null: until the end of the turn or of the context. */
  readonly maxTokens: number | null;
  /** What is absent is as in `defaultSampling`. */
  readonly sampling: Partial<Sampling>;
  /** The answer ends before the first of these that it would hold. None is empty. */
  readonly stop?: readonly string[];
  /** So many likely alternatives are told for each token, with its own log-probability; absent: none of it. */
  readonly topLogprobs?: number;
  readonly keep?: KeepWish;
};

/** The natural logarithm of a token's probability as the model itself gave it, before anything of `Sampling`. */
export type TokenLogprob = {
  readonly token: string;
  /** Of the token, which may be a part of a character; null for a control token, which is no text. */
  readonly bytes: readonly number[] | null;
  readonly logprob: number;
};

/** `top` holds the likeliest tokens, likeliest first, whether or not the chosen one is among them. */
export type ChosenLogprob = TokenLogprob & { readonly top: readonly TokenLogprob[] };

export type CachedTokens = { readonly ram: number; readonly ssd: number };

/** Why not more of a prompt was warm. */
export type MissReason =
  | { readonly kind: "cold" }
  | { readonly kind: "diverged"; readonly atToken: number }
  /** It was kept, but had to leave RAM for newer prompts, and the SSD has none of it either. */
  | { readonly kind: "evicted" }
  /** It is in RAM for nothing but its own chat's next turn. */
  | { readonly kind: "do-not-keep" }
  | { readonly kind: "damaged-block"; readonly message: string }
  /** The SSD has it, but it could not be read this time. */
  | { readonly kind: "restore-failed"; readonly message: string };

export type FinishReason = "stop" | "length" | "cancelled";

export type GenerateResult = {
  readonly text: string;
  readonly model: string;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cachedTokens: CachedTokens;
  /** Null when all that is kept of the prompt was used. */
  readonly missReason: MissReason | null;
  /** From the request's arrival to its first token; null when none came. */
  readonly ttftMs: number | null;
  readonly prefillTokensPerSecond: number | null;
  readonly decodeTokensPerSecond: number | null;
  readonly finishReason: FinishReason;
  /** Of each token that has a part in the text; absent unless asked for. */
  readonly logprobs?: readonly ChosenLogprob[];
  /** False when what is pinned already leaves no room for it; absent unless a pin was asked for. */
  readonly isPinned?: boolean;
};

export type GenerateProgress =
  | {
      readonly kind: "prefill";
      readonly doneTokens: number;
      readonly totalTokens: number;
      readonly cachedTokens: CachedTokens;
    }
  /** `logprobs` are of the tokens that this text completes; absent unless asked for. */
  | { readonly kind: "text"; readonly text: string; readonly logprobs?: readonly ChosenLogprob[] };

export type ModelInfo = {
  readonly id: string;
  readonly name: string;
  readonly contextTokens: number;
  readonly weightBytes: number;
  /** Bytes of KV a token takes in RAM and on the SSD. */
  readonly kvBytesPerToken: number;
};

export type EngineStatus = {
  readonly model: ModelInfo | null;
  readonly activeRequests: number;
  readonly liveHandles: number;
  readonly memory: { readonly activeBytes: number; readonly cacheBytes: number; readonly peakBytes: number };
  /** Kept in RAM as whole tips and as blocks, and on the SSD. */
  readonly cache: {
    readonly tips: number;
    readonly tipBytes: number;
    readonly blocks: number;
    readonly blockBytes: number;
    /** Of tips and blocks that no eviction takes. */
    readonly pinnedBytes: number;
    /** Bytes in RAM by the name of the client who left them; null for those without a name. */
    readonly labels: readonly { readonly label: string | null; readonly bytes: number }[];
    readonly ssdBytes: number;
  };
  /** Of the write-behind: jobs not yet durable, and those that were given up. */
  readonly writes: { readonly pendingJobs: number; readonly droppedJobs: number; readonly lastError: string | null };
};

/** The engine as the main thread sees it: server, page and command line hold nothing else of it. */
export type EnginePort = {
  /**
   * Rejects with a KeepwarmError. A signal that aborts ends it with `finishReason: "cancelled"`, or, when it had not
   * begun, rejects with the code "cancelled".
   */
  generate(
    request: GenerateRequest,
    onProgress: (progress: GenerateProgress) => void,
    signal: AbortSignal,
  ): Promise<GenerateResult>;
  status(): Promise<EngineStatus>;
};
