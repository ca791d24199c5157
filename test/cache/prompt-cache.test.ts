import { describe, expect, test } from "bun:test";
import { commonPrefix } from "../../src-bun/base/common-prefix.ts";
import type { ColdTier } from "../../src-bun/cache/cold-tier.ts";
import { tokens } from "./fake-kv-blocks.ts";
import { NS, setUp } from "./kept-cache.ts";

type Fault = { readonly from: number; readonly isDamage: boolean };

/** A second tier that holds one sequence and fills memory by writing down how much. */
const coldWith = (kept: Uint32Array, fault: Fault | null = null): ColdTier & { asked: number[] } => {
  let good = kept.length;
  const asked: number[] = [];
  const longest = (prompt: Uint32Array): number => commonPrefix(prompt, kept.subarray(0, good));
  return {
    asked,
    longestDurablePrefix: longest,
    continuesDifferently: (prompt) => longest(prompt) > 0 && longest(prompt) < Math.min(prompt.length, good),
    restore: async (_namespace, _tokens, length, allocate) => {
      asked.push(length);
      if (fault !== null && length > fault.from) {
        if (fault.isDamage) good = fault.from;
        return { kind: "miss", reason: "it went wrong", isDamage: fault.isDamage, goodTokens: fault.from };
      }
      allocate([]);
      return { kind: "hit", tokens: length };
    },
  };
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

  test("R3 a chat's next turn moves its tip and copies nothing while the tip has room", async () => {
    const { ask, kv } = setUp();
    const first = await ask(tokens(1, 2, 3), tokens(7, 8), 16);
    const second = await ask(tokens(1, 2, 3, 7, 8, 9));
    expect(second.kv).toBe(first.kv);
    expect(second.cachedTokens).toEqual({ ram: 5, ssd: 0 });
    expect(kv.clones).toBe(0);
    expect(kv.growths).toBe(0);
  });

  test("R3 a tip without room for the next turn grows once, in the take", async () => {
    const { cache, kv, ask } = setUp();
    await ask(tokens(1, 2, 3));
    const prompt = tokens(1, 2, 3, 4, 5);
    const take = await cache.take(prompt, NS, 9);
    expect(take.kv.capacity).toBe(9);
    expect(kv.growths).toBe(1);
    kv.compute(take.kv, tokens(1, 2, 3, 4, 5, 6, 7, 8, 9));
    expect(kv.growths).toBe(1);
    cache.release(take);
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

  test("R4 what a running request has computed of its prompt is found, and copied", async () => {
    const { cache, kv } = setUp();
    const running = await cache.take(tokens(1, 2, 3, 4, 5, 6), NS, 20);
    kv.compute(running.kv, tokens(1, 2, 3, 4));
    const other = await cache.take(tokens(1, 2, 3, 4, 5, 9), NS, 6);
    expect(other.cachedTokens.ram).toBe(4);
    expect(other.kv.content).toEqual(tokens(1, 2, 3, 4));
    cache.release(other);
    cache.release(running);
    expect(kv.bytesAlive).toBe(0);
  });

  test("R2 another namespace shares nothing", async () => {
    const { ask, cache, kv } = setUp();
    await ask(tokens(1, 2, 3));
    const take = await cache.take(tokens(1, 2, 3), "b", 3);
    expect(take.cachedTokens.ram).toBe(0);
    cache.release(take);
    expect(kv.live.size).toBe(1);
  });
});

describe("the second tier", () => {
  test("R1 restores what RAM does not hold", async () => {
    const { ask } = setUp({ cold: coldWith(tokens(1, 2, 3, 4)) });
    const { cachedTokens } = await ask(tokens(1, 2, 3, 9));
    expect(cachedTokens).toEqual({ ram: 0, ssd: 3 });
  });

  test("R5 is not asked where RAM holds as much", async () => {
    const cold = coldWith(tokens(1, 2, 3));
    const { ask } = setUp({ cold });
    await ask(tokens(1, 2, 3));
    cold.asked.length = 0;
    expect((await ask(tokens(1, 2, 3, 4))).cachedTokens).toEqual({ ram: 3, ssd: 0 });
    expect(cold.asked).toEqual([]);
  });

  test("R6 a prompt that parts within what only the SSD holds is told at which token", async () => {
    const { ask } = setUp({ cold: coldWith(tokens(1, 2, 3, 4, 5)) });
    const { cachedTokens, reason } = await ask(tokens(1, 2, 3, 40, 50));
    expect(cachedTokens.ssd).toBe(3);
    expect(reason).toEqual({ kind: "diverged", atToken: 3 });
  });

  test("R6 a tip that parts earlier than the SSD's prefix ends is no reason", async () => {
    const { ask } = setUp({ cold: coldWith(tokens(1, 2, 3, 4)) });
    await ask(tokens(1, 2, 30, 40, 50));
    const { cachedTokens, reason } = await ask(tokens(1, 2, 3, 4, 5, 6));
    expect(cachedTokens.ssd).toBe(4);
    expect(reason).toBeNull();
  });

  test("R7 a damaged block costs what lies behind it, is named, and leaks nothing", async () => {
    const { ask, kv } = setUp({ cold: coldWith(tokens(1, 2, 3, 4, 5), { from: 2, isDamage: true }) });
    const { cachedTokens, reason } = await ask(tokens(1, 2, 3, 4, 5, 6));
    expect(cachedTokens).toEqual({ ram: 0, ssd: 2 });
    expect(reason).toEqual({ kind: "damaged-block", message: "it went wrong" });
    expect(kv.live.size).toBe(1);
  });

  test("R7 a restore that fails for another cause is tried twice and not called damage", async () => {
    const cold = coldWith(tokens(1, 2, 3, 4, 5), { from: 0, isDamage: false });
    const { ask, kv } = setUp({ cold });
    const { cachedTokens, reason } = await ask(tokens(1, 2, 3, 4, 5, 6));
    expect(cold.asked).toEqual([5, 5]);
    expect(cachedTokens).toEqual({ ram: 0, ssd: 0 });
    expect(reason).toEqual({ kind: "restore-failed", message: "it went wrong" });
    expect(kv.live.size).toBe(1);
  });

  test("R18 a restored prefix is found by others at once and stays when its request has ended", async () => {
    const cold = coldWith(tokens(1, 2, 3, 4));
    const { cache, ask } = setUp({ cold });
    const first = await cache.take(tokens(1, 2, 3, 4, 5), NS, 5);
    const other = await cache.take(tokens(1, 2, 3, 4, 6), NS, 5);
    expect(other.cachedTokens).toEqual({ ram: 4, ssd: 0 });
    cache.release(other);
    cache.put(first, tokens(1, 2, 3, 4), 4);
    expect((await ask(tokens(1, 2, 3, 4, 7))).cachedTokens).toEqual({ ram: 4, ssd: 0 });
    expect(cold.asked).toEqual([4]);
  });
});

describe("ownership", () => {
  test("memory for a restore that cannot begin is freed", async () => {
    const cold = { ...coldWith(tokens(1, 2, 3)), restore: () => Promise.reject(new Error("no fit")) };
    const { cache, kv } = setUp({ cold });
    await expect(cache.take(tokens(1, 2, 3), NS, 3)).rejects.toThrow("no fit");
    expect(kv.live.size).toBe(0);
    expect(cache.liveBytes).toBe(0);
  });

  test("R8 a take ends exactly once", async () => {
    const { cache } = setUp();
    const take = await cache.take(tokens(1), NS, 1);
    cache.release(take);
    expect(() => cache.release(take)).toThrow("twice");
  });

  test("R8 a put that threw says why, and the release after it does nothing", async () => {
    const { cache, kv } = setUp({ maxBytes: 12 });
    const take = await cache.take(tokens(1, 2, 3), NS, 16);
    kv.takeApart = (live) => {
      kv.dispose(live);
      throw new Error("no memory for the cut");
    };
    kv.compute(take.kv, tokens(1, 2, 3, 4));
    expect(() => cache.put(take, tokens(1, 2, 3, 4), 3)).toThrow("no memory for the cut");
    cache.release(take);
    expect(kv.bytesAlive).toBe(0);
    expect([cache.tips, cache.liveBytes]).toEqual([0, 0]);
  });

  test("R10 an empty sequence is refused", async () => {
    const { cache } = setUp();
    const take = await cache.take(tokens(1), NS, 1);
    expect(() => cache.put(take, tokens(), 0)).toThrow(RangeError);
    cache.release(take);
  });

  test("clearing frees tips and blocks", async () => {
    const { ask, cache, kv, retire } = setUp();
    await ask(tokens(1, 2), tokens(), 16);
    retire();
    await ask(tokens(3, 4));
    expect([cache.tips, cache.blocks]).toEqual([1, 1]);
    cache.clear();
    expect(kv.bytesAlive).toBe(0);
  });
});
