// The gated feed-forward network of Llama (SwiGLU; Shazeer 2020).
import type { MlxArray } from "../mlx/array.ts";
import type { MlxOps } from "../mlx/ops.ts";
import { applyLinear } from "./linear.ts";
import type { LayerWeights } from "./llama-weights.ts";

export class GatedMlp {
  readonly #ops: MlxOps;

  constructor(ops: MlxOps) {
    this.#ops = ops;
  }

  /** What a layer adds to normed hidden states [1, n, hidden]. */
  apply(weights: LayerWeights, normed: MlxArray): MlxArray {
    const gate = this.#ops.silu(applyLinear(this.#ops, normed, weights.gate));
    const up = applyLinear(this.#ops, normed, weights.up);
    return applyLinear(this.#ops, this.#ops.multiply(gate, up), weights.down);
  }
}
