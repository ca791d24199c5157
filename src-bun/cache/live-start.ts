// The live KV that a request begins with, from what RAM holds of its prompt: moved, copied or joined from blocks.
import type { Found } from "../storage/ssd-cache.ts";
import { isNextTurn, type KeptBlock, type Tip } from "./kept-unit.ts";
import type { KvBlocks } from "./kv-blocks.ts";
import { cloneKvCaches, disposeResources } from "./kv-caches.ts";
import type { RamTier } from "./ram-tier.ts";

/** Where RAM holds the longest prefix. */
export type Source<Kv, Block> = { readonly length: number } & (
  | { readonly kind: "nothing" }
  | { readonly kind: "tip"; readonly tip: Tip<Kv> }
  | { readonly kind: "blocks"; readonly path: Found<KeptBlock<Block>>["path"] }
  | { readonly kind: "live"; readonly kv: Kv }
);

/** `uses`: how often prompts went on from what this goes on from. `holds` are the caller's to end. */
type Begun<Kv, Block> = { readonly kv: Kv; readonly uses: number; readonly holds: readonly KeptBlock<Block>[] };

export class LiveStart<Kv, Block> {
  readonly #kv: KvBlocks<Kv, Block>;
  readonly #ram: RamTier<Kv, Block>;
  readonly #makeRoom: (bytes: number) => boolean;

  /** `makeRoom` lets units go for so many bytes to come, and says whether they fit the budget then. */
  constructor(kv: KvBlocks<Kv, Block>, ram: RamTier<Kv, Block>, makeRoom: (bytes: number) => boolean) {
    this.#kv = kv;
    this.#ram = ram;
    this.#makeRoom = makeRoom;
  }

  from(source: Source<Kv, Block>, capacity: number): Begun<Kv, Block> {
    switch (source.kind) {
      case "nothing":
        this.#makeRoom(this.#kv.liveBytesOf(capacity));
        return { kv: this.#kv.allocate(capacity), uses: 0, holds: [] };
      case "live":
        this.#makeRoom(this.#kv.liveBytesOf(capacity));
        return { kv: cloneKvCaches(this.#kv, source.kv, { length: source.length, capacity }), uses: 0, holds: [] };
      case "tip": {
        const { tip, length } = source;
        // A pinned tip stays where it is, whatever becomes of the request.
        const isMoved = !tip.isPinned && isNextTurn(tip.promptTokens, tip.tokens.length, length);
        return isMoved ? this.#move(tip, length, capacity) : this.#copy(tip, length, capacity);
      }
      case "blocks":
        return this.#join(source, capacity);
    }
  }

  #move(tip: Tip<Kv>, length: number, capacity: number): Begun<Kv, Block> {
    this.#ram.removeTip(tip);
    try {
      this.#makeRoom(Math.max(tip.bytes, this.#kv.liveBytesOf(capacity)));
      this.#kv.truncate(tip.kv, length);
      this.#kv.reserve(tip.kv, capacity);
    } catch (thrown) {
      disposeResources(this.#kv, { kvs: [tip.kv] });
      throw thrown;
    }
    return { kv: tip.kv, uses: tip.uses + 1, holds: [] };
  }

  /** Where tip and copy do not fit the budget together, the tip retires, and what is shared lies in blocks. */
  #copy(tip: Tip<Kv>, length: number, capacity: number): Begun<Kv, Block> {
    this.#ram.touch(tip);
    this.#ram.hold(tip);
    try {
      if (this.#makeRoom(this.#kv.liveBytesOf(capacity))) {
        return { kv: cloneKvCaches(this.#kv, tip.kv, { length, capacity }), uses: 0, holds: [] };
      }
    } finally {
      this.#ram.endHold(tip);
    }
    this.#ram.retire(tip);
    const { path } = this.#ram.findBlocks(tip.tokens.subarray(0, length), tip.namespace);
    return this.#join({ kind: "blocks", path, length }, capacity);
  }

  /** Blocks that nothing but this chat needs are moved and leave RAM; the others are copied and held. */
  #join({ path, length }: Source<Kv, Block> & { kind: "blocks" }, capacity: number): Begun<Kv, Block> {
    const moved = this.#removeOwn(path, length);
    const shared = path.map(({ block }) => block.value).filter((unit) => !moved.has(unit));
    for (const unit of shared) {
      this.#ram.touch(unit);
      this.#ram.hold(unit);
    }
    const parts = path.map(({ block: { value, start }, upTo }, index) => {
      const end = path[index + 1]?.block.start ?? upTo;
      return { block: value.block, tokens: end - start, isMoved: moved.has(value) };
    });
    try {
      this.#makeRoom(this.#kv.liveBytesOf(capacity));
      const uses = Math.max(0, ...[...moved].map((unit) => unit.uses + 1));
      return { kv: this.#kv.join(parts, capacity), uses, holds: shared };
    } catch (thrown) {
      for (const unit of shared) this.#ram.endHold(unit);
      throw thrown;
    }
  }

  /** Takes the blocks at the path's end out of RAM that only this chat goes on from. */
  #removeOwn(path: Found<KeptBlock<Block>>["path"], length: number): Set<KeptBlock<Block>> {
    const own = new Set<KeptBlock<Block>>();
    let next = length;
    for (const { block } of [...path].reverse()) {
      const { value } = block;
      const isWhole = own.size === 0 ? isNextTurn(value.promptTokens, block.end, length) : next === block.end;
      if (!isWhole || !this.#ram.isFree(value)) break;
      this.#ram.removeBlock(value);
      own.add(value);
      next = block.start;
    }
    return own;
  }
}
