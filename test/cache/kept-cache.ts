// A prompt cache over fakes, and requests against it, for tests.
import type { ColdTier } from "../../src-bun/cache/cold-tier.ts";
import { LruRetention } from "../../src-bun/cache/lru-retention.ts";
import { PromptCache, type PutOptions } from "../../src-bun/cache/prompt-cache.ts";
import type { RetentionPolicy } from "../../src-bun/cache/retention-policy.ts";
import { type FakeBlock, type FakeKv, FakeKvBlocks, joined, tokens } from "./fake-kv-blocks.ts";

export const NS = "a";

/** What has most room ahead goes first: in a fake, tips before blocks. */
const roomiestFirst: RetentionPolicy = {
  name: "roomiest first",
  accessed: () => undefined,
  victim: (entries) =>
    entries.reduce((best, entry) => (entry.bytes - entry.cost > best.bytes - best.cost ? entry : best)),
  evicted: () => undefined,
};

type Options = { cold?: ColdTier | null; maxBytes?: number; policy?: RetentionPolicy };

export const setUp = ({ cold = null, maxBytes = 1_000_000, policy = new LruRetention() }: Options = {}) => {
  const kv = new FakeKvBlocks();
  const clock = { nowMs: 0 };
  const cache = new PromptCache<FakeKv, FakeBlock>({ maxBytes, policy, kv, cold, now: () => clock.nowMs });
  /** One request: takes, computes the rest, puts back prompt and answer. */
  const ask = async (
    prompt: Uint32Array,
    answer: Uint32Array = tokens(),
    capacity = prompt.length,
    options: PutOptions = {},
  ) => {
    const take = await cache.take(prompt, NS, capacity, options.noStore);
    const all = joined(prompt, answer);
    kv.compute(take.kv, all);
    const { isPinned } = cache.put(take, all, prompt.length, options);
    return { ...take, isPinned };
  };
  /** Turns every tip that has room ahead into blocks, and loses no token. */
  const retire = (): void => {
    const { maxBytes: before, policy: own } = cache;
    cache.policy = roomiestFirst;
    while (cache.tips > 0) {
      const bytes = kv.bytesAlive;
      cache.maxBytes = bytes - 1;
      if (kv.bytesAlive === bytes) throw new Error("a tip that stays cannot be retired");
    }
    cache.policy = own;
    cache.maxBytes = before;
  };
  return { kv, cache, ask, retire, clock };
};
