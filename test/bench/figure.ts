// What a bench reports: figures with their goals, and what they were measured on.
export type Goal = { readonly atLeast: number } | { readonly atMost: number };

export type Figure = {
  readonly id: string;
  /** Median of the runs; null when the measurement was void, with the reason in `note`. */
  readonly value: number | null;
  readonly unit: string;
  readonly goal: string;
  readonly holds: boolean;
  readonly runs: number;
  /** Smallest and largest run. */
  readonly spread: readonly [number, number];
  readonly note?: string;
};

export type BenchResult = { readonly figures: readonly Figure[]; readonly context: Readonly<Record<string, unknown>> };

const sorted = (values: readonly number[]): number[] => [...values].sort((a, b) => a - b);

/** Linear between neighbours; `share` 0.5 is the median. Requires at least one value. */
export const quantile = (values: readonly number[], share: number): number => {
  const ordered = sorted(values);
  const place = share * (ordered.length - 1);
  const low = ordered[Math.floor(place)] ?? Number.NaN;
  const high = ordered[Math.ceil(place)] ?? Number.NaN;
  return low + (high - low) * (place - Math.floor(place));
};

export const median = (values: readonly number[]): number => quantile(values, 0.5);

const goalText = (goal: Goal): string => ("atLeast" in goal ? `≥ ${goal.atLeast}` : `≤ ${goal.atMost}`);

const isReached = (value: number, goal: Goal): boolean =>
  "atLeast" in goal ? value >= goal.atLeast : value <= goal.atMost;

export const figure = (
  id: string,
  unit: string,
  goal: Goal,
  runs: readonly number[],
  value = median(runs),
): Figure => ({
  id,
  value,
  unit,
  goal: goalText(goal),
  holds: isReached(value, goal),
  runs: runs.length,
  spread: [Math.min(...runs), Math.max(...runs)],
});

export const voidFigure = (id: string, unit: string, goal: Goal, note: string): Figure => ({
  id,
  value: null,
  unit,
  goal: goalText(goal),
  holds: false,
  runs: 0,
  spread: [0, 0],
  note,
});
