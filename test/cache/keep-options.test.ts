// What a request may ask for its entry: not to be kept, for how long, to stay, and under whose name.
import { describe, expect, test } from "bun:test";
import { LruRetention } from "../../src-bun/cache/lru-retention.ts";
import { PromptCache } from "../../src-bun/cache/prompt-cache.ts";
import { type FakeBlock, type FakeKv, FakeKvBlocks, tokens } from "./fake-kv-blocks.ts";
import { NS, setUp } from "./kept-cache.ts";

const run = (first: number, length: number): Uint32Array => Uint32Array.from({ length }, (_, index) => first + index);

describe("no-store", () => {
  test("R24 the chat's own next turn moves the tip", async () => {
    const { ask, kv } = setUp();
    const first = await ask(tokens(1, 2, 3), tokens(7), 16, { noStore: true });
    const second = await ask(tokens(1, 2, 3, 7, 8), tokens(), 16, { noStore: true });
    expect(second.kv).toBe(first.kv);
    expect(second.cachedTokens.ram).toBe(4);
    expect(kv.clones).toBe(0);
  });

  test("R24 any other prompt gets nothing of it and is told why", async () => {
    const { ask, cache } = setUp();
    await ask(tokens(1, 2, 3, 4, 5), tokens(), 5, { noStore: true });
    const other = await ask(tokens(1, 2, 3, 40));
    expect(other.cachedTokens.ram).toBe(0);
    expect(other.reason).toEqual({ kind: "do-not-keep" });
    expect((await ask(tokens(9))).reason).toEqual({ kind: "cold" });
    expect(cache.tips).toBe(3);
  });

  test("R24 what runs is found by nobody else", async () => {
    const { cache, kv } = setUp();
    const own = await cache.take(tokens(1, 2, 3), NS, 3, true);
    kv.compute(own.kv, tokens(1, 2, 3));
    const other = await cache.take(tokens(1, 2, 3, 4), NS, 4);
    expect(other.cachedTokens.ram).toBe(0);
    expect(other.reason).toEqual({ kind: "do-not-keep" });
    cache.release(other);
    cache.put(own, tokens(1, 2, 3), 3);
    expect((await cache.take(tokens(1, 60, 50), NS, 3)).reason).toEqual({ kind: "do-not-keep" });
    expect((await cache.take(tokens(1, 2, 50), NS, 3)).cachedTokens.ram).toBe(2);
  });

  test("R24 it goes on from what anybody left, and goes whole, with no block and no memory of it", async () => {
    const { ask, cache, kv } = setUp();
    await ask(run(1, 300));
    const own = await ask(tokens(...run(1, 290), 7, 8), tokens(), 300, { noStore: true });
    expect(own.cachedTokens.ram).toBe(290);
    const cutBefore = kv.cuts.length;
    cache.maxBytes = 0;
    expect([cache.tips, cache.blocks, kv.bytesAlive]).toEqual([0, 0, 0]);
    expect(kv.cuts).toHaveLength(cutBefore);
    cache.maxBytes = 1000;
    const again = await ask(tokens(...run(1, 290), 7, 8));
    expect(again.reason).toEqual({ kind: "evicted" });
    expect((await ask(tokens(5), tokens(6), 2, { noStore: true })).reason).toEqual({ kind: "cold" });
    cache.maxBytes = 0;
    cache.maxBytes = 1000;
    expect((await ask(tokens(5, 6))).reason).toEqual({ kind: "cold" });
  });
});

