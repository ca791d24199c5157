// What the store knows of one namespace: its blocks by token ids, and the file that takes its next frames.
import { KeepwarmError } from "../base/errors.ts";
import { BlockTree, type Found, type TreeBlock } from "./block-tree.ts";
import type { BlockRecord, TensorRecord } from "./frame.ts";
import { KeyChain } from "./key-chain.ts";
import type { FrameToWrite } from "./kv-jobs.ts";
import { elementCount, type StoredTensorView, tokenSlice, withTokens } from "./stored-tensor-view.ts";

/** Tokens `start` to `end` of a prompt, cut from its KV; tensors of shape `[rows…, tokens, headDim]`. */
export type StoredBlock = {
  readonly start: number;
  readonly end: number;
  readonly tensors: readonly StoredTensorView[];
};

/** The longest span of tokens that a block holds. */
export const MAX_BLOCK_TOKENS = 256;

export type BlockPlace = { readonly path: string; readonly offset: number };
export type Slot = Pick<TensorRecord, "dtype" | "shape" | "itemSize" | "group">;

export type SavePlan = {
  /** Of blocks; `savedFrom` is filled in by whoever places them. */
  readonly frames: readonly (FrameToWrite & { readonly header: BlockRecord })[];
  readonly reusedBytes: number;
};

const NO_HASH = "0".repeat(16);

const drift = (message: string): KeepwarmError => new KeepwarmError("length-drift", message);

const slotsText = (slots: readonly Slot[]): string =>
  JSON.stringify(slots.map(({ dtype, shape, itemSize, group }) => [dtype, withTokens(shape, 0), itemSize, group]));

const bytesOf = (tensors: readonly StoredTensorView[]): number =>
  tensors.reduce((sum, { shape, itemSize }) => sum + elementCount(shape) * itemSize, 0);

const checkBlock = (block: StoredBlock, tokens: Uint32Array): void => {
  const length = block.end - block.start;
  if (length <= 0 || length > MAX_BLOCK_TOKENS || block.end > tokens.length)
    throw drift(`A block cannot hold tokens ${block.start} to ${block.end} of ${tokens.length}.`);
  const odd = block.tensors.find(({ shape }) => shape.length < 2 || shape.at(-2) !== length);
  if (odd !== undefined) throw drift(`A tensor of shape ${odd.shape} does not hold the block's ${length} tokens.`);
};

/** The part of a block that begins at token `from`. */
const clip = (block: StoredBlock, from: number): StoredBlock => ({
  start: from,
  end: block.end,
  tensors: block.tensors.map((tensor) => tokenSlice(tensor, from - block.start, block.end - from)),
});

export class StoredNamespace {
  readonly name: string;
  /** 64 hex digits, drawn when the namespace was first stored. */
  readonly key: string;
  readonly tree = new BlockTree<BlockPlace>();
  /** Null until the next save makes one. */
  file: { readonly path: string; readonly end: number } | null = null;
  #slots: readonly Slot[] | null = null;

  constructor(name: string, key: string) {
    this.name = name;
    this.key = key;
  }

  /** The tensors of a block with room for `length` tokens; null while nothing is stored. */
  slots(length: number): Slot[] | null {
    return this.#slots?.map((slot) => ({ ...slot, shape: withTokens(slot.shape, length) })) ?? null;
  }

  /** Returns false, and changes nothing, for a block that cannot be reached or joined with the others. */
  insert(record: BlockRecord, place: BlockPlace): boolean {
    const parent = record.parent === null ? null : this.tree.get(record.parent);
    if (parent === undefined || !this.#fits(record.tensors)) return false;
    if (parent !== null && (record.start <= parent.start || record.start > parent.end)) return false;
    const { key, start, end } = record;
    const tokens = Uint32Array.from(record.tokens);
    if (this.tree.insert({ key, parent, start, end, tokens, value: place }) === null) return false;
    this.#slots ??= record.tensors;
    return true;
  }

  /** The frames that make `tokens` durable. Throws a KeepwarmError when the blocks do not join or do not fit. */
  plan(tokens: Uint32Array, blocks: readonly StoredBlock[]): SavePlan {
    const found = this.tree.find(tokens);
    const chain = new KeyChain(this.key, tokens);
    const frames: (FrameToWrite & { readonly header: BlockRecord })[] = [];
    let parent = found.path.at(-1)?.block.key ?? null;
    let reachedTokens = found.length;
    let reusedBytes = 0;
    for (const block of blocks) {
      checkBlock(block, tokens);
      const from = Math.max(block.start, Math.min(reachedTokens, block.end));
      if (from > reachedTokens)
        throw new KeepwarmError(
          "incomplete-blocks",
          `Tokens ${reachedTokens} to ${from} are neither stored nor given.`,
        );
      const part = clip(block, from);
      reusedBytes += bytesOf(block.tensors) - bytesOf(part.tensors);
      if (from === block.end) continue;
      const frame = this.#frame(part, tokens, chain.key(block.end), parent);
      frames.push(frame);
      parent = frame.header.key;
      reachedTokens = block.end;
    }
    return { frames, reusedBytes };
  }

  /** The key of each block on a path, from the tokens themselves. Requires a path that `find` gave for `tokens`. */
  pathKeys(tokens: Uint32Array, path: Found<BlockPlace>["path"]): string[] {
    const chain = new KeyChain(this.key, tokens);
    return path.map(({ block }: { block: TreeBlock<BlockPlace> }) => chain.key(block.start, block.tokens));
  }

  #frame(part: StoredBlock, tokens: Uint32Array, key: string, parent: string | null) {
    const { start, end, tensors } = part;
    const records = tensors.map(({ dtype, shape, itemSize, group }) => ({
      ...{ dtype, shape: [...shape], itemSize, group },
      hash: NO_HASH,
    }));
    if (!this.#fits(records)) throw drift("A block's tensors differ from those stored in its namespace.");
    const own = Array.from(tokens.subarray(start, end));
    const header: BlockRecord = {
      ...{ kind: "block", key, parent, start, end, savedFrom: 0 },
      tokens: own,
      tensors: records,
    };
    return { header, tensors };
  }

  #fits(slots: readonly Slot[]): boolean {
    return this.#slots === null || slotsText(slots) === slotsText(this.#slots);
  }
}
