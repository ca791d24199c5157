import type { SsdCacheStore } from "../storage/ssd-cache.ts";

/** What the prompt cache needs of a second tier. Look-ups never touch the disk. */
export type ColdTier = Pick<SsdCacheStore, "continuesDifferently" | "longestDurablePrefix" | "restore">;
