// How logits of two runs are compared.
import type { LlamaConfig } from "../../src-bun/model/llama-config.ts";

export const largestDifference = (a: readonly Float32Array[], b: readonly Float32Array[]): number => {
  let largest = 0;
  for (const [step, values] of a.entries()) {
    for (const [index, value] of values.entries()) {
      largest = Math.max(largest, Math.abs(value - (b[step]?.[index] ?? Number.NaN)));
    }
  }
  return largest;
};

/**
 * How far rounding alone may move a logit between two orders of summation: each of the 2 · layers residual additions
 * carries a dot product of at most `intermediate` terms, whose rounding errors of half a unit in the last place add up
 * like a random walk (Higham and Mary 2019); both runs err, on values of the logits' range.
 */
export const roundingBound = ({ layers, intermediateSize }: LlamaConfig, logits: Float32Array): number => {
  const range = logits.reduce((a, b) => Math.max(a, b)) - logits.reduce((a, b) => Math.min(a, b));
  return 2 * range * 2 ** -24 * Math.sqrt(2 * layers * intermediateSize);
};

/** Between the best logit and the second. */
export const marginOf = (logits: Float32Array): number => {
  const [best = 0, second = 0] = [...logits].sort((a, b) => b - a);
  return best - second;
};
