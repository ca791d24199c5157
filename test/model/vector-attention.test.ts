import { afterAll, beforeAll, expect, test } from "bun:test";
import type { MlxArray } from "../../src-bun/mlx/array.ts";
import { MlxOps } from "../../src-bun/mlx/ops.ts";
import { MlxRuntime } from "../../src-bun/mlx/runtime.ts";
import { plainSwiglu, vectorSwiglu } from "../../src-bun/model/swiglu.ts";
import { vectorAttention } from "../../src-bun/model/vector-attention.ts";
import { Random } from "../support/random.ts";
import { testSetup } from "../support/test-setup.ts";

const HEAD_DIM = 64;

let runtime: MlxRuntime;
let ops: MlxOps;

beforeAll(async () => {
  runtime = new MlxRuntime((await testSetup()).mlxLibrary);
  ops = new MlxOps(runtime);
});

afterAll(() => runtime[Symbol.dispose]());

const SEED = 20;

/** Numbers from −scale to scale. */
const randomArray = (random: Random, shape: readonly number[], scale: number): MlxArray => {
  const count = shape.reduce((product, length) => product * length, 1);
  return runtime.arrayFrom(
    Float32Array.from({ length: count }, () => (2 * random.next() - 1) * scale),
    shape,
  );
};

const largestDifference = (a: MlxArray, b: MlxArray): number => {
  const [left, right] = [ops.contiguous(a), ops.contiguous(b)];
  runtime.evaluate([left, right]);
  const values = right.toFloat32Array();
  return left.toFloat32Array().reduce((most, value, at) => Math.max(most, Math.abs(value - (values[at] ?? NaN))), 0);
};

type Case = {
  readonly name: string;
  readonly heads: number;
  readonly kvHeads: number;
  readonly queries: number;
  readonly keys: number;
  readonly scale: number;
};

const cases: readonly Case[] = [
  { name: "a span from the start", heads: 9, kvHeads: 3, queries: 256, keys: 256, scale: 1 },
  { name: "a span that no tile divides, several key ranges", heads: 6, kvHeads: 2, queries: 131, keys: 2600, scale: 1 },
  { name: "one head for each head of keys", heads: 4, kvHeads: 4, queries: 65, keys: 300, scale: 1 },
  { name: "one query over many keys", heads: 9, kvHeads: 3, queries: 1, keys: 3000, scale: 1 },
  { name: "scores so large that most weights vanish", heads: 3, kvHeads: 1, queries: 100, keys: 500, scale: 60 },
];

for (const { name, heads, kvHeads, queries, keys, scale } of cases) {
  test(`tiled attention is MLX's own up to rounding: ${name}`, () => {
    using _scope = runtime.scope();
    const random = new Random(SEED);
    const q = randomArray(random, [1, heads, queries, HEAD_DIM], scale);
    // Views on roomier arrays, as live KV gives them.
    const room = [1, kvHeads, keys + 100, HEAD_DIM];
    const view = (array: MlxArray): MlxArray => ops.slice(array, [0, 0, 0, 0], [1, kvHeads, keys, HEAD_DIM]);
    const k = view(randomArray(random, room, 1));
    const v = view(randomArray(random, room, 1));
    const factor = HEAD_DIM ** -0.5;
    const own = vectorAttention(runtime, ops, q, k, v, factor);
    expect(own.shape).toEqual([1, heads, queries, HEAD_DIM]);
    const difference = largestDifference(own, ops.attention(q, k, v, factor, queries > 1 ? "causal" : "none"));
    // Both round scores of at most √headDim · scale in sums of headDim terms, and values are at most 1.
    expect(difference).toBeLessThan(2 * HEAD_DIM * scale * 2 ** -24);
  });
}

test("later tokens change nothing, not even by rounding", () => {
  using _scope = runtime.scope();
  const random = new Random(SEED);
  const [q, k, v] = [9, 3, 3].map((heads) => randomArray(random, [1, heads, 128, HEAD_DIM], 1)) as [
    MlxArray,
    MlxArray,
    MlxArray,
  ];
  const changed = (array: MlxArray): MlxArray => {
    const later = randomArray(random, [1, 3, 28, HEAD_DIM], 1e6);
    return ops.sliceUpdate(array, later, [0, 0, 100, 0], [1, 3, 128, HEAD_DIM]);
  };
  const first = (array: MlxArray): MlxArray => ops.slice(array, [0, 0, 0, 0], [1, 9, 100, HEAD_DIM]);
  const before = vectorAttention(runtime, ops, q, k, v, 0.125);
  const after = vectorAttention(runtime, ops, q, changed(k), changed(v), 0.125);
  expect(largestDifference(first(before), first(after))).toBe(0);
});

test("SwiGLU is MLX's own up to rounding, for gates that overflow an exp too", () => {
  using _scope = runtime.scope();
  const random = new Random(SEED);
  const gate = randomArray(random, [1, 200, 1536], 300);
  const up = randomArray(random, [1, 200, 1536], 1);
  // At most 300 · 1, by exp, a sum, a product and a division.
  expect(largestDifference(vectorSwiglu(ops, gate, up), plainSwiglu(ops, gate, up))).toBeLessThan(8 * 300 * 2 ** -24);
});
