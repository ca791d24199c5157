import type { KvBlocks } from "../../src-bun/cache/kv-blocks.ts";
import type { StoredTensorView } from "../../src-bun/storage/ssd-cache.ts";

/** Live KV without tensors: it knows its length. A byte a token. */
export type FakeKv = { length: number; isDisposed: boolean };

export const tokens = (...ids: number[]): Uint32Array => Uint32Array.from(ids);

/** Counts what is alive and what was copied. A block is its number of tokens. */
export class FakeKvBlocks implements KvBlocks<FakeKv, number> {
  live = 0;
  liveBlocks = 0;
  clones = 0;
  readonly cuts: { start: number; end: number }[] = [];

  grow(kv: FakeKv, length: number): void {
    kv.length = length;
  }

  allocate(): FakeKv {
    this.live++;
    return { length: 0, isDisposed: false };
  }

  destinations(): readonly StoredTensorView[] {
    return [];
  }

  publish(kv: FakeKv, length: number): void {
    kv.length = length;
  }

  length(kv: FakeKv): number {
    return kv.length;
  }

  bytes(kv: FakeKv): number {
    return kv.length;
  }

  truncate(kv: FakeKv, length: number): void {
    if (length > kv.length) throw new RangeError("longer than it is");
    kv.length = length;
  }

  clone(kv: FakeKv, length: number): FakeKv {
    if (kv.isDisposed || length > kv.length) throw new RangeError("cannot be copied");
    this.clones++;
    return { ...this.allocate(), length };
  }

  cut(kv: FakeKv, start: number, end: number): number {
    if (kv.isDisposed || end > kv.length) throw new RangeError("cannot be cut");
    this.cuts.push({ start, end });
    this.liveBlocks++;
    return end - start;
  }

  views(): readonly StoredTensorView[] {
    return [];
  }

  blockBytes(block: number): number {
    return block;
  }

  dispose(kv: FakeKv): void {
    if (kv.isDisposed) throw new Error("disposed of twice");
    kv.isDisposed = true;
    this.live--;
  }

  disposeBlock(): void {
    this.liveBlocks--;
  }
}
