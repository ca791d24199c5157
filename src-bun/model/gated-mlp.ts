// The gated feed-forward network of Llama (SwiGLU; Shazeer 2020).
import type { MlxArray } from "../mlx/array.ts";
import type { MlxOps } from "../mlx/ops.ts";
import type { MlxRuntime } from "../mlx/runtime.ts";
import { isExpScalar } from "./exp2.ts";
import { applyLinear } from "./linear.ts";
import type { LayerWeights } from "./llama-weights.ts";
import { plainSwiglu, vectorSwiglu } from "./swiglu.ts";

export class GatedMlp {
  readonly #ops: MlxOps;
  readonly #swiglu: typeof plainSwiglu;

  constructor(runtime: MlxRuntime, ops: MlxOps) {
    this.#ops = ops;
    this.#swiglu = isExpScalar(runtime) ? vectorSwiglu : plainSwiglu;
  }

  /** What a layer adds to normed hidden states [1, n, hidden]. */
  apply(weights: LayerWeights, normed: MlxArray): MlxArray {
    const gate = applyLinear(this.#ops, normed, weights.gate);
    const up = applyLinear(this.#ops, normed, weights.up);
    return applyLinear(this.#ops, this.#swiglu(this.#ops, gate, up), weights.down);
  }
}
