// Rotary position embedding (Su et al. 2021): how fast each pair of a head's elements turns with the position.

/** Pair i of a head turns by position · scale / base^(2i / headDim), or by position / periods[i], in radians. */
export type Rope =
  | { readonly kind: "base"; readonly base: number; readonly scale: number }
  | { readonly kind: "periods"; readonly periods: readonly number[] };

export type Llama3Scaling = {
  readonly factor: number;
  readonly lowFrequencyFactor: number;
  readonly highFrequencyFactor: number;
  readonly originalContextTokens: number;
};

export const plainRope = (base: number): Rope => ({ kind: "base", base, scale: 1 });

/** All positions are pressed together by `factor` (Chen et al. 2023). */
export const linearRope = (base: number, factor: number): Rope => ({ kind: "base", base, scale: 1 / factor });

const plainPeriods = (base: number, headDim: number): number[] =>
  Array.from({ length: headDim / 2 }, (_, pair) => base ** ((2 * pair) / headDim));

/** Every period stretched by its own factor, as a GGUF carries them. */
export const stretchedRope = (base: number, factors: readonly number[]): Rope => ({
  kind: "periods",
  periods: plainPeriods(base, factors.length * 2).map((period, pair) => period * (factors[pair] ?? 1)),
});

/** Slow pairs are stretched by `factor`, fast ones stay, with a smooth step between (Llama 3.1 model card). */
export const llama3Rope = (base: number, headDim: number, scaling: Llama3Scaling): Rope => {
  const { factor, lowFrequencyFactor, highFrequencyFactor, originalContextTokens } = scaling;
  const stretched = (period: number): number => {
    const turns = originalContextTokens / (2 * Math.PI * period);
    if (turns < lowFrequencyFactor) return period * factor;
    if (turns > highFrequencyFactor) return period;
    const share = (turns - lowFrequencyFactor) / (highFrequencyFactor - lowFrequencyFactor);
    return period / ((1 - share) / factor + share);
  };
  return { kind: "periods", periods: plainPeriods(base, headDim).map(stretched) };
};
