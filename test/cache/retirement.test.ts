// What the budget does to tips, and what becomes of them.
import { describe, expect, test } from "bun:test";
import { LruRetention } from "../../src-bun/cache/lru-retention.ts";
import { PromptCache } from "../../src-bun/cache/prompt-cache.ts";
import { type FakeBlock, type FakeKv, FakeKvBlocks, joined, tokens } from "./fake-kv-blocks.ts";
import { NS, setUp } from "./kept-cache.ts";

/** Token ids that no other `from` shares. */
const run = (from: number, length: number): Uint32Array => Uint32Array.from({ length }, (_, index) => from + index);

describe("the budget", () => {
  test("R9 over budget the least recently used goes, and its memory with it", async () => {
    const { ask, cache, kv } = setUp({ maxBytes: 10 });
    await ask(tokens(1, 1, 1, 1, 1));
    await ask(tokens(2, 2, 2, 2, 2));
    await ask(tokens(3, 3, 3, 3, 3));
    expect(cache.tips).toBe(2);
    expect(cache.tipBytes).toBe(10);
    expect(kv.bytesAlive).toBe(10);
  });

  test("R6 a prompt whose tokens had to go is told so", async () => {
    const { ask } = setUp({ maxBytes: 10 });
    await ask(tokens(1, 1, 1, 1, 1));
    await ask(tokens(2, 2, 2, 2, 2));
    await ask(tokens(3, 3, 3, 3, 3));
    expect((await ask(tokens(1, 1, 1, 1, 1))).reason).toEqual({ kind: "evicted" });
  });

  test("R9 what runs counts too: room is made before memory is taken", async () => {
    const { ask, cache, kv } = setUp({ maxBytes: 20 });
    await ask(tokens(1, 1, 1, 1, 1));
    await ask(tokens(2, 2, 2, 2, 2));
    const take = await cache.take(tokens(3, 3, 3), NS, 12);
    expect(kv.bytesAlive).toBeLessThanOrEqual(20);
    expect([cache.tips, cache.liveBytes]).toEqual([1, 12]);
    cache.release(take);
  });

  test("R9 a smaller budget takes effect at once and gives the memory back", async () => {
    const { ask, cache, kv } = setUp();
    await ask(tokens(1, 2, 3, 4));
    await ask(tokens(5, 6, 7, 8));
    cache.maxBytes = 4;
    expect(kv.bytesAlive).toBe(4);
    expect(kv.reclaims).toBe(1);
  });

  test("R19 a side request goes before an older chat", async () => {
    const { ask, kv, cache } = setUp({ maxBytes: 700 });
    await ask(run(0, 500));
    await ask(run(5000, 150));
    await ask(run(9000, 200));
    expect([...kv.live].map(({ content }) => content.length)).toEqual([500, 200]);
    expect(cache.tips).toBe(2);
  });

  test("R20 a unit that may not be evicted stays", async () => {
    class Careful extends PromptCache<FakeKv, FakeBlock> {
      protected override canEvict(): boolean {
        return false;
      }
    }
    const kv = new FakeKvBlocks();
    const cache = new Careful({ maxBytes: 3, policy: new LruRetention(), kv, cold: null, now: () => 0 });
    for (const prompt of [tokens(1, 2, 3), tokens(4, 5, 6)]) {
      const take = await cache.take(prompt, NS, 3);
      kv.compute(take.kv, prompt);
      cache.put(take, prompt, 3);
    }
    expect(cache.tips).toBe(2);
  });
});

