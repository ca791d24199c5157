// Draws a token from logits: temperature, then top-k, top-p and min-p, then one draw of what is left.
import { KeepwarmError } from "../base/errors.ts";
import type { Sampling } from "../contract/sampling.ts";
import { type Cutoff, cutoffByCount, cutoffBySum } from "./cutoff.ts";

export type Truncation = Pick<Sampling, "temperature" | "topK" | "topP" | "minP">;

const KEEPS_ALL: Cutoff = { value: Number.NEGATIVE_INFINITY, ties: Number.POSITIVE_INFINITY };

/** More groups leave fewer tokens to search, and take longer to search themselves. */
const GROUPS_PER_KEPT = 8;

const noNumbers = (): KeepwarmError =>
  new KeepwarmError("damaged-file", "The model computed values that are no numbers. Its file is probably damaged.");

/** The first of the largest. Throws where the largest is no finite number. */
export const indexOfLargest = (logits: Float32Array): number => {
  let index = 0;
  let largest = Number.NEGATIVE_INFINITY;
  for (let id = 0; id < logits.length; id++) {
    const logit = logits[id] as number;
    if (logit > largest) {
      largest = logit;
      index = id;
    }
  }
  if (!Number.isFinite(largest)) throw noNumbers();
  return index;
};

/**
 * What at least `count` logits reach: of groups of tokens the `count` with the largest best ones reach the least of
 * these bests.
 */
const lowerBound = (logits: Float32Array, count: number): number => {
  const bests = new Float32Array(GROUPS_PER_KEPT * count).fill(Number.NEGATIVE_INFINITY);
  for (let id = 0, group = 0; id < logits.length; id++) {
    bests[group] = Math.max(bests[group] as number, logits[id] as number);
    if (++group === bests.length) group = 0;
  }
  return cutoffByCount(bests, count).value;
};

export class TokenDraw {
  readonly #truncation: Truncation;
  #weights = new Float64Array(0);
  #scratch = new Float64Array(0);

  /** The temperature is above 0. */
  constructor(truncation: Truncation) {
    this.#truncation = truncation;
  }

  /**
   * Each token's weight against the likeliest, which has 1; what is dropped has 0. Of equally likely tokens at the edge
   * those with the smallest ids stay. Holds until the next call.
   */
  weigh(logits: Float32Array): Float64Array {
    const { topP, minP } = this.#truncation;
    if (this.#weights.length !== logits.length) {
      this.#weights = new Float64Array(logits.length);
      this.#scratch = new Float64Array(logits.length);
    }
    const total = this.#exponentiate(logits);
    if (topP < 1) this.#drop(this.#topPCutoff(total));
    if (minP > 0) this.#drop({ value: minP, ties: Number.POSITIVE_INFINITY });
    return this.#weights;
  }

  /**
   * `uniform` is from 0 up to, and without, 1. Goes through the tokens by id, so that logits that differ by rounding
   * give the same token for the same number, but for draws at an edge.
   */
  draw(logits: Float32Array, uniform: number): number {
    const weights = this.weigh(logits);
    let total = 0;
    for (let id = 0; id < weights.length; id++) total += weights[id] as number;
    const aim = uniform * total;
    let sum = 0;
    let last = 0;
    for (let id = 0; id < weights.length; id++) {
      const weight = weights[id] as number;
      if (weight === 0) continue;
      sum += weight;
      last = id;
      if (sum > aim) break;
    }
    return last;
  }

  /** Fills the weights of the top k and returns their sum. */
  #exponentiate(logits: Float32Array): number {
    const { temperature, topK } = this.#truncation;
    const weights = this.#weights;
    const largest = logits[indexOfLargest(logits)] as number;
    const { value, ties } = topK > 0 && topK < logits.length ? this.#topKCutoff(logits) : KEEPS_ALL;
    let tiesLeft = ties;
    let total = 0;
    for (let id = 0; id < weights.length; id++) {
      const logit = logits[id] as number;
      const isDropped = logit < value || (logit === value && tiesLeft-- <= 0);
      const weight = isDropped ? 0 : Math.exp((logit - largest) / temperature);
      weights[id] = weight;
      total += weight;
    }
    if (Number.isNaN(total)) throw noNumbers();
    return total;
  }

  #topKCutoff(logits: Float32Array): Cutoff {
    const { topK } = this.#truncation;
    const bar = topK * GROUPS_PER_KEPT < logits.length ? lowerBound(logits, topK) : Number.NEGATIVE_INFINITY;
    let count = 0;
    for (let id = 0; id < logits.length; id++) {
      const logit = logits[id] as number;
      if (logit >= bar) this.#scratch[count++] = logit;
    }
    return cutoffByCount(this.#scratch.subarray(0, count), topK);
  }

  #topPCutoff(total: number): Cutoff {
    const { topP } = this.#truncation;
    const weights = this.#weights;
    // All weights below this add up to less than what top-p drops.
    const tail = ((1 - topP) * total) / weights.length;
    let count = 0;
    for (let id = 0; id < weights.length; id++) {
      const weight = weights[id] as number;
      if (weight >= tail && weight > 0) this.#scratch[count++] = weight;
    }
    return cutoffBySum(this.#scratch.subarray(0, count), topP * total);
  }

  #drop({ value, ties }: Cutoff): void {
    const weights = this.#weights;
    let tiesLeft = ties;
    for (let id = 0; id < weights.length; id++) {
      const weight = weights[id] as number;
      if (weight < value || (weight === value && tiesLeft-- <= 0)) weights[id] = 0;
    }
  }
}
