// The prompt cache's hands on MLX: cuts blocks from live KV, lends their addresses, and copies prefixes.
import type { TokenSpan } from "../cache/block-spans.ts";
import type { BlockPart, KvBlocks } from "../cache/kv-blocks.ts";
import type { MlxArray } from "../mlx/array.ts";
import type { MlxOps } from "../mlx/ops.ts";
import type { MlxRuntime } from "../mlx/runtime.ts";
import { type CutKv, LiveKv } from "../model/live-kv.ts";
import type { LlamaConfig } from "../model/llama-config.ts";
import type { Slot, StoredTensorView } from "../storage/ssd-cache.ts";

/** Keys and values of all layers, [1, kvHeads, tokens, headDim] each, computed and contiguous. */
export type KvBlock = CutKv;

/** All layers of full attention are one group: they are cut at the same tokens. */
const FULL_ATTENTION = 0;

export class LlamaKvBlocks implements KvBlocks<LiveKv, KvBlock> {
  readonly #runtime: MlxRuntime;
  readonly #ops: MlxOps;
  readonly #config: LlamaConfig;

  constructor(runtime: MlxRuntime, ops: MlxOps, config: LlamaConfig) {
    this.#runtime = runtime;
    this.#ops = ops;
    this.#config = config;
  }

  allocate(capacity: number): LiveKv {
    return LiveKv.blank(this.#runtime, this.#ops, this.#config, capacity);
  }

  destinations(kv: LiveKv, slots: readonly Slot[], length: number): readonly StoredTensorView[] {
    const own = kv.arrays.map((array) => this.#view(array, length));
    const fits = (slot: Slot, index: number): boolean =>
      slot.dtype === own[index]?.dtype && slot.shape.join() === own[index].shape.join();
    if (slots.length !== own.length || !slots.every(fits)) {
      throw new RangeError("the stored tensors are not those of the loaded model");
    }
    return own;
  }

  publish(kv: LiveKv, length: number): void {
    kv.publish(length);
  }

  length(kv: LiveKv): number {
    return kv.length;
  }

  bytes(kv: LiveKv): number {
    return kv.byteLength;
  }

  truncate(kv: LiveKv, length: number): void {
    kv.truncate(length);
  }

  clone(kv: LiveKv, length: number, capacity: number): LiveKv {
    return kv.copyPrefix(length, capacity);
  }

  join(parts: readonly BlockPart<KvBlock>[], capacity: number): LiveKv {
    const own = parts.map(({ block, tokens, isMoved }) => ({ cut: block, tokens, isMoved }));
    return LiveKv.join(this.#runtime, this.#ops, this.#config, own, capacity);
  }

  takeApart(kv: LiveKv, spans: readonly TokenSpan[]): readonly KvBlock[] {
    return kv.takeApart(spans);
  }

  reserve(kv: LiveKv, capacity: number): void {
    kv.reserve(capacity);
  }

  cut(kv: LiveKv, start: number, end: number): KvBlock {
    const block = Array.from({ length: this.#config.layers }, (_, layer) => {
      const { keys, values } = kv.cut(layer, start, end);
      return [keys, values];
    }).flat();
    this.#runtime.evaluate(block);
    return block;
  }

  bytesOf(tokens: number): number {
    return tokens * LiveKv.bytesPerToken(this.#config);
  }

  liveBytesOf(capacity: number): number {
    return LiveKv.bytesFor(this.#config, capacity);
  }

  reclaim(): void {
    this.#runtime.clearCache();
  }

  views(block: KvBlock): readonly StoredTensorView[] {
    return block.map((array) => this.#view(array, array.shape[2] ?? 0));
  }

  blockBytes(block: KvBlock): number {
    return block.reduce((sum, array) => sum + array.byteLength, 0);
  }

  dispose(kv: LiveKv): void {
    kv[Symbol.dispose]();
  }

  disposeBlock(block: KvBlock): void {
    for (const array of block) array[Symbol.dispose]();
  }

  /** The first `length` tokens of an array [1, kvHeads, capacity, headDim], without its batch axis. */
  #view(array: MlxArray, length: number): StoredTensorView {
    const [, heads, , headDim] = array.shape;
    const { dtype, itemSize, pointer, strides } = array;
    return {
      pointer: Number(pointer),
      dtype,
      shape: [heads ?? 0, length, headDim ?? 0],
      strides: strides.slice(1),
      itemSize,
      group: FULL_ATTENTION,
    };
  }
}
