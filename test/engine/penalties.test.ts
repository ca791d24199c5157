import { expect, test } from "bun:test";
import { defaultSampling } from "../../src-bun/contract/sampling.ts";
import { Penalties, type PenaltyOptions } from "../../src-bun/engine/penalties.ts";

const PROMPT = Uint32Array.of(0, 1, 1);
const LOGITS = [4, -4, 2, -2, 0];

/** The logits after an answer of tokens 1, 2 and 2. */
const after = (changes: Partial<PenaltyOptions>): number[] => {
  const penalties = new Penalties({ ...defaultSampling, ...changes }, PROMPT);
  for (const id of [1, 2, 2]) penalties.accept(id);
  const logits = Float32Array.from(LOGITS);
  penalties.apply(logits);
  return [...logits];
};

test("repetition weighs once on each token of the prompt and the answer", () => {
  expect(after({ repetitionPenalty: 2 })).toEqual([2, -8, 1, -2, 0]);
  expect(after({ repetitionPenalty: 0.5 })).toEqual([8, -2, 4, -2, 0]);
});

test("presence weighs once on each token of the answer, and not on the prompt", () => {
  expect(after({ presencePenalty: 1.5 })).toEqual([4, -5.5, 0.5, -2, 0]);
});

test("frequency weighs on a token as often as the answer holds it", () => {
  expect(after({ frequencyPenalty: 0.5 })).toEqual([4, -4.5, 1, -2, 0]);
  expect(after({ frequencyPenalty: -1 })).toEqual([4, -3, 4, -2, 0]);
});

test("a bias is added after all penalties", () => {
  const logitBias = [
    [0, 10],
    [4, -100],
  ] as const;
  expect(after({ logitBias })).toEqual([14, -4, 2, -2, -100]);
  expect(after({ logitBias, repetitionPenalty: 2, presencePenalty: 1, frequencyPenalty: 1 })).toEqual([
    12, -10, -2, -2, -100,
  ]);
});

test("the defaults change nothing, and say so", () => {
  expect(after({})).toEqual(LOGITS);
  expect(new Penalties(defaultSampling, PROMPT).isNeutral).toBe(true);
  for (const changes of [
    { repetitionPenalty: 1.1 },
    { presencePenalty: 0.1 },
    { frequencyPenalty: -0.1 },
    { logitBias: [[0, 0]] as const },
  ]) {
    expect(new Penalties({ ...defaultSampling, ...changes }, PROMPT).isNeutral).toBe(false);
  }
});
