// The Llama forward pass (Touvron et al. 2023), layer by layer, so that long prompts can be computed in pieces.
import type { MlxArray } from "../mlx/array.ts";
import type { MlxOps } from "../mlx/ops.ts";
import type { MlxRuntime } from "../mlx/runtime.ts";
import { Attention } from "./attention.ts";
import { GatedMlp } from "./gated-mlp.ts";
import { applyLinear, takeRows } from "./linear.ts";
import type { LiveKv } from "./live-kv.ts";
import type { LlamaConfig } from "./llama-config.ts";
import type { LayerWeights, LlamaWeights } from "./llama-weights.ts";

export class Llama {
  readonly config: LlamaConfig;
  readonly #runtime: MlxRuntime;
  readonly #ops: MlxOps;
  readonly #weights: LlamaWeights;
  readonly #attention: Attention;
  readonly #mlp: GatedMlp;

  constructor(runtime: MlxRuntime, ops: MlxOps, config: LlamaConfig, weights: LlamaWeights) {
    this.config = config;
    this.#runtime = runtime;
    this.#ops = ops;
    this.#weights = weights;
    this.#attention = new Attention(runtime, ops, config, weights.ropePeriods);
    this.#mlp = new GatedMlp(runtime, ops);
  }

  /** Hidden states [1, n, hidden] of the ids of n tokens. */
  embed(ids: Uint32Array): MlxArray {
    const indices = this.#runtime.arrayFrom(ids, [1, ids.length]);
    return takeRows(this.#ops, this.#weights.embedding, indices);
  }

  /** One layer over hidden states [1, n, hidden] that follow what `kv` holds; writes their keys and values. */
  layer(index: number, hidden: MlxArray, kv: LiveKv): MlxArray {
    const weights = this.#layerWeights(index);
    const normed = this.#norm(hidden, weights.attentionNorm);
    const attended = this.#ops.add(hidden, this.#attention.apply(index, weights, normed, kv));
    return this.#ops.add(attended, this.#mlp.apply(weights, this.#norm(attended, weights.mlpNorm)));
  }

  /** Only the keys and values of a layer: all that the last one owes to tokens whose logits nobody reads. */
  layerKv(index: number, hidden: MlxArray, kv: LiveKv): void {
    const weights = this.#layerWeights(index);
    this.#attention.writeKv(index, weights, this.#norm(hidden, weights.attentionNorm), kv);
  }

  /** Logits [1, vocabulary] of the last of the hidden states [1, n, hidden]. */
  lastLogits(hidden: MlxArray): MlxArray {
    const { hiddenSize } = this.config;
    const n = hidden.shape[1] ?? 0;
    const last = this.#ops.slice(hidden, [0, n - 1, 0], [1, n, hiddenSize]);
    const normed = this.#norm(this.#ops.reshape(last, [1, hiddenSize]), this.#weights.norm);
    return applyLinear(this.#ops, normed, this.#weights.head);
  }

  #norm(hidden: MlxArray, weight: MlxArray): MlxArray {
    return this.#ops.rmsNorm(hidden, weight, this.config.normEpsilon);
  }

  #layerWeights(index: number): LayerWeights {
    const weights = this.#weights.layers[index];
    if (weights === undefined) throw new RangeError(`layer ${index} of ${this.config.layers}`);
    return weights;
  }
}
