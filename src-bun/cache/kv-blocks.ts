// The cache's only way to touch tensors. `Kv` is the live KV of one sequence, `Block` a cut, immutable span of it.

import type { Slot, StoredTensorView } from "../storage/ssd-cache.ts";

export type KvBlocks<Kv, Block> = {
  /** Unpublished live KV with room for `capacity` tokens; holds none yet. */
  allocate(capacity: number): Kv;
  /** Where the first `length` tokens of each slot go. Throws when the slots are not those of this model. */
  destinations(kv: Kv, slots: readonly Slot[], length: number): readonly StoredTensorView[];
  /** The first `length` tokens were filled and count from now on. */
  publish(kv: Kv, length: number): void;
  length(kv: Kv): number;
  bytes(kv: Kv): number;
  /** Forgets the tokens from `length` on. */
  truncate(kv: Kv, length: number): void;
  /** Live KV of its own with the first `length` tokens of `kv` and room for `capacity`. */
  clone(kv: Kv, length: number, capacity: number): Kv;
  /** A computed copy of the tokens from `start` to `end`. */
  cut(kv: Kv, start: number, end: number): Block;
  views(block: Block): readonly StoredTensorView[];
  blockBytes(block: Block): number;
  dispose(kv: Kv): void;
  disposeBlock(block: Block): void;
};
