import { damagedModel } from "./model-faults.ts";
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

/** Several times the largest that are known; tables are made of this size before any tensor confirms it. */
const MAX_HEAD_DIM = 4096;

/** Throws "damaged-file" for numbers that cannot belong together, whatever format they came in. */
export const checkHeads = (path: string, heads: number, kvHeads: number, headDim: number): void => {
  if (!Number.isSafeInteger(headDim) || headDim % 2 !== 0 || headDim > MAX_HEAD_DIM) {
    throw damagedModel(path, `its heads have ${headDim} elements`);
  }
  if (heads % kvHeads !== 0) throw damagedModel(path, `its ${heads} heads cannot share ${kvHeads} for keys and values`);
};
