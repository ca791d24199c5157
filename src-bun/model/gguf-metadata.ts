// What a GGUF file says of its model: the header's key-value pairs, read into exact types.
import { statSync } from "node:fs";
import { gguf } from "@huggingface/gguf";
import { KeepwarmError, messageOf } from "../base/errors.ts";
import { findTensorFault } from "./gguf-tensors.ts";
import type { LlamaConfig } from "./llama-config.ts";

export type GgufVocabulary = {
  readonly tokens: readonly string[];
  readonly tokenTypes: readonly number[];
  readonly merges: readonly string[];
  readonly preTokenizer: string;
  readonly endTokens: readonly number[];
  readonly bosToken: string | null;
  readonly eosToken: string | null;
  readonly chatTemplate: string;
};

export type GgufModel = {
  readonly config: LlamaConfig;
  readonly vocabulary: GgufVocabulary;
};

type Metadata = Readonly<Record<string, unknown>>;

const damaged = (path: string, why: string, cause?: unknown): KeepwarmError =>
  new KeepwarmError("damaged-file", `The model file ${path} cannot be used: ${why}. Download it again.`, { cause });

const unsupported = (path: string, why: string): KeepwarmError =>
  new KeepwarmError("unsupported-model", `Keepwarm cannot run ${path}: ${why}.`);

/** Typed access to one file's metadata: each fault names the file and the key. */
class MetadataReader {
  readonly #path: string;
  readonly #metadata: Metadata;

  constructor(path: string, metadata: Metadata) {
    this.#path = path;
    this.#metadata = metadata;
  }

  text(key: string): string {
    const value = this.#metadata[key];
    if (typeof value !== "string") throw damaged(this.#path, `"${key}" is not a text`);
    return value;
  }

  optionalText(key: string): string | null {
    return this.#metadata[key] === undefined ? null : this.text(key);
  }

  damaged(why: string): KeepwarmError {
    return damaged(this.#path, why);
  }

  unsupported(why: string): KeepwarmError {
    return unsupported(this.#path, why);
  }

  positive(key: string): number {
    const value = Number(this.#metadata[key]);
    if (!(value > 0 && Number.isFinite(value))) throw damaged(this.#path, `"${key}" is not a positive number`);
    return value;
  }

  count(key: string): number {
    const value = this.positive(key);
    if (!Number.isSafeInteger(value)) throw damaged(this.#path, `"${key}" is not a whole number`);
    return value;
  }

  optionalId(key: string, size: number): number | null {
    if (this.#metadata[key] === undefined) return null;
    const id = Number(this.#metadata[key]);
    if (!Number.isSafeInteger(id) || id < 0 || id >= size) throw damaged(this.#path, `"${key}" is not a token`);
    return id;
  }

  list<T extends "string" | "number">(key: string, type: T): readonly (T extends "string" ? string : number)[] {
    const value = this.#metadata[key];
    if (!Array.isArray(value) || value.some((one) => typeof one !== type)) {
      throw damaged(this.#path, `"${key}" is not a list of ${type}s`);
    }
    return value;
  }
}

const readConfig = (reader: MetadataReader): LlamaConfig => {
  const heads = reader.count("llama.attention.head_count");
  const hiddenSize = reader.count("llama.embedding_length");
  if (hiddenSize % heads !== 0) throw reader.damaged(`${hiddenSize} values do not divide into ${heads} heads`);
  const scaling = reader.optionalText("llama.rope.scaling.type") ?? "none";
  if (scaling !== "none") throw reader.unsupported(`its rotary embedding is scaled by "${scaling}"`);
  return {
    layers: reader.count("llama.block_count"),
    hiddenSize,
    intermediateSize: reader.count("llama.feed_forward_length"),
    heads,
    kvHeads: reader.count("llama.attention.head_count_kv"),
    headDim: hiddenSize / heads,
    vocabularySize: reader.list("tokenizer.ggml.tokens", "string").length,
    contextTokens: reader.count("llama.context_length"),
    ropeBase: reader.positive("llama.rope.freq_base"),
    normEpsilon: reader.positive("llama.attention.layer_norm_rms_epsilon"),
  };
};

const readVocabulary = (reader: MetadataReader): GgufVocabulary => {
  const tokens = reader.list("tokenizer.ggml.tokens", "string");
  const bos = reader.optionalId("tokenizer.ggml.bos_token_id", tokens.length);
  const eos = reader.optionalId("tokenizer.ggml.eos_token_id", tokens.length);
  return {
    tokens,
    tokenTypes: reader.list("tokenizer.ggml.token_type", "number"),
    merges: reader.list("tokenizer.ggml.merges", "string"),
    preTokenizer: reader.text("tokenizer.ggml.pre"),
    endTokens: eos === null ? [] : [eos],
    bosToken: bos === null ? null : (tokens[bos] ?? null),
    eosToken: eos === null ? null : (tokens[eos] ?? null),
    chatTemplate: reader.text("tokenizer.chat_template"),
  };
};

/** Throws "damaged-file" for what is no whole GGUF, "unsupported-model" for another architecture or tokenizer. */
export const readGgufModel = async (path: string): Promise<GgufModel> => {
  const header = await gguf(path, { allowLocalFile: true }).catch((cause: unknown) => {
    throw damaged(path, messageOf(cause), cause);
  });
  const fault = findTensorFault(header, statSync(path).size);
  if (fault?.kind === "damaged") throw damaged(path, fault.why);
  if (fault?.kind === "unsupported") throw unsupported(path, fault.why);
  const metadata = header.metadata as unknown as Metadata;
  const reader = new MetadataReader(path, metadata);
  const architecture = reader.text("general.architecture");
  if (architecture !== "llama") {
    throw unsupported(path, `it holds a "${architecture}" model, and "llama" is what runs so far`);
  }
  const tokenizer = reader.text("tokenizer.ggml.model");
  if (tokenizer !== "gpt2") {
    throw unsupported(path, `it has a "${tokenizer}" tokenizer, and "gpt2" is what is read so far`);
  }
  return { config: readConfig(reader), vocabulary: readVocabulary(reader) };
};
