import type { Rope } from "./rope.ts";

/** The shape of a Llama-architecture model (Touvron et al. 2023). */
export type LlamaConfig = {
  readonly layers: number;
  readonly hiddenSize: number;
  readonly intermediateSize: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
  readonly vocabularySize: number;
  readonly contextTokens: number;
  readonly rope: Rope;
  readonly normEpsilon: number;
};
