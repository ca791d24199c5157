import { expect, test } from "bun:test";
import { formatBytes, formatBytesOf, formatCount, formatDuration, formatRate } from "../../../src-view/ui/format.ts";

test("counts have separators", () => {
  expect([0, 999, 1250, 32_768].map(formatCount)).toEqual(["0", "999", "1,250", "32,768"]);
});

test("bytes have the unit that fits, and two figures as GB", () => {
  expect([0, 999, 1000, 41_400_000, 1_240_000_000, 14_900_000_000].map(formatBytes)).toEqual([
    "0 bytes",
    "999 bytes",
    "1 kB",
    "41 MB",
    "1.2 GB",
    "15 GB",
  ]);
});

test("a part and its whole share the whole's unit, and the part is never more", () => {
  expect(formatBytesOf(23_000_000, 41_000_000)).toBe("23 of 41 MB");
  expect(formatBytesOf(400_000_000, 1_200_000_000)).toBe("0.4 of 1.2 GB");
  expect(formatBytesOf(50, 40)).toBe("40 of 40 bytes");
});

test("durations are as people say them", () => {
  expect([0, 312, 9990, 9999, 59_900, 59_990, 192_000, 3_900_000].map(formatDuration)).toEqual([
    "0.00 s",
    "0.31 s",
    "9.99 s",
    "10.0 s",
    "59.9 s",
    "1 min 0 s",
    "3 min 12 s",
    "1 h 5 min",
  ]);
});

test("rates have a decimal below a hundred", () => {
  expect([0.25, 13.2, 99.96, 210.4].map(formatRate)).toEqual([
    "0.3 tokens/s",
    "13.2 tokens/s",
    "100 tokens/s",
    "210 tokens/s",
  ]);
});
