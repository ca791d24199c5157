// The invariant above all: the same answer from RAM, from the SSD, after a restart and cold.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { WriteBehind } from "../../src-bun/cache/write-behind.ts";
import type { KvBlock } from "../../src-bun/engine/kv-blocks.ts";
import type { LiveKv } from "../../src-bun/model/live-kv.ts";
import { bundleWorker } from "../../src-bun/setup/bundle-workers.ts";
import { largestDifference, marginOf, roundingBound } from "../support/logits.ts";
import { openStore } from "../support/open-store.ts";
import { retireTips } from "../support/retire-tips.ts";
import { isSizeRelease } from "../support/size.ts";
import { Starter } from "../support/starter.ts";
import { TemporaryFolder } from "../support/temporary-folder.ts";

const STEPS = 100;
const CACHED_TOKENS = isSizeRelease ? 3000 : 500;
const NEW_TOKENS = 100;

let starter: Starter;
let storageWorker: string;

beforeAll(async () => {
  starter = await Starter.open();
  storageWorker = await bundleWorker(join(import.meta.dir, "../../src-bun/storage/kv-writer.worker.ts"));
}, 60_000);

afterAll(() => starter[Symbol.dispose]());

const promptOf = async (tokens: number): Promise<Uint32Array> => {
  const text = Array.from({ length: tokens }, (_, index) => `Item ${index} costs ${(index * 37) % 101} coins.`).join(
    " ",
  );
  return (await starter.encodeChat([{ role: "user", content: text }])).slice(0, tokens);
};

/** The 100 steps after the prompt, and their logits, from a take of whatever `cold` and the tips of `warm` hold. */
const answer = (prompt: Uint32Array, kv: LiveKv) =>
  starter.greedy(starter.prefill(prompt.slice(kv.length), kv), kv, STEPS);

test("R15 R21 R23 from a tip, from blocks and from the SSD after a restart, logits over 100 steps are identical", async () => {
  using folder = new TemporaryFolder();
  const prompt = await promptOf(CACHED_TOKENS + NEW_TOKENS);
  const shared = prompt.slice(0, CACHED_TOKENS);
  const { namespace } = starter.model;

  const ram = starter.promptCache();
  const first = await ram.take(shared, namespace, shared.length);
  starter.prefill(shared, first.kv)[Symbol.dispose]();
  const before = await openStore(folder.path, storageWorker);
  const writeBehind = new WriteBehind<LiveKv, KvBlock>({ kv: starter.kv, store: before.store, maxBytes: 2 ** 30 });
  await writeBehind.schedule(shared, namespace, first.kv, () => Promise.resolve());
  ram.put(first, shared, shared.length);
  await writeBehind.flush(60_000);
  expect(writeBehind.status).toEqual({ pendingJobs: 0, droppedJobs: 0, lastError: null });
  await before.close();

  const warm = await ram.take(prompt, namespace, prompt.length + STEPS);
  expect(warm.cachedTokens).toEqual({ ram: CACHED_TOKENS, ssd: 0 });
  const fromRam = answer(prompt, warm.kv);
  ram.release(warm);

  const after = await openStore(folder.path, storageWorker);
  const restarted = starter.promptCache(after.store);
  const restored = await restarted.take(prompt, namespace, prompt.length + STEPS);
  expect(restored.cachedTokens).toEqual({ ram: 0, ssd: CACHED_TOKENS });
  const fromSsd = answer(prompt, restored.kv);
  restarted.put(restored, shared, shared.length);
  await after.close();

  retireTips(restarted, starter.kv.bytesOf(1));
  expect([restarted.tips, restarted.blocks]).toEqual([0, Math.ceil(CACHED_TOKENS / 256)]);
  const rejoined = await restarted.take(prompt, namespace, prompt.length + STEPS);
  expect(rejoined.cachedTokens).toEqual({ ram: CACHED_TOKENS, ssd: 0 });
  const fromBlocks = answer(prompt, rejoined.kv);
  restarted.release(rejoined);

  expect(fromSsd.ids).toEqual(fromRam.ids);
  expect(largestDifference(fromSsd.logits, fromRam.logits)).toBe(0);
  expect(largestDifference(fromBlocks.logits, fromRam.logits)).toBe(0);
});

test("R16 warm and cold choose the same tokens, but where the two best logits are closer than rounding", async () => {
  const prompt = await promptOf(CACHED_TOKENS + NEW_TOKENS);
  const { namespace } = starter.model;
  using cold = starter.kv.allocate(prompt.length + STEPS);
  const fromCold = answer(prompt, cold);
  const cache = starter.promptCache();
  const shared = prompt.slice(0, CACHED_TOKENS);
  const first = await cache.take(shared, namespace, shared.length);
  starter.prefill(shared, first.kv)[Symbol.dispose]();
  cache.put(first, shared, shared.length);
  const take = await cache.take(prompt, namespace, prompt.length + STEPS);
  const fromWarm = answer(prompt, take.kv);
  cache.release(take);

  const bound = roundingBound(starter.model.llama.config, fromCold.logits[0] ?? new Float32Array(1));
  const close = fromCold.logits.filter((logits) => marginOf(logits) < bound).length;
  const parting = fromCold.ids.findIndex((id, step) => id !== fromWarm.ids[step]);
  const compared = parting < 0 ? STEPS : parting + 1;
  const difference = largestDifference(fromCold.logits.slice(0, compared), fromWarm.logits.slice(0, compared));
  console.log(
    `warm against cold: largest difference ${difference.toExponential(2)}, bound ${bound.toExponential(2)}, ${close} of ${STEPS} steps closer than it`,
  );
  expect(difference).toBeLessThanOrEqual(bound);
  if (parting >= 0) expect(marginOf(fromCold.logits[parting] ?? new Float32Array(1))).toBeLessThan(bound);
  expect(close).toBeLessThanOrEqual(Math.floor(STEPS / 1000));
});
