// The Llama forward pass (Touvron et al. 2023), layer by layer, so that long prompts can be computed in pieces.
import type { MlxArray } from "../mlx/array.ts";
import type { MlxOps } from "../mlx/ops.ts";
import type { MlxRuntime } from "../mlx/runtime.ts";
import type { LiveKv } from "./live-kv.ts";
import type { LlamaConfig } from "./llama-config.ts";
import type { LayerWeights, LlamaWeights } from "./llama-weights.ts";

export class Llama {
  readonly config: LlamaConfig;
  readonly #runtime: MlxRuntime;
  readonly #ops: MlxOps;
  readonly #weights: LlamaWeights;

  constructor(runtime: MlxRuntime, ops: MlxOps, config: LlamaConfig, weights: LlamaWeights) {
    this.config = config;
    this.#runtime = runtime;
    this.#ops = ops;
    this.#weights = weights;
  }

  /** Hidden states [1, n, hidden] of the ids of n tokens. */
  embed(ids: Uint32Array): MlxArray {
    const indices = this.#runtime.arrayFrom(ids, [1, ids.length]);
    return this.#ops.take(this.#weights.embedding, indices, 0);
  }

  /** One layer over hidden states [1, n, hidden] that follow what `kv` holds; writes their keys and values. */
  layer(index: number, hidden: MlxArray, kv: LiveKv): MlxArray {
    const weights = this.#layerWeights(index);
    const attended = this.#ops.add(hidden, this.#attention(index, weights, hidden, kv));
    return this.#ops.add(attended, this.#mlp(weights, attended));
  }

  /** Only the keys and values of a layer: all that the last one owes to tokens whose logits nobody reads. */
  layerKv(index: number, hidden: MlxArray, kv: LiveKv): void {
    const weights = this.#layerWeights(index);
    const normed = this.#ops.rmsNorm(hidden, weights.attentionNorm, this.config.normEpsilon);
    this.#writeKv(index, weights, normed, kv);
  }

  /** Logits [1, vocabulary] of the last of the hidden states [1, n, hidden]. */
  lastLogits(hidden: MlxArray): MlxArray {
    const { hiddenSize, normEpsilon } = this.config;
    const n = hidden.shape[1] ?? 0;
    const last = this.#ops.slice(hidden, [0, n - 1, 0], [1, n, hiddenSize]);
    const normed = this.#ops.rmsNorm(this.#ops.reshape(last, [1, hiddenSize]), this.#weights.norm, normEpsilon);
    return this.#ops.matmul(normed, this.#weights.head);
  }

  #attention(index: number, weights: LayerWeights, hidden: MlxArray, kv: LiveKv): MlxArray {
    const { heads, headDim, normEpsilon, ropeBase } = this.config;
    const n = hidden.shape[1] ?? 0;
    const normed = this.#ops.rmsNorm(hidden, weights.attentionNorm, normEpsilon);
    const q = this.#ops.rope(this.#heads(normed, weights.q, heads), headDim, ropeBase, kv.length);
    const { keys, values } = this.#writeKv(index, weights, normed, kv);
    const mixed = this.#ops.attention(q, keys, values, headDim ** -0.5, n > 1 ? "causal" : "none");
    const joined = this.#ops.reshape(this.#ops.transpose(mixed, [0, 2, 1, 3]), [1, n, heads * headDim]);
    return this.#ops.matmul(joined, weights.output);
  }

  #writeKv(index: number, weights: LayerWeights, normed: MlxArray, kv: LiveKv): { keys: MlxArray; values: MlxArray } {
    const { kvHeads, headDim, ropeBase } = this.config;
    const keys = this.#ops.rope(this.#heads(normed, weights.k, kvHeads), headDim, ropeBase, kv.length);
    return kv.write(index, keys, this.#heads(normed, weights.v, kvHeads));
  }

  /** [1, n, hidden] · weight as [1, heads, n, headDim]. */
  #heads(x: MlxArray, weight: MlxArray, heads: number): MlxArray {
    const projected = this.#ops.matmul(x, weight);
    const split = this.#ops.reshape(projected, [1, x.shape[1] ?? 0, heads, this.config.headDim]);
    return this.#ops.transpose(split, [0, 2, 1, 3]);
  }

  #mlp(weights: LayerWeights, hidden: MlxArray): MlxArray {
    const normed = this.#ops.rmsNorm(hidden, weights.mlpNorm, this.config.normEpsilon);
    const gate = this.#ops.silu(this.#ops.matmul(normed, weights.gate));
    return this.#ops.matmul(this.#ops.multiply(gate, this.#ops.matmul(normed, weights.up)), weights.down);
  }

  #layerWeights(index: number): LayerWeights {
    const weights = this.#weights.layers[index];
    if (weights === undefined) throw new RangeError(`layer ${index} of ${this.config.layers}`);
    return weights;
  }
}
