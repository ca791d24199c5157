import { describe, expect, test } from "bun:test";
import { SeededRandom } from "../../src-bun/engine/seeded-random.ts";
import { indexOfLargest, TokenDraw, type Truncation } from "../../src-bun/engine/token-draw.ts";
import { Random } from "../support/random.ts";

const plain: Truncation = { temperature: 1, topK: 0, topP: 1, minP: 0 };

/** The same by sorting everything. */
const sortedWeights = (logits: Float32Array, { temperature, topK, topP, minP }: Truncation): number[] => {
  const largest = Math.max(...logits);
  const all = [...logits].map((logit, id) => ({ id, weight: Math.exp((logit - largest) / temperature) }));
  const sorted = all.toSorted((a, b) => (logits[b.id] ?? 0) - (logits[a.id] ?? 0) || a.id - b.id);
  const best = topK > 0 ? sorted.slice(0, topK) : sorted;
  const aim = topP * best.reduce((sum, { weight }) => sum + weight, 0);
  let count = 0;
  for (let sum = 0; count === 0 || (sum < aim && count < best.length && topP < 1); count++) {
    sum += best[count]?.weight ?? 0;
  }
  const kept = topP < 1 ? best.slice(0, count) : best;
  const weights = new Array<number>(logits.length).fill(0);
  for (const { id, weight } of kept) if (weight >= minP) weights[id] = weight;
  return weights;
};

const randomCase = (random: Random): { logits: Float32Array; truncation: Truncation } => {
  const size = 1 + random.below(random.below(4) === 0 ? 900 : 12);
  const kind = random.below(4);
  const logits = Float32Array.from({ length: size }, () => {
    if (kind === 0) return random.below(4);
    if (kind === 1 && random.below(3) === 0) return Number.NEGATIVE_INFINITY;
    return (random.next() - 0.5) * 10 ** (1 + random.below(3));
  });
  logits[random.below(size)] = random.next();
  const maybe = (value: number, none: number): number => (random.below(2) === 0 ? none : value);
  return {
    logits,
    truncation: {
      temperature: maybe(0.05 + random.next() * 2, 1),
      topK: maybe(1 + random.below(size + 3), 0),
      topP: maybe(random.next(), 1),
      minP: maybe(random.next() ** 3, 0),
    },
  };
};

test("keeps exactly what sorting everything keeps, in 3,000 random cases", () => {
  const seed = Number(process.env["SEED"] ?? Math.floor(Math.random() * 2 ** 31));
  console.log(`seed ${seed}`);
  const random = new Random(seed);
  for (let round = 0; round < 3000; round++) {
    const { logits, truncation } = randomCase(random);
    const weights = [...new TokenDraw(truncation).weigh(logits)];
    const expected = sortedWeights(logits, truncation);
    if (weights.some((weight, id) => weight !== expected[id])) {
      expect({ round, truncation, logits, weights }).toEqual({ round, truncation, logits, weights: expected });
    }
  }
});

describe("at the edges", () => {
  const kept = (logits: number[], changes: Partial<Truncation>): number[] => {
    const weights = new TokenDraw({ ...plain, ...changes }).weigh(Float32Array.from(logits));
    return [...weights.keys()].filter((id) => weights[id] !== 0);
  };

  test("of equals the smallest ids stay", () => {
    expect(kept([1, 1, 1, 1], { topK: 2 })).toEqual([0, 1]);
    expect(kept([1, 1, 1, 1], { topP: 0.5 })).toEqual([0, 1]);
    expect(kept([0, 5, 5, 0, 5], { topK: 2 })).toEqual([1, 2]);
  });

  test("the likeliest always stays", () => {
    expect(kept([1, 3, 2], { topP: 0 })).toEqual([1]);
    expect(kept([1, 3, 2], { minP: 1 })).toEqual([1]);
    expect(kept([1, 3, 2], { topK: 1 })).toEqual([1]);
  });

  test("more than there is keeps all", () => {
    expect(kept([1, 3, 2], { topK: 9 })).toEqual([0, 1, 2]);
    expect(kept([1, 3, 2], { topP: 1 })).toEqual([0, 1, 2]);
  });

  test("top-p counts what top-k left", () => {
    // Of four equals two stay, and half of these is one.
    expect(kept([1, 1, 1, 1], { topK: 2, topP: 0.5 })).toEqual([0]);
  });

  test("min-p compares with the likeliest", () => {
    const logits = [0.5, 0.25, 0.12, 0.13].map(Math.log);
    expect(kept(logits, { minP: 0.25 })).toEqual([0, 1, 3]);
  });

  test("a tiny temperature is as good as none", () => {
    expect(kept([1, 3, 2.999], { temperature: 1e-300 })).toEqual([1]);
  });

  test("the ends of the draw give the first and the last token that is kept", () => {
    const logits = Float32Array.of(0, 5, 4, 0);
    const draw = new TokenDraw({ ...plain, topK: 2 });
    expect(draw.draw(logits, 0)).toBe(1);
    expect(draw.draw(logits, 1 - 2 ** -53)).toBe(2);
  });

  test.each([
    [[Number.NaN, Number.NaN]],
    [[0, Number.POSITIVE_INFINITY]],
    [[Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY]],
    [[1, Number.NaN]],
  ])("no token is drawn from %p", (logits) => {
    const values = Float32Array.from(logits);
    expect(() => new TokenDraw(plain).draw(values, 0.5)).toThrow("no numbers");
  });

  test("the first of the largest is the likeliest", () => {
    expect(indexOfLargest(Float32Array.of(1, 7, 3, 7))).toBe(1);
    expect(() => indexOfLargest(Float32Array.of(Number.NaN))).toThrow("no numbers");
  });
});

describe("draws as often as the weights say, by the chi-square test with fixed seeds", () => {
  const DRAWS = 20_000;
  /** Chi-square's 99.9 % points, by degrees of freedom. */
  const limits: Readonly<Record<number, number>> = { 6: 22.46, 7: 24.32, 19: 43.82 };

  test.each([
    [plain, 20, 1],
    [{ ...plain, temperature: 0.5 }, 20, 2],
    [{ ...plain, temperature: 1.8 }, 20, 3],
    [{ ...plain, topK: 8 }, 8, 4],
    [{ ...plain, temperature: 1.5, topK: 8, topP: 0.9 }, 7, 5],
  ] as const)("%p keeps %d", (truncation, kept, seed) => {
    const logits = Float32Array.from({ length: 20 }, (_, id) => ((id * 7) % 20) / 6);
    const draw = new TokenDraw(truncation);
    const random = new SeededRandom(seed);
    const counts = new Array<number>(20).fill(0);
    for (let round = 0; round < DRAWS; round++) {
      const id = draw.draw(logits, random.next());
      counts[id] = (counts[id] ?? 0) + 1;
    }
    const weights = sortedWeights(logits, truncation);
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    let statistic = 0;
    for (const [id, weight] of weights.entries()) {
      const expected = (weight / total) * DRAWS;
      if (expected === 0) expect(counts[id]).toBe(0);
      else statistic += ((counts[id] ?? 0) - expected) ** 2 / expected;
    }
    expect(weights.filter((weight) => weight > 0).length).toBe(kept);
    expect(statistic).toBeLessThan(limits[kept - 1] ?? 0);
  });
});
