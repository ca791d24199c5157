import { MAX_BLOCK_TOKENS } from "../storage/ssd-cache.ts";

/** Tokens from `start` up to, and without, `end`. */
export type TokenSpan = { readonly start: number; readonly end: number };

/** The blocks that tokens `start` to `end` are cut into. */
export const blockSpans = (start: number, end: number): TokenSpan[] =>
  Array.from({ length: Math.ceil(Math.max(0, end - start) / MAX_BLOCK_TOKENS) }, (_, index) => {
    const from = start + index * MAX_BLOCK_TOKENS;
    return { start: from, end: Math.min(end, from + MAX_BLOCK_TOKENS) };
  });
