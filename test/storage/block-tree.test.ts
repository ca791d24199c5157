import { expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import fc from "fast-check";
import { BlockTree } from "../../src-bun/storage/block-tree.ts";
import { KeyChain } from "../../src-bun/storage/key-chain.ts";

/** Adds what the tree does not hold yet, in blocks of at most `size`, as the store does. */
const add = (tree: BlockTree<null>, tokens: Uint32Array, size: number): void => {
  const found = tree.find(tokens);
  let parent = found.path.at(-1)?.block ?? null;
  for (let start = found.length; start < tokens.length; start += size) {
    const end = Math.min(tokens.length, start + size);
    const block = {
      key: tokens.slice(0, end).join(),
      parent,
      start,
      end,
      tokens: tokens.slice(start, end),
      value: null,
    };
    parent = tree.insert(block);
    expect(parent).not.toBeNull();
  }
};

const common = (one: Uint32Array, other: Uint32Array): number => {
  let length = 0;
  while (length < Math.min(one.length, other.length) && one[length] === other[length]) length += 1;
  return length;
};

/** Few different tokens, so that prompts share beginnings; some ids use all 32 bits. */
const prompt = fc
  .array(fc.constantFrom(0, 1, 0xffff_ffff), { maxLength: 24 })
  .map((tokens) => Uint32Array.from(tokens));

test("the longest prefix is what a scan of all prompts finds, and the path holds its tokens", () => {
  fc.assert(
    fc.property(fc.array(prompt, { maxLength: 12 }), prompt, fc.integer({ min: 1, max: 9 }), (kept, asked, size) => {
      const tree = new BlockTree<null>();
      for (const tokens of kept) add(tree, tokens, size);
      const found = tree.find(asked);
      expect(found.length).toBe(Math.max(0, ...kept.map((tokens) => common(tokens, asked))));
      const parts = found.path.flatMap(({ block, upTo }, index) => {
        const next = found.path[index + 1]?.block.start ?? upTo;
        return [...block.tokens.subarray(0, next - block.start)];
      });
      expect(parts).toEqual([...asked.subarray(0, found.length)]);
    }),
    { numRuns: 500, seed: 11 },
  );
});

test("a prompt parts from what is stored where some stored prompt goes on with other tokens", () => {
  fc.assert(
    fc.property(fc.array(prompt, { maxLength: 12 }), prompt, fc.integer({ min: 1, max: 9 }), (kept, asked, size) => {
      const tree = new BlockTree<null>();
      for (const tokens of kept) add(tree, tokens, size);
      const { length } = tree.find(asked);
      const goesOn = kept.some((tokens) => tokens.length > length && common(tokens, asked) === length);
      expect(tree.continuesDifferently(asked)).toBe(length > 0 && length < asked.length && goesOn);
    }),
    { numRuns: 500, seed: 12 },
  );
});

test("a leaf is a block that no other continues", () => {
  const tree = new BlockTree<null>();
  add(tree, Uint32Array.of(1, 2, 3, 4), 2);
  expect([tree.isLeaf("1,2"), tree.isLeaf("1,2,3,4"), tree.isLeaf("9")]).toEqual([false, true, false]);
  tree.remove("1,2,3,4");
  expect(tree.isLeaf("1,2")).toBe(true);
});

test("a block that is removed takes along what continues it and nothing else", () => {
  fc.assert(
    fc.property(fc.array(prompt, { minLength: 1, maxLength: 10 }), fc.nat(), (kept, pick) => {
      const tree = new BlockTree<null>();
      for (const tokens of kept) add(tree, tokens, 3);
      const asked = kept[pick % kept.length] ?? new Uint32Array(0);
      const path = tree.find(asked).path;
      const part = path[pick % Math.max(1, path.length)];
      if (part === undefined) return;
      const before = tree.size;
      const below = kept.map((tokens) => tree.find(tokens));
      expect(tree.remove(part.block.key)).toBe(before - tree.size);
      expect(tree.find(asked).length).toBe(part.block.start);
      for (const [index, tokens] of kept.entries()) {
        const was = below[index];
        if (was?.path.some(({ block }) => block.key === part.block.key) === true) continue;
        expect(tree.find(tokens).length).toBe(was?.length ?? 0);
      }
    }),
    { numRuns: 500, seed: 12 },
  );
});

test("a block for tokens that are held already is not taken", () => {
  const tree = new BlockTree<null>();
  add(tree, Uint32Array.of(1, 2, 3), 2);
  const block = { key: "other", parent: null, start: 0, end: 1, tokens: Uint32Array.of(1), value: null };
  expect(tree.insert(block)).toBeNull();
  expect(tree.size).toBe(2);
});

test("a key is the HMAC-SHA-256 over all tokens from 0, however they were cut", () => {
  const key = "0f".repeat(32);
  const tokens = Uint32Array.of(7, 0xffff_ffff, 9, 10);
  const hmac = (upTo: number) =>
    createHmac("sha256", Buffer.from(key, "hex"))
      .update(Buffer.from(tokens.slice(0, upTo).buffer))
      .digest("hex");
  const chain = new KeyChain(key, tokens);
  expect(chain.key(1)).toBe(hmac(1));
  expect(chain.key(1, tokens.subarray(1, 3))).toBe(hmac(3));
  expect(chain.key(4)).toBe(hmac(4));
});
