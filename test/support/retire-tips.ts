import type { PromptCache } from "../../src-bun/cache/prompt-cache.ts";
import type { RetentionPolicy } from "../../src-bun/cache/retention-policy.ts";

/** What has most bytes beside those of its tokens goes first: tips, for their room ahead, and never a block before them. */
const roomiestFirst = (bytesPerToken: number): RetentionPolicy => ({
  name: "roomiest first",
  accessed: () => undefined,
  victim: (entries) =>
    entries.reduce((best, entry) =>
      entry.bytes - entry.cost * bytesPerToken > best.bytes - best.cost * bytesPerToken ? entry : best,
    ),
  evicted: () => undefined,
});

/** Turns every tip into blocks and loses no token. Requires tips with room ahead. */
export const retireTips = <Kv, Block>(cache: PromptCache<Kv, Block>, bytesPerToken: number): void => {
  const { maxBytes, policy } = cache;
  cache.policy = roomiestFirst(bytesPerToken);
  while (cache.tips > 0) cache.maxBytes = cache.tipBytes + cache.blockBytes - 1;
  cache.policy = policy;
  cache.maxBytes = maxBytes;
};