describe("a time to live", () => {
  test("R25 counts from the put, and what is over time is given to nobody", async () => {
    const { ask, clock, cache, kv } = setUp();
    await ask(tokens(1, 2, 3), tokens(), 3, { ttlMs: 100 });
    clock.nowMs = 99;
    expect((await ask(tokens(1, 2, 4), tokens(), 3, { ttlMs: 100 })).cachedTokens.ram).toBe(2);
    clock.nowMs = 100;
    const inTime = await cache.take(tokens(1, 2, 3), NS, 3);
    expect(inTime.cachedTokens.ram).toBe(2);
    cache.release(inTime);
    await ask(tokens(1, 2, 4), tokens(), 3, { ttlMs: 99 });
    clock.nowMs = 199;
    const late = await cache.take(tokens(1, 2, 4), NS, 3);
    expect(late.cachedTokens.ram).toBe(0);
    expect(late.reason).toEqual({ kind: "cold" });
    expect(cache.tips).toBe(0);
    expect(kv.reclaims).toBeGreaterThan(0);
  });

  test("R25 a check gives the memory back when nobody asks", async () => {
    const { ask, clock, cache, kv } = setUp();
    await ask(run(1, 600), tokens(), 700, { ttlMs: 10 });
    await ask(run(5000, 10));
    clock.nowMs = 9;
    cache.expire();
    expect(cache.tips).toBe(2);
    clock.nowMs = 10;
    cache.expire();
    expect([cache.tips, kv.bytesAlive]).toEqual([1, 10]);
  });

  test("R25 blocks go with their entry, but not those that a longer-lived one needs, nor held ones", async () => {
    const { ask, clock, cache, kv, retire } = setUp();
    await ask(run(1, 600), tokens(), 700, { ttlMs: 10 });
    retire();
    expect(cache.blocks).toBe(3);
    await ask(tokens(...run(1, 300), ...run(7000, 50)), tokens(), 500, { ttlMs: 1000 });
    retire();
    const take = await cache.take(tokens(...run(1, 600), 3), NS, 700);
    expect(take.cachedTokens.ram).toBe(600);
    clock.nowMs = 10;
    cache.expire();
    cache.release(take);
    cache.expire();
    expect((await cache.take(tokens(...run(1, 300), ...run(7000, 50)), NS, 400)).cachedTokens.ram).toBe(349);
    expect(cache.blocks).toBeGreaterThan(0);
    clock.nowMs = 2000;
    cache.clear();
    expect(kv.blocks.size).toBe(0);
  });
});

describe("a pin", () => {
  test("R26 keeps an entry when all else goes, whatever its chat's next turns do", async () => {
    const { ask, cache } = setUp({ maxBytes: 2000 });
    expect((await ask(run(1, 600), tokens(), 700, { pin: true })).isPinned).toBe(true);
    for (let other = 1; other < 8; other++) await ask(run(other * 10_000, 500));
    cache.maxBytes = 10;
    expect([cache.tips, cache.blocks, cache.pinnedBytes]).toEqual([1, 0, 700]);
    cache.maxBytes = 2000;
    expect((await ask(tokens(...run(1, 600), 5))).cachedTokens.ram).toBe(600);
    cache.maxBytes = 10;
    expect([cache.tips, cache.blocks, cache.pinnedBytes]).toEqual([1, 0, 700]);
    expect((await cache.take(tokens(...run(1, 600), 6), NS, 601)).cachedTokens.ram).toBe(600);
  });

  test("R26 a turn that fails takes nothing with it", async () => {
    const { ask, cache } = setUp();
    const first = await ask(tokens(1, 2, 3), tokens(), 16, { pin: true });
    const next = await cache.take(tokens(1, 2, 3, 4), NS, 16);
    expect(next.kv).not.toBe(first.kv);
    cache.release(next);
    expect(cache.tips).toBe(1);
    expect((await cache.take(tokens(1, 2, 3, 4), NS, 16)).cachedTokens.ram).toBe(3);
  });

  test("R26 where tip and copy do not fit, the pinned blocks are copied and stay", async () => {
    const { ask, cache, kv } = setUp({ maxBytes: 1000 });
    await ask(run(1, 600), tokens(), 700, { pin: true });
    const take = await cache.take(tokens(...run(1, 600), 5), NS, 650);
    expect(take.cachedTokens.ram).toBe(600);
    expect(kv.joins.at(-1)?.every(({ isMoved }) => !isMoved)).toBe(true);
    cache.release(take);
    expect([cache.tips, cache.blocks, cache.pinnedBytes]).toEqual([0, 3, 600]);
  });

  test("R26 is refused above 80 % of the budget, counting one that it replaces once", async () => {
    const { ask, cache } = setUp({ maxBytes: 100 });
    expect((await ask(run(1, 50), tokens(), 50, { pin: true })).isPinned).toBe(true);
    expect((await ask(run(500, 31), tokens(), 31, { pin: true })).isPinned).toBe(false);
    expect((await ask(run(600, 30), tokens(), 30, { pin: true })).isPinned).toBe(true);
    expect(cache.pinnedBytes).toBe(80);
    cache.maxBytes = 1000;
    expect((await ask(run(1, 60), tokens(), 60, { pin: true })).isPinned).toBe(true);
    expect(cache.pinnedBytes).toBe(90);
  });

  test("R26 outlasts a time to live, and ends with a clear", async () => {
    const { ask, cache, clock, kv } = setUp();
    await ask(tokens(1, 2, 3), tokens(), 3, { pin: true, ttlMs: 5 });
    clock.nowMs = 10;
    cache.expire();
    expect(cache.tips).toBe(1);
    cache.clear();
    expect([cache.pinnedBytes, kv.bytesAlive]).toEqual([0, 0]);
  });
});

