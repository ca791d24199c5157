// The cache's only way to touch tensors. `Kv` is the live KV of one sequence, `Block` a cut, immutable span of it.

/** Memory that may be read or filled by address. Shape is [rows…, tokens, headDim], strides are in elements. */
export type Destination = {
  readonly pointer: number;
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly itemSize: number;
  readonly group: number;
};

/** A tensor of a block as the second tier describes it, its token axis set to what is to be restored. */
export type TensorSlot = { readonly dtype: string; readonly shape: readonly number[]; readonly group: number };

export type KvBlocks<Kv, Block> = {
  /** Unpublished live KV with room for `capacity` tokens; holds none yet. */
  allocate(capacity: number): Kv;
  /** Where the first `length` tokens of each slot go. Throws when the slots are not those of this model. */
  destinations(kv: Kv, slots: readonly TensorSlot[], length: number): readonly Destination[];
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
  views(block: Block): readonly Destination[];
  blockBytes(block: Block): number;
  dispose(kv: Kv): void;
  disposeBlock(block: Block): void;
};
