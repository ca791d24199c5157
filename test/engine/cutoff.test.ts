import { expect, test } from "bun:test";
import { cutoffByCount, cutoffBySum } from "../../src-bun/engine/cutoff.ts";
import { Random } from "../support/random.ts";

const shapes: readonly ((at: number, random: Random) => number)[] = [
  (_at, random) => 1 + random.below(3),
  (_at, random) => random.next() + 2 ** -20,
  (at) => at + 1,
  (at) => 5000 - at,
  () => 7,
];

const countOf = (values: readonly number[], cutoff: { value: number; ties: number }): number =>
  values.filter((value) => value > cutoff.value).length + cutoff.ties;

test("finds the edge that sorting finds, in 2,000 random cases", () => {
  const seed = Number(process.env["SEED"] ?? Math.floor(Math.random() * 2 ** 31));
  console.log(`seed ${seed}`);
  const random = new Random(seed);
  for (let round = 0; round < 2000; round++) {
    const shape = shapes[random.below(shapes.length)] as (typeof shapes)[number];
    const values = Array.from({ length: 1 + random.below(200) }, (_, at) => shape(at, random));
    const sorted = values.toSorted((a, b) => b - a);

    const count = 1 + random.below(values.length);
    const byCount = cutoffByCount(Float64Array.from(values), count);
    expect(byCount.value).toBe(sorted[count - 1] as number);
    expect(countOf(values, byCount)).toBe(count);

    const aim = random.next() * values.reduce((sum, value) => sum + value, 0);
    let fewest = 0;
    for (let sum = 0; sum < aim || fewest === 0; fewest++) sum += sorted[fewest] as number;
    const bySum = cutoffBySum(Float64Array.from(values), aim);
    expect(bySum.value).toBe(sorted[fewest - 1] as number);
    expect(countOf(values, bySum)).toBe(fewest);
  }
});

test("a sum beyond all is reached by all, and none asks for one", () => {
  expect(cutoffBySum(Float64Array.of(2, 1, 1), 9)).toEqual({ value: 1, ties: 2 });
  expect(cutoffBySum(Float64Array.of(1, 2, 2), 0)).toEqual({ value: 2, ties: 1 });
});