test("R27 bytes are counted by label, shared blocks for the first", async () => {
  const { ask, cache, retire } = setUp();
  await ask(run(1, 256), tokens(), 300, { label: "agent" });
  retire();
  await ask(tokens(...run(1, 256), 5), tokens(), 300, { label: "chat" });
  await ask(tokens(9, 9), tokens(), 2);
  expect(Object.fromEntries(cache.bytesByLabel)).toEqual({ chat: 300, null: 2 });
  await ask(tokens(...run(1, 100), ...run(6000, 300)), tokens(), 500, { label: "agent" });
  retire();
  expect(Object.fromEntries(cache.bytesByLabel)).toMatchObject({ agent: 400, chat: 157 });
  expect([...cache.bytesByLabel.values()].reduce((sum, bytes) => sum + bytes, 0)).toBe(
    cache.tipBytes + cache.blockBytes,
  );
});

test("R28 a shorter-lived, unpinned or no-store tip does not replace a prompt's own", async () => {
  const { ask, cache } = setUp();
  await ask(tokens(1, 2, 3), tokens(), 3, { pin: true });
  for (const options of [{}, { ttlMs: 5 }, { noStore: true }]) {
    await ask(tokens(1, 2, 3, 4), tokens(), 4, options);
    expect((await cache.take(tokens(1, 2, 3), NS, 3)).cachedTokens.ram).toBe(2);
    expect(cache.pinnedBytes).toBe(3);
  }
});

describe("hooks of a cache above this one", () => {
  const cold = {
    longestDurablePrefix: () => 3,
    continuesDifferently: () => false,
    restore: async () => ({ kind: "hit", tokens: 3 }) as const,
  };
  class Passing extends PromptCache<FakeKv, FakeBlock> {
    protected override get promoteRestores(): boolean {
      return false;
    }
  }

  test("R18 what it does not promote is found by nobody and gone when its request ends", async () => {
    for (const Kind of [PromptCache<FakeKv, FakeBlock>, Passing]) {
      const kv = new FakeKvBlocks();
      const cache = new Kind({ maxBytes: 100, policy: new LruRetention(), kv, cold, now: () => 0 });
      const isPromoted = Kind !== Passing;
      const take = await cache.take(tokens(1, 2, 3, 4), NS, 4);
      kv.compute(take.kv, tokens(1, 2, 3, 4));
      const other = await cache.take(tokens(1, 2, 3, 4, 5), NS, 5);
      expect(other.cachedTokens).toEqual(isPromoted ? { ram: 4, ssd: 0 } : { ram: 0, ssd: 3 });
      cache.release(other);
      cache.put(take, tokens(1, 2, 3, 4), 4);
      expect([cache.tips, kv.live.size]).toEqual(isPromoted ? [1, 1] : [0, 0]);
    }
  });

  test("R9 another policy is told of what is kept, in the order of its use", async () => {
    const { ask, cache } = setUp({ maxBytes: 100 });
    for (const first of [10, 20, 30]) await ask(run(first, 3));
    await ask(run(10, 3));
    const heard: number[] = [];
    const lru = new LruRetention();
    cache.policy = {
      name: "listening",
      accessed: ({ lastUsed }) => heard.push(lastUsed),
      victim: (entries) => lru.victim(entries),
      evicted: () => undefined,
    };
    expect(heard).toHaveLength(3);
    expect(heard).toEqual(heard.toSorted((a, b) => a - b));
  });
});
