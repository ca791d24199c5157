// The cache's only way to touch tensors. `Kv` is the live KV of one sequence, `Block` a cut, immutable span of it.

import type { Slot, StoredTensorView } from "../storage/ssd-cache.ts";
import type { TokenSpan } from "./block-spans.ts";

/** The first `tokens` of a block; one that is moved is used up. */
export type BlockPart<Block> = { readonly block: Block; readonly tokens: number; readonly isMoved: boolean };

export type KvBlocks<Kv, Block> = {
  /** Unpublished live KV with room for `capacity` tokens; holds none yet. */
  allocate(capacity: number): Kv;
  /** What live KV with room for `capacity` tokens takes, without making it. */
  liveBytesOf(capacity: number): number;
  /** Where the first `length` tokens of each slot go. Throws when the slots are not those of this model. */
  destinations(kv: Kv, slots: readonly Slot[], length: number): readonly StoredTensorView[];
  /** The first `length` tokens were filled and count from now on. */
  publish(kv: Kv, length: number): void;
  length(kv: Kv): number;
  bytes(kv: Kv): number;
  /** Makes room for `capacity` tokens in all; copies what is held, layer by layer, when it has less. */
  reserve(kv: Kv, capacity: number): void;
  /** Forgets the tokens from `length` on. */
  truncate(kv: Kv, length: number): void;
  /** Live KV of its own with the first `length` tokens of `kv` and room for `capacity`. */
  clone(kv: Kv, length: number, capacity: number): Kv;
  /** Live KV of the parts one after the other. At most one layer is held twice. Uses up what is moved, also when it throws. */
  join(parts: readonly BlockPart<Block>[], capacity: number): Kv;
  /** A computed copy of the tokens from `start` to `end`. */
  cut(kv: Kv, start: number, end: number): Block;
  /** The spans as blocks; of the rest at most one layer is held beside them. Uses up `kv`, also when it throws. */
  takeApart(kv: Kv, spans: readonly TokenSpan[]): readonly Block[];
  /** What a block of so many tokens takes, without cutting it. */
  bytesOf(tokens: number): number;
  views(block: Block): readonly StoredTensorView[];
  blockBytes(block: Block): number;
  dispose(kv: Kv): void;
  disposeBlock(block: Block): void;
  /** Gives freed memory back to the system. */
  reclaim(): void;
};
