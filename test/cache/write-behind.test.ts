import { describe, expect, test } from "bun:test";
import { commonPrefix } from "../../src-bun/base/common-prefix.ts";
import { type DurableStore, WriteBehind } from "../../src-bun/cache/write-behind.ts";
import { type FakeBlock, type FakeKv, FakeKvBlocks, tokens } from "./fake-kv-blocks.ts";

type Save = { readonly spans: { start: number; end: number }[]; settle(outcome: boolean | Error): void };

/** A store whose saves end when the test says so. */
class SlowStore implements DurableStore {
  durable = tokens();
  health: DurableStore["health"] = { kind: "up" };
  readonly saves: Save[] = [];

  longestDurablePrefix(prompt: Uint32Array): number {
    return commonPrefix(prompt, this.durable);
  }

  storeAsync(all: Uint32Array, blocks: readonly { start: number; end: number }[]): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const settle = (outcome: boolean | Error): void => {
        if (outcome === true) this.durable = all;
        if (outcome instanceof Error) reject(outcome);
        else resolve(outcome);
      };
      this.saves.push({ spans: blocks.map(({ start, end }) => ({ start, end })), settle });
    });
  }
}

const setUp = (maxBytes = 1_000_000) => {
  const kv = new FakeKvBlocks();
  const store = new SlowStore();
  const faults: (string | null)[] = [];
  const onFault = (reason: string | null): void => {
    faults.push(reason);
  };
  const writeBehind = new WriteBehind<FakeKv, FakeBlock>({ kv, store, maxBytes, onFault });
  const liveWith = (content: Uint32Array): FakeKv => ({
    content,
    capacity: content.length,
    isDisposed: false,
    namespace: null,
  });
  const schedule = (all: Uint32Array): Promise<void> => writeBehind.schedule(all, "a", liveWith(all), noTurn);
  return { kv, store, writeBehind, schedule, liveWith, faults };
};

const noTurn = (): Promise<void> => Promise.resolve();
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const counting = (length: number): Uint32Array => Uint32Array.from({ length }, (_, index) => index);

describe("write-behind", () => {
  test("R11 cuts new tokens into blocks of at most 256", async () => {
    const { schedule, store, kv } = setUp();
    await schedule(counting(600));
    await settled();
    expect(store.saves[0]?.spans).toEqual([
      { start: 0, end: 256 },
      { start: 256, end: 512 },
      { start: 512, end: 600 },
    ]);
    expect(kv.blocks.size).toBe(3);
    store.saves[0]?.settle(true);
    await settled();
    expect(kv.blocks.size).toBe(0);
  });

  test("R11 writes nothing that is durable already", async () => {
    const { schedule, store } = setUp();
    store.durable = counting(300);
    await schedule(counting(300));
    await schedule(counting(310));
    await settled();
    expect(store.saves.map(({ spans }) => spans)).toEqual([[{ start: 300, end: 310 }]]);
  });

  test("R11 writes nothing twice while an earlier turn waits to be written", async () => {
    const { schedule, store, kv } = setUp();
    await schedule(counting(100));
    await schedule(counting(150));
    expect(kv.cuts).toEqual([
      { start: 0, end: 100 },
      { start: 100, end: 150 },
    ]);
    await settled();
    expect(store.saves).toHaveLength(1);
    store.saves[0]?.settle(true);
    await settled();
    expect(store.saves).toHaveLength(2);
  });

  test("R13 a failed save is counted with its reason and frees its blocks", async () => {
    const { schedule, store, kv, writeBehind, faults } = setUp();
    await schedule(counting(10));
    await settled();
    store.saves[0]?.settle(new Error("the disk is full"));
    await settled();
    expect(faults).toEqual(["the disk is full"]);
    expect(writeBehind.status).toEqual({ pendingJobs: 0, droppedJobs: 1, lastError: "the disk is full" });
    expect(kv.blocks.size).toBe(0);
  });

  test("R13 a save that the store gave up is counted with the store's own reason", async () => {
    const { schedule, store, writeBehind } = setUp();
    await schedule(counting(10));
    await settled();
    store.health = { kind: "full", reason: "the disk is full" };
    store.saves[0]?.settle(false);
    await settled();
    expect(writeBehind.status).toEqual({ pendingJobs: 0, droppedJobs: 1, lastError: "the disk is full" });
  });

  test("R13 a save that succeeds again ends the fault", async () => {
    const { schedule, store, faults, writeBehind } = setUp();
    await schedule(counting(10));
    await settled();
    store.saves[0]?.settle(new Error("the disk is full"));
    await settled();
    await schedule(counting(10));
    await settled();
    store.saves[1]?.settle(true);
    await settled();
    expect(faults).toEqual(["the disk is full", null]);
    expect(writeBehind.status).toEqual({ pendingJobs: 0, droppedJobs: 1, lastError: null });
  });

  test("R13 what cannot be cut counts as dropped, and the blocks before it are freed", async () => {
    const { kv, writeBehind, liveWith } = setUp();
    await writeBehind.schedule(counting(600), "a", liveWith(counting(300)), noTurn);
    expect(kv.cuts).toHaveLength(1);
    expect(kv.blocks.size).toBe(0);
    expect(writeBehind.status).toEqual({ pendingJobs: 0, droppedJobs: 1, lastError: "cannot be cut" });
  });

  test("R12 drops what comes faster than it can be written instead of growing", async () => {
    const { schedule, writeBehind, kv } = setUp(12);
    await schedule(counting(10));
    await schedule(Uint32Array.from([9, 9, 9]));
    expect(writeBehind.status).toMatchObject({ pendingJobs: 1, droppedJobs: 1 });
    expect(kv.bytesAlive).toBe(10);
  });

  test("R12 of a prompt beyond the bound the leading blocks that fit are written, and the rest is asked for again", async () => {
    const { schedule, store, writeBehind, kv } = setUp(600);
    await schedule(counting(1000));
    expect(kv.bytesAlive).toBe(512);
    expect(writeBehind.status).toMatchObject({ pendingJobs: 1, droppedJobs: 1 });
    await settled();
    store.saves[0]?.settle(true);
    await settled();
    expect(store.durable).toEqual(counting(512));
    await schedule(counting(1000));
    expect(kv.cuts.slice(2)).toEqual([
      { start: 512, end: 768 },
      { start: 768, end: 1000 },
    ]);
  });

  test("R14 a flush waits for what is pending, and counts what misses the deadline", async () => {
    const { schedule, store, writeBehind, kv } = setUp();
    await schedule(counting(10));
    await settled();
    const flushed = writeBehind.flush(60_000);
    store.saves[0]?.settle(true);
    await flushed;
    expect(writeBehind.status.droppedJobs).toBe(0);
    await schedule(counting(20));
    await writeBehind.flush(0);
    expect(writeBehind.status.droppedJobs).toBe(1);
    // Given up once, it is not counted again when it fails after all, and its blocks are freed only then.
    expect(kv.blocks.size).toBe(1);
    store.saves[1]?.settle(false);
    await writeBehind.idle();
    expect(writeBehind.status.droppedJobs).toBe(1);
    expect(kv.blocks.size).toBe(0);
  });
});
