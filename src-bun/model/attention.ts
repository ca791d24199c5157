// Grouped-query attention of Llama over live KV: projections, rotary embedding, scores, output.
import type { MlxArray } from "../mlx/array.ts";
import type { MlxOps } from "../mlx/ops.ts";
import type { LayerKv, LiveKv } from "./live-kv.ts";
import type { LlamaConfig } from "./llama-config.ts";
import type { LayerWeights } from "./llama-weights.ts";

export class Attention {
  readonly #ops: MlxOps;
  readonly #config: LlamaConfig;

  constructor(ops: MlxOps, config: LlamaConfig) {
    this.#ops = ops;
    this.#config = config;
  }

  /** What layer `index` adds to normed hidden states [1, n, hidden] that follow what `kv` holds; writes their KV. */
  apply(index: number, weights: LayerWeights, normed: MlxArray, kv: LiveKv): MlxArray {
    const { heads, headDim, ropeBase } = this.#config;
    const n = normed.shape[1] ?? 0;
    const q = this.#ops.rope(this.#heads(normed, weights.q, heads), headDim, ropeBase, kv.length);
    const { keys, values } = this.writeKv(index, weights, normed, kv);
    const mixed = this.#ops.attention(q, keys, values, headDim ** -0.5, n > 1 ? "causal" : "none");
    const joined = this.#ops.reshape(this.#ops.transpose(mixed, [0, 2, 1, 3]), [1, n, heads * headDim]);
    return this.#ops.matmul(joined, weights.output);
  }

  /** Writes the keys and values of normed hidden states [1, n, hidden]; returns views on all that `kv` then holds. */
  writeKv(index: number, weights: LayerWeights, normed: MlxArray, kv: LiveKv): LayerKv {
    const { kvHeads, headDim, ropeBase } = this.#config;
    const keys = this.#ops.rope(this.#heads(normed, weights.k, kvHeads), headDim, ropeBase, kv.length);
    return kv.write(index, keys, this.#heads(normed, weights.v, kvHeads));
  }

  /** [1, n, hidden] · weight as [1, heads, n, headDim]. */
  #heads(x: MlxArray, weight: MlxArray, heads: number): MlxArray {
    const projected = this.#ops.matmul(x, weight);
    const split = this.#ops.reshape(projected, [1, x.shape[1] ?? 0, heads, this.#config.headDim]);
    return this.#ops.transpose(split, [0, 2, 1, 3]);
  }
}
