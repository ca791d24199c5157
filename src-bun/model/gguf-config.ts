// The shape of a Llama as the metadata of a GGUF gives it.
import type { GgufMetadata } from "./gguf-header.ts";
import { checkHeads, type LlamaConfig } from "./llama-config.ts";
import { damagedModel, unsupportedModel } from "./model-faults.ts";
import { linearRope, plainRope, type Rope, stretchedRope } from "./rope.ts";
import type { StoredTensor } from "./stored-tensor.ts";

/** Llama's own, which files leave out (gguf specification). */
const DEFAULT_ROPE_BASE = 10_000;
const ROPE_FACTORS = "rope_freqs.weight";

/** Typed access to one file's metadata: each fault names the file and the key. */
class Reader {
  readonly path: string;
  readonly #metadata: GgufMetadata;

  constructor(path: string, metadata: GgufMetadata) {
    this.path = path;
    this.#metadata = metadata;
  }

  has(key: string): boolean {
    return this.#metadata.has(key);
  }

  text(key: string): string {
    const value = this.#metadata.get(key);
    if (typeof value !== "string") throw damagedModel(this.path, `"${key}" is not a text`);
    return value;
  }

  positive(key: string, absent?: number): number {
    const value = Number(this.#metadata.get(key) ?? absent);
    if (value > 0 && Number.isFinite(value)) return value;
    throw damagedModel(this.path, `"${key}" is not a positive number`);
  }

  count(key: string, absent?: number): number {
    const value = this.positive(key, absent);
    if (Number.isSafeInteger(value)) return value;
    throw damagedModel(this.path, `"${key}" is not a whole number`);
  }

  /** A count that only has one value here. */
  expect(key: string, value: number): void {
    const found = this.count(key, value);
    if (found !== value) throw unsupportedModel(this.path, `"${key}" is ${found}, and only ${value} is supported here`);
  }

  length(key: string): number {
    const value = this.#metadata.get(key);
    if (Array.isArray(value) && value.length > 0) return value.length;
    throw damagedModel(this.path, `"${key}" is not a list`);
  }
}

/** Llama 3's stretched periods come as a tensor of factors. */
const stretchedByTensor = (reader: Reader, tensor: StoredTensor, base: number, headDim: number): Rope => {
  const factors = new Float32Array(headDim / 2);
  if (tensor.type !== "F32" || tensor.shape.join() !== `${factors.length}`) {
    throw damagedModel(reader.path, `"${ROPE_FACTORS}" is not ${factors.length} numbers of type F32`);
  }
  tensor.file.read(new Uint8Array(factors.buffer), tensor.start);
  if (factors.every((factor) => factor > 0 && Number.isFinite(factor))) return stretchedRope(base, [...factors]);
  throw damagedModel(reader.path, `"${ROPE_FACTORS}" holds what is no positive number`);
};

const readRope = (reader: Reader, tensors: readonly StoredTensor[], headDim: number): Rope => {
  const base = reader.positive("llama.rope.freq_base", DEFAULT_ROPE_BASE);
  const factors = tensors.find(({ name }) => name === ROPE_FACTORS);
  const kind = reader.has("llama.rope.scaling.type") ? reader.text("llama.rope.scaling.type") : "none";
  if (kind !== "none" && kind !== "linear") {
    throw unsupportedModel(reader.path, `its rotary embedding is scaled by "${kind}"`);
  }
  if (factors !== undefined) return stretchedByTensor(reader, factors, base, headDim);
  const oldFactor = reader.positive("llama.rope.scale_linear", 1);
  if (kind === "linear") return linearRope(base, reader.positive("llama.rope.scaling.factor", oldFactor));
  return oldFactor === 1 ? plainRope(base) : linearRope(base, oldFactor);
};

/** Throws "unsupported-model" for another architecture, "damaged-file" for numbers that cannot be. */
export const readGgufConfig = (path: string, metadata: GgufMetadata, tensors: readonly StoredTensor[]): LlamaConfig => {
  const reader = new Reader(path, metadata);
  const architecture = reader.text("general.architecture");
  if (architecture !== "llama") {
    throw unsupportedModel(path, `it holds a "${architecture}" model, and "llama" is what runs so far`);
  }
  if (reader.has("llama.expert_count")) throw unsupportedModel(path, "it is a mixture of experts");
  const heads = reader.count("llama.attention.head_count");
  const hiddenSize = reader.count("llama.embedding_length");
  const headDim = reader.positive("llama.attention.key_length", hiddenSize / heads);
  const kvHeads = reader.count("llama.attention.head_count_kv", heads);
  checkHeads(path, heads, kvHeads, headDim);
  reader.expect("llama.attention.value_length", headDim);
  reader.expect("llama.rope.dimension_count", headDim);
  return {
    layers: reader.count("llama.block_count"),
    hiddenSize,
    intermediateSize: reader.count("llama.feed_forward_length"),
    heads,
    kvHeads,
    headDim,
    vocabularySize: reader.length("tokenizer.ggml.tokens"),
    contextTokens: reader.count("llama.context_length"),
    rope: readRope(reader, tensors, headDim),
    normEpsilon: reader.positive("llama.attention.layer_norm_rms_epsilon"),
  };
};
