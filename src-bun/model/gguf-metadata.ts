// What a GGUF file says of its model: the header's key-value pairs, read into exact types.
import { statSync } from "node:fs";
import { gguf } from "@huggingface/gguf";
import { KeepwarmError, messageOf } from "../base/errors.ts";
import { findTensorFault } from "./gguf-tensors.ts";
import { ggufText } from "./gguf-text.ts";
import { readGgufVocabulary } from "./gguf-vocabulary.ts";
import type { LlamaConfig } from "./llama-config.ts";
import type { ModelText } from "./model-text.ts";
import { plainRope } from "./rope.ts";

export type GgufModel = {
  readonly config: LlamaConfig;
  readonly text: ModelText;
};

type Metadata = Readonly<Record<string, unknown>>;

const damaged = (path: string, why: string, cause?: unknown): KeepwarmError =>
  new KeepwarmError("damaged-file", `The model file ${path} cannot be used: ${why}. Download it again.`, { cause });

const unsupported = (path: string, why: string): KeepwarmError =>
  new KeepwarmError("unsupported-model", `Keepwarm cannot run ${path}: ${why}.`);

/** Typed access to one file's metadata: each fault names the file and the key. */
class Reader {
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

  list<T extends "string" | "number">(key: string, type: T): readonly (T extends "string" ? string : number)[] {
    const value = this.#metadata[key];
    if (!Array.isArray(value) || value.some((one) => typeof one !== type)) {
      throw damaged(this.#path, `"${key}" is not a list of ${type}s`);
    }
    return value;
  }
}

const readConfig = (reader: Reader): LlamaConfig => {
  const heads = reader.count("llama.attention.head_count");
  const hiddenSize = reader.count("llama.embedding_length");
  return {
    layers: reader.count("llama.block_count"),
    hiddenSize,
    intermediateSize: reader.count("llama.feed_forward_length"),
    heads,
    kvHeads: reader.count("llama.attention.head_count_kv"),
    headDim: hiddenSize / heads,
    vocabularySize: reader.list("tokenizer.ggml.tokens", "string").length,
    contextTokens: reader.count("llama.context_length"),
    rope: plainRope(reader.positive("llama.rope.freq_base")),
    normEpsilon: reader.positive("llama.attention.layer_norm_rms_epsilon"),
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
  const reader = new Reader(path, metadata);
  const architecture = reader.text("general.architecture");
  if (architecture !== "llama") {
    throw unsupported(path, `it holds a "${architecture}" model, and "llama" is what runs so far`);
  }
  return { config: readConfig(reader), text: ggufText(readGgufVocabulary(metadata, path)) };
};
