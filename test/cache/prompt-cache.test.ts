import { describe, expect, test } from "bun:test";
import type { ColdTier } from "../../src-bun/cache/cold-tier.ts";
import { PromptCache } from "../../src-bun/cache/prompt-cache.ts";
import { type FakeKv, FakeKvBlocks, tokens } from "./fake-kv-blocks.ts";

const NS = "a";

/** A second tier that holds one sequence and fills memory by writing down how much. */
const coldWith = (kept: Uint32Array, damagedFrom = Number.POSITIVE_INFINITY): ColdTier & { asked: number[] } => {
  let good = kept.length;
  const asked: number[] = [];
  return {
    asked,
    longestDurablePrefix: (prompt) => {
      let length = 0;
      while (length < good && length < prompt.length && prompt[length] === kept[length]) length++;
      return length;
    },
    restore: async (_namespace, _tokens, length, allocate) => {
      asked.push(length);
      if (length > damagedFrom) {
        good = damagedFrom;
        return { kind: "miss", reason: "a block was damaged", goodTokens: damagedFrom };
      }
      allocate([]);
      return { kind: "hit", tokens: length };
    },
  };
};

const setUp = (cold: ColdTier | null = null, maxBytes = 1_000_000) => {
  const kv = new FakeKvBlocks();
  const cache = new PromptCache<FakeKv, number>({ maxBytes, kv, cold });
  /** One request: takes, computes the rest, puts back prompt and answer. */
  const ask = async (prompt: Uint32Array, answer: Uint32Array = tokens()) => {
    const take = await cache.take(prompt, NS, prompt.length);
    const all = Uint32Array.from([...prompt, ...answer]);
    kv.grow(take.kv, all.length);
    cache.put(take, all, prompt.length);
    return take;
  };
  return { kv, cache, ask };
};

describe("taking", () => {
  test("R6 nothing kept is cold", async () => {
    const { ask } = setUp();
    const { cachedTokens, reason } = await ask(tokens(1, 2, 3));
    expect(cachedTokens).toEqual({ ram: 0, ssd: 0 });
    expect(reason).toEqual({ kind: "cold" });
  });

  test("R1 an exact repeat reuses all but the last token", async () => {
    const { ask } = setUp();
    await ask(tokens(1, 2, 3, 4));
    const { cachedTokens, reason } = await ask(tokens(1, 2, 3, 4));
    expect(cachedTokens).toEqual({ ram: 3, ssd: 0 });
    expect(reason).toBeNull();
  });

  test("R3 a chat's next turn moves its tip and copies nothing", async () => {
    const { ask, kv } = setUp();
    const first = await ask(tokens(1, 2, 3), tokens(7, 8));
    const second = await ask(tokens(1, 2, 3, 7, 8, 9));
    expect(second.kv).toBe(first.kv);
    expect(second.cachedTokens).toEqual({ ram: 5, ssd: 0 });
    expect(kv.clones).toBe(0);
  });

  test("R3 R6 an answer that was tokenised differently keeps the prompt and says where they part", async () => {
    const { ask } = setUp();
    await ask(tokens(1, 2, 3), tokens(7, 8, 9));
    const { cachedTokens, reason } = await ask(tokens(1, 2, 3, 7, 88, 99, 5));
    expect(cachedTokens.ram).toBe(4);
    expect(reason).toEqual({ kind: "diverged", atToken: 4 });
  });

  test("R4 another chat with the same beginning gets a copy, and the first keeps its tip", async () => {
    const { ask, kv, cache } = setUp();
    const first = await ask(tokens(1, 2, 3, 4, 5, 6));
    const other = await ask(tokens(1, 2, 3, 40, 50));
    expect(other.kv).not.toBe(first.kv);
    expect(other.cachedTokens.ram).toBe(3);
    expect(kv.clones).toBe(1);
    expect(cache.tips).toBe(2);
    expect((await ask(tokens(1, 2, 3, 4, 5, 6, 7))).cachedTokens.ram).toBe(6);
  });

  test("R2 another namespace shares nothing", async () => {
    const { ask, cache, kv } = setUp();
    await ask(tokens(1, 2, 3));
    const take = await cache.take(tokens(1, 2, 3), "b", 3);
    expect(take.cachedTokens.ram).toBe(0);
    cache.release(take);
    expect(kv.live).toBe(1);
  });
});

describe("the second tier", () => {
  test("R1 restores what RAM does not hold", async () => {
    const { ask } = setUp(coldWith(tokens(1, 2, 3, 4)));
    const { cachedTokens } = await ask(tokens(1, 2, 3, 9));
    expect(cachedTokens).toEqual({ ram: 0, ssd: 3 });
  });

  test("R5 is not asked where RAM holds as much", async () => {
    const cold = coldWith(tokens(1, 2, 3));
    const { ask } = setUp(cold);
    await ask(tokens(1, 2, 3));
    cold.asked.length = 0;
    expect((await ask(tokens(1, 2, 3, 4))).cachedTokens).toEqual({ ram: 3, ssd: 0 });
    expect(cold.asked).toEqual([]);
  });

  test("R7 a damaged block costs what lies behind it, is named, and leaks nothing", async () => {
    const { ask, kv } = setUp(coldWith(tokens(1, 2, 3, 4, 5), 2));
    const { cachedTokens, reason } = await ask(tokens(1, 2, 3, 4, 5, 6));
    expect(cachedTokens).toEqual({ ram: 0, ssd: 2 });
    expect(reason).toEqual({ kind: "damaged-block", message: "a block was damaged" });
    expect(kv.live).toBe(1);
  });
});

describe("ownership", () => {
  test("memory for a restore that cannot begin is freed", async () => {
    const { cache, kv } = setUp({ ...coldWith(tokens(1, 2, 3)), restore: () => Promise.reject(new Error("no fit")) });
    await expect(cache.take(tokens(1, 2, 3), NS, 3)).rejects.toThrow("no fit");
    expect(kv.live).toBe(0);
  });

  test("R9 over budget the least recently used tip goes, and its memory with it", async () => {
    const { ask, cache, kv } = setUp(null, 10);
    await ask(tokens(1, 1, 1, 1, 1));
    await ask(tokens(2, 2, 2, 2, 2));
    await ask(tokens(3, 3, 3, 3, 3));
    expect(cache.tips).toBe(2);
    expect(cache.tipBytes).toBe(10);
    expect(kv.live).toBe(2);
    expect((await ask(tokens(1, 1, 1, 1, 1))).reason).toEqual({ kind: "cold" });
  });

  test("R8 a take ends exactly once", async () => {
    const { cache } = setUp();
    const take = await cache.take(tokens(1), NS, 1);
    cache.release(take);
    expect(() => cache.release(take)).toThrow("twice");
  });

  test("R10 an empty sequence is refused", async () => {
    const { cache } = setUp();
    const take = await cache.take(tokens(1), NS, 1);
    expect(() => cache.put(take, tokens(), 0)).toThrow(RangeError);
  });

  test("clearing frees every tip", async () => {
    const { ask, cache, kv } = setUp();
    await ask(tokens(1, 2));
    await ask(tokens(3, 4));
    cache.clear();
    expect(kv.live).toBe(0);
  });
});
