import { expect, test } from "bun:test";
import { tokenLogprobs } from "../../src-bun/engine/token-logprobs.ts";
import { Random } from "../support/random.ts";

test("equal what sorting and a plain sum give, in 500 random cases", () => {
  const seed = Number(process.env["SEED"] ?? Math.floor(Math.random() * 2 ** 31));
  console.log(`seed ${seed}`);
  const random = new Random(seed);
  for (let round = 0; round < 500; round++) {
    const isCoarse = random.below(2) === 0;
    const logits = Float32Array.from({ length: 1 + random.below(60) }, () =>
      isCoarse ? random.below(5) : (random.next() - 0.5) * 40,
    );
    const chosen = random.below(logits.length);
    const top = random.below(21);
    const sum = logits.reduce((total, logit) => total + Math.exp(logit), 0);
    const logprobOf = (id: number): number => Math.log(Math.exp(logits[id] ?? 0) / sum);
    const order = [...logits.keys()].toSorted((a, b) => (logits[b] ?? 0) - (logits[a] ?? 0) || a - b);

    const told = tokenLogprobs(logits, chosen, top);
    expect(told.id).toBe(chosen);
    expect(told.logprob).toBeCloseTo(logprobOf(chosen), 9);
    expect(told.top.map(({ id }) => id)).toEqual(order.slice(0, top));
    for (const { id, logprob } of told.top) expect(logprob).toBeCloseTo(logprobOf(id), 9);
  }
});

test("the impossible has a number too, and large logits overflow nothing", () => {
  const told = tokenLogprobs(Float32Array.of(1e30, Number.NEGATIVE_INFINITY, 1e30), 1, 3);
  expect(told.logprob).toBe(-9999);
  expect(told.top.map(({ id }) => id)).toEqual([0, 2, 1]);
  expect(told.top[0]?.logprob).toBeCloseTo(Math.log(0.5), 12);
});
