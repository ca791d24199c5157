import { expect, test } from "bun:test";
import { CODE_LIFETIME_MS, openPageCodes } from "../../src-bun/host/page-codes.ts";

test("a code is good once, for ten minutes, and has 256 bits", () => {
  let now = 0;
  const codes = openPageCodes(() => now);
  const [first, second, third] = [codes.create(), codes.create(), codes.create()];
  expect(first).toMatch(/^[A-Za-z0-9_-]{43}$/);
  expect(codes.redeem(first)).toBe(true);
  expect(codes.redeem(first)).toBe(false);
  expect(codes.redeem("")).toBe(false);
  now = CODE_LIFETIME_MS - 1;
  expect(codes.redeem(second)).toBe(true);
  now = CODE_LIFETIME_MS;
  expect(codes.redeem(third)).toBe(false);
});
