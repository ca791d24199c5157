/** How the next token is chosen from the model's logits. The fields are in the order in which they take effect. */
export type Sampling = {
  /**
   * For each token that the prompt or the answer holds, a logit above 0 is divided by it and another multiplied (Keskar
   * et al. 2019). 1 changes nothing.
   */
  readonly repetitionPenalty: number;
  /** Taken from the logit of each token that the answer holds. */
  readonly presencePenalty: number;
  /** Taken from a token's logit once for each time that the answer holds it. */
  readonly frequencyPenalty: number;
  /** Pairs of a token's id and what is added to its logit. */
  readonly logitBias: readonly (readonly [id: number, bias: number])[];
  /** The logits are divided by it; 0 takes the likeliest token, and what follows has no say. */
  readonly temperature: number;
  /** So many of the likeliest tokens are kept; 0 keeps all. */
  readonly topK: number;
  /** Of the rest, the fewest likeliest tokens that make up this share are kept (Holtzman et al. 2020). */
  readonly topP: number;
  /** Tokens less likely than this share of the likeliest are dropped (Nguyen et al. 2024). */
  readonly minP: number;
  /** The same seed gives the same text; null draws one. */
  readonly seed: number | null;
};

export const defaultSampling: Sampling = {
  repetitionPenalty: 1,
  presencePenalty: 0,
  frequencyPenalty: 0,
  logitBias: [],
  temperature: 1,
  topK: 0,
  topP: 1,
  minP: 0,
  seed: null,
};
