// The weights of a Llama model as its forward pass wants them: float32, because x86 has no fast half precision.
import { KeepwarmError } from "../base/errors.ts";
import type { MlxArray } from "../mlx/array.ts";
import { loadGguf } from "../mlx/load-gguf.ts";
import type { MlxOps, Quantization } from "../mlx/ops.ts";
import type { MlxRuntime } from "../mlx/runtime.ts";
import type { LlamaConfig } from "./llama-config.ts";

export type LayerWeights = {
  readonly attentionNorm: MlxArray;
  /** Weights of linear maps are [in, out] views on rows of [out, in]. */
  readonly q: MlxArray;
  readonly k: MlxArray;
  readonly v: MlxArray;
  readonly output: MlxArray;
  readonly mlpNorm: MlxArray;
  readonly gate: MlxArray;
  readonly up: MlxArray;
  readonly down: MlxArray;
};

export type LlamaWeights = {
  /** [vocabulary, hidden]; its rows are also the output head's. */
  readonly embedding: MlxArray;
  readonly head: MlxArray;
  readonly norm: MlxArray;
  readonly layers: readonly LayerWeights[];
};

/** MLX's loader turns Q4_0, Q4_1 and Q8_0 into affine groups of 32. */
const GGUF_GROUP = 32;

class GgufTensors implements Disposable {
  readonly #arrays: Map<string, MlxArray>;
  readonly #ops: MlxOps;
  readonly #path: string;
  readonly #used = new Set<string>();

  constructor(runtime: MlxRuntime, ops: MlxOps, path: string) {
    this.#arrays = loadGguf(runtime, path);
    this.#ops = ops;
    this.#path = path;
  }

  /** A tensor as float32, dequantised where it was quantised. Throws when it is absent or of another shape. */
  dense(name: string, shape: readonly number[]): MlxArray {
    this.#used.add(name);
    const array = this.#float32(name);
    if (array.shape.join("×") !== shape.join("×")) {
      throw this.#damaged(`"${name}" is ${array.shape.join("×")}, not ${shape.join("×")}`);
    }
    return array;
  }

  /** Throws when a tensor was never asked for: leaving it out would answer wrongly without a word. */
  refuseUnused(): void {
    const stems = new Set([...this.#arrays.keys()].map((name) => name.replace(/\.(?:weight|scales|biases)$/, "")));
    const unused = [...stems].filter((stem) => !this.#used.has(stem));
    if (unused.length === 0) return;
    throw new KeepwarmError(
      "unsupported-model",
      `Keepwarm cannot run ${this.#path}: it does not use the tensors ${unused.slice(0, 3).join(", ")}${unused.length > 3 ? " and others" : ""}.`,
    );
  }

  [Symbol.dispose](): void {
    for (const array of this.#arrays.values()) array[Symbol.dispose]();
  }

  #float32(name: string): MlxArray {
    const weight = this.#get(`${name}.weight`);
    const scales = this.#arrays.get(`${name}.scales`);
    if (scales === undefined) return this.#ops.asType(weight, "float32");
    const how = this.#quantization(weight, scales);
    const biases = this.#get(`${name}.biases`);
    return this.#ops.dequantize(
      weight,
      this.#ops.asType(scales, "float32"),
      this.#ops.asType(biases, "float32"),
      how,
      "float32",
    );
  }

  /** A row of n values in groups of 32 has n / 32 scales and n · bits / 32 packed words. */
  #quantization(weight: MlxArray, scales: MlxArray): Quantization {
    const bits = (weight.shape.at(-1) ?? 0) / (scales.shape.at(-1) ?? 1);
    return { groupSize: GGUF_GROUP, bits };
  }

  #get(name: string): MlxArray {
    const array = this.#arrays.get(name);
    if (array === undefined) throw this.#damaged(`"${name}" is missing`);
    return array;
  }

  #damaged(why: string): KeepwarmError {
    return new KeepwarmError("damaged-file", `The model file ${this.#path} cannot be used: ${why}.`);
  }
}

/** Loads and computes all weights. The caller owns every array; see `disposeWeights`. */
export const loadLlamaWeights = (runtime: MlxRuntime, ops: MlxOps, path: string, config: LlamaConfig): LlamaWeights => {
  using scope = runtime.scope();
  using tensors = new GgufTensors(runtime, ops, path);
  using unfinished = new DisposableStack();
  const { hiddenSize, intermediateSize, heads, kvHeads, headDim, vocabularySize } = config;
  const own = (array: MlxArray): MlxArray => {
    runtime.evaluate([array]);
    return unfinished.use(scope.keep(array));
  };
  const norm = (name: string): MlxArray => own(tensors.dense(name, [hiddenSize]));
  const linear = (name: string, from: number, to: number): MlxArray =>
    own(ops.transpose(tensors.dense(name, [to, from]), [1, 0]));
  // GGUF pairs neighbouring rows of q and k for rotary embedding; pairs half a head apart need no strided access.
  const rotary = (name: string, count: number): MlxArray => {
    const rows = tensors.dense(name, [count * headDim, hiddenSize]);
    const pairs = ops.transpose(ops.reshape(rows, [count, headDim / 2, 2, hiddenSize]), [0, 2, 1, 3]);
    return own(ops.transpose(ops.reshape(pairs, [count * headDim, hiddenSize]), [1, 0]));
  };
  const layers = Array.from({ length: config.layers }, (_, index): LayerWeights => {
    const name = (leaf: string): string => `blk.${index}.${leaf}`;
    return {
      attentionNorm: norm(name("attn_norm")),
      q: rotary(name("attn_q"), heads),
      k: rotary(name("attn_k"), kvHeads),
      v: linear(name("attn_v"), hiddenSize, kvHeads * headDim),
      output: linear(name("attn_output"), heads * headDim, hiddenSize),
      mlpNorm: norm(name("ffn_norm")),
      gate: linear(name("ffn_gate"), hiddenSize, intermediateSize),
      up: linear(name("ffn_up"), hiddenSize, intermediateSize),
      down: linear(name("ffn_down"), intermediateSize, hiddenSize),
    };
  });
  const embedding = own(tensors.dense("token_embd", [vocabularySize, hiddenSize]));
  const weights = { embedding, head: own(ops.transpose(embedding, [1, 0])), norm: norm("output_norm"), layers };
  tensors.refuseUnused();
  unfinished.move();
  return weights;
};

const arraysOf = (weights: LlamaWeights): MlxArray[] => [
  weights.embedding,
  weights.head,
  weights.norm,
  ...weights.layers.flatMap((layer) => Object.values(layer)),
];

export const disposeWeights = (weights: LlamaWeights): void => {
  for (const array of arraysOf(weights)) array[Symbol.dispose]();
};

/** Bytes in memory; the head shares the embedding's. */
export const weightBytes = (weights: LlamaWeights): number =>
  arraysOf(weights).reduce((sum, array) => (array === weights.head ? sum : sum + array.byteLength), 0);
