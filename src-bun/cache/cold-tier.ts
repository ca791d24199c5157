import type { Destination, TensorSlot } from "./kv-blocks.ts";

/** What the prompt cache needs of a second tier; `SsdCacheStore` is one. Look-ups never touch the disk. */
export type ColdTier = {
  /** How many leading tokens can be restored. */
  longestDurablePrefix(tokens: Uint32Array, namespace: string): number;
  /** Fills unpublished memory. A miss says how many leading tokens are good all the same. */
  restore(
    namespace: string,
    tokens: Uint32Array,
    length: number,
    allocate: (slots: readonly TensorSlot[]) => readonly Destination[],
  ): Promise<
    | { readonly kind: "hit"; readonly tokens: number }
    | { readonly kind: "miss"; readonly reason: string; readonly goodTokens: number }
  >;
};
