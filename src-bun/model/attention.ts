// Grouped-query attention of Llama over live KV: projections, rotary embedding, scores, output.
import type { MlxArray } from "../mlx/array.ts";
import type { MlxOps } from "../mlx/ops.ts";
import type { MlxRuntime } from "../mlx/runtime.ts";
import { isExpScalar } from "./exp2.ts";
import { applyLinear, type Linear } from "./linear.ts";
import type { LayerKv, LiveKv } from "./live-kv.ts";
import type { LlamaConfig } from "./llama-config.ts";
import type { LayerWeights } from "./llama-weights.ts";
import { vectorAttention } from "./vector-attention.ts";

export class Attention {
  readonly #runtime: MlxRuntime;
  readonly #ops: MlxOps;
  readonly #config: LlamaConfig;
  readonly #ropePeriods: MlxArray | null;

  /** `ropePeriods` [headDim / 2] where the model's rotary embedding is given by them. */
  constructor(runtime: MlxRuntime, ops: MlxOps, config: LlamaConfig, ropePeriods: MlxArray | null) {
    this.#runtime = runtime;
    this.#ops = ops;
    this.#config = config;
    this.#ropePeriods = ropePeriods;
  }

  /** What layer `index` adds to normed hidden states [1, n, hidden] that follow what `kv` holds; writes their KV. */
  apply(index: number, weights: LayerWeights, normed: MlxArray, kv: LiveKv): MlxArray {
    const { heads, headDim } = this.#config;
    const n = normed.shape[1] ?? 0;
    const q = this.#rotate(this.#heads(normed, weights.q, heads), kv.length);
    const { keys, values } = this.writeKv(index, weights, normed, kv);
    const mixed = this.#mix(q, keys, values);
    const joined = this.#ops.reshape(this.#ops.transpose(mixed, [0, 2, 1, 3]), [1, n, heads * headDim]);
    return applyLinear(this.#ops, joined, weights.output);
  }

  /** Writes the keys and values of normed hidden states [1, n, hidden]; returns views on all that `kv` then holds. */
  writeKv(index: number, weights: LayerWeights, normed: MlxArray, kv: LiveKv): LayerKv {
    const { kvHeads } = this.#config;
    const keys = this.#rotate(this.#heads(normed, weights.k, kvHeads), kv.length);
    return kv.write(index, keys, this.#heads(normed, weights.v, kvHeads));
  }

  #mix(q: MlxArray, keys: MlxArray, values: MlxArray): MlxArray {
    const scale = this.#config.headDim ** -0.5;
    if (isExpScalar(this.#runtime)) return vectorAttention(this.#runtime, this.#ops, q, keys, values, scale);
    return this.#ops.attention(q, keys, values, scale, (q.shape[2] ?? 0) > 1 ? "causal" : "none");
  }

  #rotate(x: MlxArray, offset: number): MlxArray {
    const { headDim, rope } = this.#config;
    if (rope.kind === "base") return this.#ops.rope(x, headDim, rope, offset);
    if (this.#ropePeriods === null) throw new Error("the periods of the rotary embedding are missing");
    return this.#ops.rope(x, headDim, { periods: this.#ropePeriods }, offset);
  }

  /** [1, n, hidden] through `linear` as [1, heads, n, headDim]. */
  #heads(x: MlxArray, linear: Linear, heads: number): MlxArray {
    const projected = applyLinear(this.#ops, x, linear);
    const split = this.#ops.reshape(projected, [1, x.shape[1] ?? 0, heads, this.#config.headDim]);
    return this.#ops.transpose(split, [0, 2, 1, 3]);
  }
}
