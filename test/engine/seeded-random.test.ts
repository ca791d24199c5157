import { expect, test } from "bun:test";
import { SeededRandom } from "../../src-bun/engine/seeded-random.ts";

const take = (seed: number, count: number): number[] => {
  const random = new SeededRandom(seed);
  return Array.from({ length: count }, () => random.next());
};

test("is SplitMix64: its first numbers from 0 are those of its authors", () => {
  const published = [0xe220a8397b1dcdafn, 0x6e789e6aa1b965f4n, 0x06c45d188009454fn];
  expect(take(0, 3)).toEqual(published.map((number) => Number(number >> 11n) / 2 ** 53));
});

test("the same seed gives the same numbers, every other seed others", () => {
  const seeds = [0, 1, 2, -1, 2 ** 44, 2 ** 53 - 1, -(2 ** 53 - 1)];
  const runs = seeds.map((seed) => take(seed, 50));
  expect(seeds.map((seed) => take(seed, 50))).toEqual(runs);
  expect(new Set(runs.flat()).size).toBe(seeds.length * 50);
});

test("is even over 64 intervals, by the chi-square test, over one seed and over first numbers", () => {
  const DRAWS = 64_000;
  const statistic = (numbers: readonly number[]): number => {
    const counts = new Array<number>(64).fill(0);
    for (const number of numbers) {
      const at = Math.floor(number * 64);
      counts[at] = (counts[at] ?? 0) + 1;
    }
    return counts.reduce((sum, count) => sum + (count - DRAWS / 64) ** 2 / (DRAWS / 64), 0);
  };
  // 63 degrees of freedom: 99.9 % lie below 103.4.
  expect(statistic(take(3, DRAWS))).toBeLessThan(103.4);
  expect(statistic(Array.from({ length: DRAWS }, (_, seed) => take(seed, 1)[0] ?? 0))).toBeLessThan(103.4);
});
