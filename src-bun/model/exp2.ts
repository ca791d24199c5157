// 2^t in a few passes of plain arithmetic, which compilers turn into vector instructions: MLX's CPU back end on x86
// computes exp element by element, at five times the cost.
import type { MlxArray } from "../mlx/array.ts";
import type { MlxOps } from "../mlx/ops.ts";
import type { MlxRuntime } from "../mlx/runtime.ts";

/** More elements than these at once, and the passes wait for memory instead of the second-level cache. */
export const CACHED_ELEMENTS = 2 ** 17;

/** Fewer elements than these, and starting the passes costs more than they save. */
export const WORTHWHILE_ELEMENTS = 2 ** 13;

/** Whether MLX's own exp is scalar code here: its vectors know Apple's and Arm's instructions only. */
export const isExpScalar = (runtime: MlxRuntime): boolean => runtime.device === "cpu" && process.arch === "x64";

/** 1.5 · 2²³: a float32 of that size has no bits below 1, so that adding it rounds to a whole number. */
const ROUNDER = 12582912;
const MANTISSA_BITS = 23;

/** At −127 the exponent's bits become 0, and so the result; −∞ gives 0 too. */
const SMALLEST = -127;

/** U(g) ≈ √g · coth(√g · ln 2 / 2) for 0 ≤ g ≤ 1/4, by weighted minimax. */
const U0 = 2.885390043258667;
const U1 = 0.11552395671606064;
const U2 = -0.0009204538073390722;

/**
 * With n the whole number nearest to t and f = t − n, 2^f = (U + f) / (U − f), because coth(y) = (e^2y + 1) / (e^2y − 1).
 * Relative error for −126 ≤ t ≤ 126 at most 2.1e-7. Clamping and f are exact; U + f, U − f and the division round by 2⁻²⁴
 * each; rounding within U is at most 1.1 · 2⁻²⁴ and counts by |2f · U / (U² − f²)| ≤ 0.36; U with coefficients of float32
 * misses the function by 7.1e-9 of the result. Below −126 the error is at most 2⁻¹²⁶.
 */
export class Exp2 {
  readonly #ops: MlxOps;
  readonly #smallest: MlxArray;
  readonly #rounder: MlxArray;
  readonly #mantissaBits: MlxArray;
  readonly #u0: MlxArray;
  readonly #u1: MlxArray;
  readonly #u2: MlxArray;

  /** Its constants belong to the innermost scope, and with them its use. */
  constructor(ops: MlxOps) {
    this.#ops = ops;
    this.#smallest = ops.scalar(SMALLEST);
    this.#rounder = ops.scalar(ROUNDER);
    this.#mantissaBits = ops.integer(MANTISSA_BITS);
    this.#u0 = ops.scalar(U0);
    this.#u1 = ops.scalar(U1);
    this.#u2 = ops.scalar(U2);
  }

  /** 2^t of float32 t ≤ 126. */
  apply(t: MlxArray): MlxArray {
    const ops = this.#ops;
    const clamped = ops.maximum(t, this.#smallest);
    const rounded = ops.add(clamped, this.#rounder);
    const f = ops.subtract(clamped, ops.subtract(rounded, this.#rounder));
    const g = ops.multiply(f, f);
    const u = ops.add(ops.multiply(ops.add(ops.multiply(g, this.#u2), this.#u1), g), this.#u0);
    const mantissa = ops.divide(ops.add(u, f), ops.subtract(u, f));
    const exponent = ops.leftShift(ops.view(rounded, "int32"), this.#mantissaBits);
    return ops.view(ops.add(ops.view(mantissa, "int32"), exponent), "float32");
  }
}
