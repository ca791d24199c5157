import { afterAll, beforeAll, expect, test } from "bun:test";
import { MlxOps } from "../../src-bun/mlx/ops.ts";
import { MlxRuntime } from "../../src-bun/mlx/runtime.ts";
import { Exp2 } from "../../src-bun/model/exp2.ts";
import { testSetup } from "../support/test-setup.ts";

let runtime: MlxRuntime;
let ops: MlxOps;

beforeAll(async () => {
  runtime = new MlxRuntime((await testSetup()).mlxLibrary);
  ops = new MlxOps(runtime);
});

afterAll(() => runtime[Symbol.dispose]());

const exp2 = (values: Float32Array): Float32Array => {
  using _scope = runtime.scope();
  const result = new Exp2(ops).apply(runtime.arrayFrom(values, [values.length]));
  runtime.evaluate([result]);
  return result.toFloat32Array();
};

/** The bound that exp2.ts derives. */
const RELATIVE_ERROR = 2.1e-7;

test("2^t stays within its bound over the whole range", () => {
  const range = Float32Array.from({ length: 2 ** 20 }, (_, index) => -126 + (252 * index) / 2 ** 20);
  const nearZero = Float32Array.from({ length: 2 ** 18 }, (_, index) => (index / 2 ** 17 - 1) * 2 ** -(index % 30));
  const halves = Float32Array.from({ length: 251 }, (_, index) => index - 125.5);
  let largest = 0;
  for (const values of [range, nearZero, halves]) {
    for (const [index, power] of exp2(values).entries()) {
      const exact = 2 ** (values[index] ?? 0);
      largest = Math.max(largest, Math.abs(power - exact) / exact);
    }
  }
  console.log(`largest relative error of 2^t: ${largest.toExponential(2)}`);
  expect(largest).toBeLessThan(RELATIVE_ERROR);
});

test("whole powers are exact, and what is smaller than float32 can say is nearly or exactly 0", () => {
  const whole = Float32Array.from({ length: 253 }, (_, index) => index - 126);
  expect([...exp2(whole)]).toEqual([...whole].map((t) => 2 ** t));
  expect([...exp2(Float32Array.of(Number.NEGATIVE_INFINITY, -3.4e38, -1e6, -128, -127))]).toEqual([0, 0, 0, 0, 0]);
  const small = Float32Array.from({ length: 4096 }, (_, index) => -127 + index / 4096);
  for (const [index, power] of exp2(small).entries()) {
    expect(Math.abs(power - 2 ** (small[index] ?? 0))).toBeLessThanOrEqual(2 ** -126);
  }
});