describe("retirement", () => {
  test("R21 a tip that leaves becomes blocks of at most 256 tokens and gives its room ahead back", async () => {
    const { ask, cache, kv } = setUp({ maxBytes: 1000 });
    await ask(run(0, 600), tokens(), 900);
    await ask(run(5000, 300));
    expect(kv.cuts.map(({ start, end }) => end - start)).toEqual([256, 256, 88]);
    expect([cache.tips, cache.blocks, cache.blockBytes]).toEqual([1, 3, 600]);
    expect((await ask(run(0, 700))).cachedTokens.ram).toBe(600);
  });

  test("R21 what does not fit goes from the end, a block at a time", async () => {
    const { ask, cache } = setUp({ maxBytes: 1000 });
    await ask(run(0, 600), tokens(), 900);
    await ask(run(5000, 480));
    expect([cache.blocks, cache.blockBytes]).toEqual([2, 512]);
    await ask(run(9000, 200), tokens(), 240);
    const { cachedTokens, reason } = await ask(run(0, 300), tokens(), 300);
    expect(cachedTokens.ram).toBe(256);
    expect(reason).toEqual({ kind: "evicted" });
  });

  test("R4 a tip too large to stand beside a copy of it retires first", async () => {
    const { ask, cache, kv } = setUp({ maxBytes: 1200 });
    await ask(run(0, 600), tokens(), 700);
    const fork = await cache.take(joined(run(0, 512), run(9000, 50)), NS, 620);
    expect(kv.clones).toBe(0);
    expect(fork.kv.content).toEqual(run(0, 512));
    expect([cache.tips, cache.heldBytes, kv.bytesAlive]).toEqual([0, 512, 1132]);
    cache.release(fork);
  });

  test("R22 chats that share a beginning hold it once when their tips have retired", async () => {
    const { ask, cache, retire } = setUp();
    const shared = run(0, 1500);
    for (let chat = 0; chat < 20; chat++) {
      await ask(joined(shared, run(10_000 * (chat + 1), 100)), tokens(), 2000);
    }
    retire();
    expect(cache.tips).toBe(0);
    expect(cache.blockBytes).toBe(1500 + 20 * 100);
  });

  test("R22 a tip that is a prefix of another goes at once, and nothing is lost", async () => {
    const { cache, kv, ask } = setUp();
    const open = await cache.take(run(0, 9), NS, 9);
    await ask(run(0, 5));
    kv.compute(open.kv, run(0, 9));
    cache.put(open, run(0, 9), 9);
    expect(cache.tips).toBe(1);
    expect((await ask(run(0, 9))).reason).toBeNull();
  });
});

describe("joining", () => {
  test("R23 the chat's next turn moves the blocks that nobody else needs", async () => {
    const { ask, cache, kv, retire } = setUp();
    await ask(run(0, 600), tokens(), 900);
    retire();
    const take = await cache.take(run(0, 650), NS, 700);
    expect(take.kv.content).toEqual(run(0, 600));
    expect(kv.joins[0]?.every(({ isMoved }) => isMoved)).toBe(true);
    expect([cache.blocks, cache.heldBytes]).toEqual([0, 0]);
    cache.release(take);
    expect(kv.bytesAlive).toBe(0);
  });

  test("R23 shared blocks are copied, and held until the request ends", async () => {
    const { ask, cache, kv, retire } = setUp();
    const shared = run(0, 300);
    await ask(joined(shared, run(1000, 100)), tokens(), 500);
    await ask(joined(shared, run(2000, 100)), tokens(), 500);
    retire();
    const take = await cache.take(joined(shared, run(1000, 100), run(3000, 10)), NS, 500);
    expect(take.cachedTokens.ram).toBe(400);
    cache.maxBytes = 0;
    expect(kv.blocks.size).toBeGreaterThan(0);
    expect(cache.heldBytes).toBe([...kv.blocks].reduce((sum, { start, end }) => sum + end - start, 0));
    cache.release(take);
    cache.maxBytes = 0;
    expect(kv.bytesAlive).toBe(0);
  });

  test("R23 a block that another request holds is not moved", async () => {
    const { ask, cache, kv, retire } = setUp();
    await ask(run(0, 300), tokens(), 500);
    retire();
    const fork = await cache.take(joined(run(0, 256), run(900, 10)), NS, 500);
    expect(cache.heldBytes).toBe(256);
    const next = await cache.take(run(0, 310), NS, 500);
    expect(kv.joins[1]?.map(({ isMoved }) => isMoved)).toEqual([false, true]);
    expect(cache.heldBytes).toBe(256);
    cache.release(next);
    cache.release(fork);
    expect(cache.heldBytes).toBe(0);
  });

  test("R23 a fork within a block rewrites nothing, and both are exact to the token", async () => {
    const { ask, cache, kv, retire } = setUp();
    await ask(run(0, 200), tokens(), 300);
    retire();
    const fork = joined(run(0, 120), run(7000, 50));
    expect((await ask(fork, tokens(), 300)).cachedTokens.ram).toBe(120);
    retire();
    expect(kv.cuts).toEqual([
      { start: 0, end: 200 },
      { start: 120, end: 170 },
    ]);
    const again = await cache.take(joined(fork, tokens(1)), NS, 300);
    expect(again.kv.content).toEqual(fork);
    cache.release(again);
    const first = await cache.take(run(0, 210), NS, 300);
    expect(first.kv.content).toEqual(run(0, 200));
    cache.release(first);
  });
});
