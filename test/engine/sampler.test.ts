import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Sampling } from "../../src-bun/contract/sampling.ts";
import { Sampler } from "../../src-bun/engine/sampler.ts";
import type { MlxArray } from "../../src-bun/mlx/array.ts";
import { MlxOps } from "../../src-bun/mlx/ops.ts";
import { MlxRuntime } from "../../src-bun/mlx/runtime.ts";
import { testSetup } from "../support/test-setup.ts";

let runtime: MlxRuntime;
let ops: MlxOps;
let logits: MlxArray;

beforeAll(async () => {
  runtime = new MlxRuntime((await testSetup()).mlxLibrary);
  ops = new MlxOps(runtime);
  logits = runtime.arrayFrom(Float32Array.of(1, 3, 2.5, 2), [1, 4]);
});

afterAll(() => {
  logits[Symbol.dispose]();
  runtime[Symbol.dispose]();
});

const tokens = (sampling: Partial<Sampling>, count: number, prompt?: Uint32Array, from = logits): number[] => {
  const sampler = new Sampler(runtime, ops, { ...sampling, seed: sampling.seed ?? 1 }, prompt);
  return Array.from({ length: count }, () => sampler.sample(from));
};

test("temperature 0 takes the likeliest", () => {
  expect(tokens({ temperature: 0 }, 3)).toEqual([1, 1, 1]);
});

test("penalties hold without temperature too, and grow with the answer", () => {
  expect(tokens({ temperature: 0, presencePenalty: 1 }, 4)).toEqual([1, 2, 1, 1]);
  expect(tokens({ temperature: 0, frequencyPenalty: 0.3 }, 5)).toEqual([1, 1, 2, 1, 2]);
  expect(tokens({ temperature: 0, repetitionPenalty: 2 }, 2, Uint32Array.of(1, 2))).toEqual([3, 1]);
});

test("a bias can force a token and forbid one", () => {
  expect(tokens({ temperature: 0, logitBias: [[0, 100]] }, 2)).toEqual([0, 0]);
  expect(tokens({ temperature: 0, logitBias: [[1, -100]] }, 2)).toEqual([2, 2]);
  expect(new Set(tokens({ logitBias: [[0, 100]] }, 50))).toEqual(new Set([0]));
});

test("the same seed draws the same tokens, another one others; all tokens come", () => {
  const first = tokens({ seed: 5, temperature: 2 }, 100);
  expect(tokens({ seed: 5, temperature: 2 }, 100)).toEqual(first);
  expect(tokens({ seed: 6, temperature: 2 }, 100)).not.toEqual(first);
  expect(new Set(first)).toEqual(new Set([0, 1, 2, 3]));
});

test("top-k, top-p and min-p bound what is drawn", () => {
  expect(new Set(tokens({ topK: 2 }, 100))).toEqual(new Set([1, 2]));
  expect(new Set(tokens({ topP: 0.4 }, 100))).toEqual(new Set([1]));
  expect(new Set(tokens({ minP: 0.3 }, 100))).toEqual(new Set([1, 2, 3]));
});

test("logits of half precision are read as the numbers they are, and no handle is left", () => {
  const before = runtime.library.liveHandles;
  {
    using half = ops.asType(logits, "float16");
    runtime.evaluate([half]);
    expect(tokens({ topK: 1 }, 2, undefined, half)).toEqual([1, 1]);
    expect(tokens({ temperature: 0 }, 2, undefined, half)).toEqual([1, 1]);
  }
  expect(runtime.library.liveHandles).toBe(before);
});
