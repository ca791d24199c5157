// What all mutants draw from: a seeded choice, and numbers at which arithmetic wraps, rounds or changes sign.
import type { Random } from "../support/random.ts";

export type Mutant = { readonly what: string; readonly path: string };

export const EXTREMES: readonly bigint[] = [
  0n,
  1n,
  7n,
  255n,
  2n ** 31n - 1n,
  2n ** 31n,
  2n ** 32n - 1n,
  2n ** 32n,
  2n ** 53n - 1n,
  2n ** 53n + 1n,
  2n ** 61n,
  2n ** 62n + 32n,
  2n ** 63n - 1n,
  2n ** 63n,
  2n ** 64n - 32n,
  2n ** 64n - 1n,
];

export const oneOf = <T>(random: Random, list: readonly T[]): T => {
  const one = list[random.below(list.length)];
  if (one === undefined) throw new RangeError("a choice from nothing");
  return one;
};

/** An extreme, or a number near what was there. */
export const otherNumber = (random: Random, was: number): bigint =>
  random.below(3) === 0 ? BigInt(Math.max(0, was + random.below(65) - 32)) : oneOf(random, EXTREMES);

/** Some bytes from `start` to `end` replaced. */
export const flip = (random: Random, bytes: Uint8Array, start: number, end: number): Uint8Array => {
  const changed = bytes.slice();
  for (let count = 1 + random.below(4); count > 0; count--)
    changed[start + random.below(end - start)] = random.below(256);
  return changed;
};

export const cut = (random: Random, bytes: Uint8Array): Uint8Array => bytes.slice(0, random.below(bytes.length));

export const grown = (random: Random, bytes: Uint8Array): Uint8Array =>
  new Uint8Array(Buffer.concat([bytes, new Uint8Array(1 + random.below(100))]));

/** A 64-bit number written at `at`. */
export const withNumber = (bytes: Uint8Array, at: number, value: bigint): Uint8Array => {
  const changed = bytes.slice();
  new DataView(changed.buffer).setBigUint64(at, value, true);
  return changed;
};
