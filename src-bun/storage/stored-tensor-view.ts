// A tensor's memory as the storage workers see it. Whoever makes one keeps the memory until its job is settled.
export type StoredTensorView = {
  /** Address of the first element. */
  readonly pointer: number;
  readonly dtype: string;
  /** `[rows…, tokens, headDim]` in a block; any rank elsewhere. */
  readonly shape: readonly number[];
  /** In elements, one for each dimension; 0 and negative ones are allowed where memory is only read. */
  readonly strides: readonly number[];
  readonly itemSize: number;
  /** The layer group it belongs to. */
  readonly group: number;
};

export const elementCount = (shape: readonly number[]): number => shape.reduce((product, size) => product * size, 1);

/** The shape with another token dimension, which is the second last. */
export const withTokens = (shape: readonly number[], tokens: number): number[] => shape.with(-2, tokens);

/** The part of a tensor that holds `count` tokens from `from` on. Requires rank 2 or more. */
export const tokenSlice = (view: StoredTensorView, from: number, count: number): StoredTensorView => ({
  ...view,
  pointer: view.pointer + from * (view.strides.at(-2) ?? 0) * view.itemSize,
  shape: withTokens(view.shape, count),
});
