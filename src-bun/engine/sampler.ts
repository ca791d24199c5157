// Chooses the next token from logits [1, vocabulary]. The same seed and logits give the same tokens.
import { defaultSampling, type Sampling } from "../contract/sampling.ts";
import type { MlxArray } from "../mlx/array.ts";
import type { MlxOps } from "../mlx/ops.ts";
import type { MlxRuntime } from "../mlx/runtime.ts";
import { Penalties } from "./penalties.ts";
import { SeededRandom } from "./seeded-random.ts";
import { indexOfLargest, TokenDraw } from "./token-draw.ts";

export type SamplerOptions = Partial<Sampling> & { readonly seed: number };

export class Sampler {
  readonly #runtime: MlxRuntime;
  readonly #ops: MlxOps;
  readonly #penalties: Penalties;
  readonly #random: SeededRandom;
  /** Null: the likeliest token. */
  readonly #draw: TokenDraw | null;

  constructor(runtime: MlxRuntime, ops: MlxOps, options: SamplerOptions, prompt: Uint32Array = new Uint32Array(0)) {
    const sampling = { ...defaultSampling, ...options };
    this.#runtime = runtime;
    this.#ops = ops;
    this.#penalties = new Penalties(sampling, prompt);
    this.#random = new SeededRandom(options.seed);
    this.#draw = sampling.temperature === 0 ? null : new TokenDraw(sampling);
  }

  sample(logits: MlxArray): number {
    const id = this.#choose(logits);
    this.#penalties.accept(id);
    return id;
  }

  /** The logits as numbers of this thread's own. */
  read(logits: MlxArray): Float32Array {
    if (logits.dtype === "float32") return logits.toFloat32Array();
    using _scope = this.#runtime.scope();
    const plain = this.#ops.asType(logits, "float32");
    this.#runtime.evaluate([plain]);
    return plain.toFloat32Array();
  }

  #choose(logits: MlxArray): number {
    if (this.#draw === null && this.#penalties.isNeutral) return this.#likeliest(logits);
    // In plain numbers: drawing from 49,152 of them takes 0.5 ms, with MLX 2.7 ms before any top-k or top-p.
    const values = this.read(logits);
    this.#penalties.apply(values);
    return this.#draw === null ? indexOfLargest(values) : this.#draw.draw(values, this.#random.next());
  }

  #likeliest(logits: MlxArray): number {
    using _scope = this.#runtime.scope();
    return this.#ops.argmax(logits, -1).toUint32();
  }
}
