import type { TokenSpan } from "../../src-bun/cache/block-spans.ts";
import type { BlockPart, KvBlocks } from "../../src-bun/cache/kv-blocks.ts";
import type { StoredTensorView } from "../../src-bun/storage/ssd-cache.ts";

/** Live KV without tensors: it knows what was computed into it, and, when a test says so, for which namespace. A byte a token, room included. */
export type FakeKv = { content: Uint32Array; capacity: number; isDisposed: boolean; namespace: string | null };

/** It remembers all tokens before it, so that a test can tell whose it is. */
export type FakeBlock = TokenSpan & {
  readonly prefix: Uint32Array;
  readonly namespace: string | null;
  isDisposed: boolean;
};

export const tokens = (...ids: number[]): Uint32Array => Uint32Array.from(ids);

export const joined = (...parts: readonly Uint32Array[]): Uint32Array => {
  const all = new Uint32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
};

/** Knows what is alive, counts what was copied, and throws on a use after the end. */
export class FakeKvBlocks implements KvBlocks<FakeKv, FakeBlock> {
  readonly live = new Set<FakeKv>();
  readonly blocks = new Set<FakeBlock>();
  clones = 0;
  growths = 0;
  reclaims = 0;
  readonly cuts: TokenSpan[] = [];
  readonly joins: (readonly BlockPart<FakeBlock>[])[] = [];

  get liveBytes(): number {
    return [...this.live].reduce((sum, { capacity }) => sum + capacity, 0);
  }

  get bytesAlive(): number {
    return [...this.blocks].reduce((sum, { start, end }) => sum + end - start, this.liveBytes);
  }

  /** What a model does: computes until `all` is in the KV. */
  compute(kv: FakeKv, all: Uint32Array): void {
    if (kv.isDisposed) throw new RangeError("computed on freed memory");
    kv.content = all;
    this.reserve(kv, all.length);
  }

  allocate(capacity: number): FakeKv {
    const kv = { content: tokens(), capacity: Math.max(1, capacity), isDisposed: false, namespace: null };
    this.live.add(kv);
    return kv;
  }

  liveBytesOf(capacity: number): number {
    return Math.max(1, capacity);
  }

  destinations(): readonly StoredTensorView[] {
    return [];
  }

  publish(kv: FakeKv, length: number): void {
    kv.content = new Uint32Array(length);
  }

  length(kv: FakeKv): number {
    return kv.content.length;
  }

  bytes(kv: FakeKv): number {
    return kv.capacity;
  }

  reserve(kv: FakeKv, capacity: number): void {
    if (capacity <= kv.capacity) return;
    this.growths++;
    kv.capacity = capacity;
  }

  truncate(kv: FakeKv, length: number): void {
    if (length > kv.content.length) throw new RangeError("longer than it is");
    kv.content = kv.content.subarray(0, length);
  }

  clone(kv: FakeKv, length: number, capacity: number): FakeKv {
    if (kv.isDisposed || length > kv.content.length) throw new RangeError("cannot be copied");
    this.clones++;
    const copy = this.allocate(Math.max(length, capacity));
    copy.content = kv.content.slice(0, length);
    copy.namespace = kv.namespace;
    return copy;
  }

  join(parts: readonly BlockPart<FakeBlock>[], capacity: number): FakeKv {
    this.joins.push([...parts]);
    const content = joined(
      ...parts.map(({ block, tokens }) => {
        if (block.isDisposed) throw new RangeError("joined from a freed block");
        return block.prefix.subarray(block.start, block.start + tokens);
      }),
    );
    const kv = this.allocate(Math.max(capacity, content.length));
    kv.content = content;
    kv.namespace = parts[0]?.block.namespace ?? null;
    for (const { block, isMoved } of parts) if (isMoved) this.disposeBlock(block);
    return kv;
  }

  cut(kv: FakeKv, start: number, end: number): FakeBlock {
    if (kv.isDisposed || end > kv.content.length) throw new RangeError("cannot be cut");
    this.cuts.push({ start, end });
    const block = { start, end, prefix: kv.content.slice(0, end), namespace: kv.namespace, isDisposed: false };
    this.blocks.add(block);
    return block;
  }

  takeApart(kv: FakeKv, spans: readonly TokenSpan[]): readonly FakeBlock[] {
    try {
      return spans.map(({ start, end }) => this.cut(kv, start, end));
    } finally {
      this.dispose(kv);
    }
  }

  bytesOf(count: number): number {
    return count;
  }

  views(): readonly StoredTensorView[] {
    return [];
  }

  blockBytes({ start, end }: FakeBlock): number {
    return end - start;
  }

  dispose(kv: FakeKv): void {
    if (!this.live.delete(kv)) throw new Error("disposed of twice");
    kv.isDisposed = true;
  }

  disposeBlock(block: FakeBlock): void {
    if (!this.blocks.delete(block)) throw new Error("a block was disposed of twice");
    block.isDisposed = true;
  }

  reclaim(): void {
    this.reclaims++;
  }
}
