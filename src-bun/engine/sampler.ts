import type { MlxArray } from "../mlx/array.ts";
import type { MlxOps } from "../mlx/ops.ts";
import type { MlxRuntime } from "../mlx/runtime.ts";

/** Keys of one seed lie this far apart, so that no two seeds share one within a text of that many tokens. */
const KEYS_PER_SEED = 1n << 20n;

/** Chooses the next token from logits [1, vocabulary]. The same seed and logits give the same tokens. */
export class Sampler {
  readonly #runtime: MlxRuntime;
  readonly #ops: MlxOps;
  readonly #temperature: number;
  readonly #seed: number;
  #drawn = 0n;

  /** Temperature 0 takes the likeliest; `seed` is a whole number from 0 on. */
  constructor(runtime: MlxRuntime, ops: MlxOps, options: { temperature: number; seed: number }) {
    this.#runtime = runtime;
    this.#ops = ops;
    this.#temperature = options.temperature;
    this.#seed = options.seed;
  }

  sample(logits: MlxArray): number {
    using _scope = this.#runtime.scope();
    if (this.#temperature === 0) return this.#ops.argmax(logits, -1).toUint32();
    const key = this.#ops.randomKey(BigInt(this.#seed) * KEYS_PER_SEED + this.#drawn++);
    const scaled = this.#ops.multiply(logits, this.#ops.scalar(1 / this.#temperature));
    return this.#ops.categorical(scaled, key).toUint32();
  }
}
