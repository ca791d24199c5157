// Where the largest of many numbers end, found by quickselect (Hoare 1961) without sorting them.

/** Kept is all that lies above `value`, and as many of the values equal to it as `ties` says. */
export type Cutoff = { readonly value: number; readonly ties: number };

type Values = Float32Array | Float64Array;

const swap = (values: Values, a: number, b: number): void => {
  const kept = values[a] as number;
  values[a] = values[b] as number;
  values[b] = kept;
};

const medianOfThree = (values: Values, from: number, to: number): number => {
  const first = values[from] as number;
  const middle = values[(from + to) >>> 1] as number;
  const last = values[to - 1] as number;
  return Math.max(Math.min(first, middle), Math.min(Math.max(first, middle), last));
};

/** The fewest largest values whose weights reach `target`, at least one. Reorders `values`, which are not empty. */
const find = (values: Values, weightOf: (value: number) => number, target: number): Cutoff => {
  let from = 0;
  let to = values.length;
  let reached = 0;
  for (;;) {
    const pivot = medianOfThree(values, from, to);
    // Three parts: above the pivot up to `above`, equal to it up to `below`, and the rest.
    let above = from;
    let below = to;
    let weightAbove = 0;
    for (let at = from; at < below; ) {
      const value = values[at] as number;
      if (value > pivot) {
        weightAbove += weightOf(value);
        swap(values, at++, above++);
      } else if (value < pivot) swap(values, at, --below);
      else at++;
    }
    if (above > from && reached + weightAbove >= target) {
      to = above;
      continue;
    }
    reached += weightAbove;
    const equal = below - above;
    const weight = weightOf(pivot);
    if (below === to || reached + equal * weight >= target) {
      const wanted = Math.ceil((target - reached) / weight);
      return { value: pivot, ties: Math.min(equal, Math.max(1, wanted)) };
    }
    reached += equal * weight;
    from = below;
  }
};

/** The `count` largest values, from 1 to all. Reorders `values`. */
export const cutoffByCount = (values: Values, count: number): Cutoff => find(values, () => 1, count);

/** The fewest largest values that add up to `sum`, at least one. Reorders `values`, which are above 0. */
export const cutoffBySum = (values: Values, sum: number): Cutoff => find(values, (value) => value, sum);
