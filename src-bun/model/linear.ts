// Matrices of weights as they are held in memory, and the linear maps made of them.
import type { MlxArray } from "../mlx/array.ts";
import type { MlxOps, Quantization } from "../mlx/ops.ts";

/** Rows [out, in]: one for each output of a linear map, or one for each token of an embedding. */
export type Matrix =
  | {
      readonly kind: "dense";
      readonly rows: MlxArray;
      /** [in, out], a view on the same memory. */
      readonly columns: MlxArray;
    }
  | {
      readonly kind: "quantized";
      readonly weight: MlxArray;
      readonly scales: MlxArray;
      readonly biases: MlxArray;
      readonly how: Quantization;
    };

/** x · matrixᵀ + bias. */
export type Linear = { readonly matrix: Matrix; readonly bias: MlxArray | null };

/** [..., in] to [..., out]. */
export const applyLinear = (ops: MlxOps, x: MlxArray, { matrix, bias }: Linear): MlxArray => {
  const product =
    matrix.kind === "dense"
      ? ops.matmul(x, matrix.columns)
      : ops.quantizedMatmul(x, matrix.weight, matrix.scales, matrix.biases, matrix.how);
  return bias === null ? product : ops.add(product, bias);
};

/** The rows that `indices` names, as float32. */
export const takeRows = (ops: MlxOps, matrix: Matrix, indices: MlxArray): MlxArray => {
  if (matrix.kind === "dense") return ops.take(matrix.rows, indices, 0);
  const { weight, scales, biases, how } = matrix;
  const [w, s, b] = [ops.take(weight, indices, 0), ops.take(scales, indices, 0), ops.take(biases, indices, 0)];
  return ops.dequantize(w, s, b, how, "float32");
};

/** Each handle of a matrix once. */
export const matrixArrays = (matrix: Matrix): MlxArray[] =>
  matrix.kind === "dense" ? [matrix.rows, matrix.columns] : [matrix.weight, matrix.scales, matrix.biases];

export const matrixBytes = (matrix: Matrix): number =>
  matrix.kind === "dense"
    ? matrix.rows.byteLength
    : matrixArrays(matrix).reduce((sum, array) => sum + array.byteLength, 0);
