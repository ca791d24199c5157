// Tensors over plain buffers, and a store over a folder of their own: what these tests use in place of a model.
import { ptr } from "bun:ffi";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openFilesystem } from "../../src-bun/platform/filesystem.ts";
import { bundleWorker } from "../../src-bun/setup/bundle-workers.ts";
import { KvWriter } from "../../src-bun/storage/kv-writer.ts";
import { SsdCacheStore, type StoredBlock } from "../../src-bun/storage/ssd-cache.ts";
import { elementCount, type StoredTensorView, tokenSlice } from "../../src-bun/storage/stored-tensor-view.ts";

/** The view is good for as long as `bytes` is held. */
export type PlainTensor = { readonly view: StoredTensorView; readonly bytes: Uint8Array };

const packedStrides = (shape: readonly number[]): number[] =>
  shape.map((_, axis) => elementCount(shape.slice(axis + 1)));

const plainTensor = (shape: readonly number[], itemSize: number, group: number): PlainTensor => {
  const bytes = new Uint8Array(Math.max(1, elementCount(shape) * itemSize));
  const dtype = itemSize === 4 ? "float32" : "uint8";
  return { view: { pointer: ptr(bytes), dtype, shape, strides: packedStrides(shape), itemSize, group }, bytes };
};

/** A model's KV with room for `capacity` tokens: two tensors a group, of different head counts and item sizes. */
export const plainKv = (capacity: number, groups = 3): PlainTensor[] =>
  Array.from({ length: groups }, (_, group) => [
    plainTensor([3, capacity, 16], 4, group),
    plainTensor([1, 2, capacity, 8], 1, group),
  ]).flat();

const ramp = Uint8Array.from({ length: 1024 }, (_, index) => index);

/** What a model would compute: bytes that depend on all tokens up to each place, on the tensor and on the row. */
export const fillKv = (kv: readonly PlainTensor[], tokens: Uint32Array): void => {
  for (const [index, { view, bytes }] of kv.entries()) {
    const [capacity, width] = [view.shape.at(-2) ?? 0, (view.shape.at(-1) ?? 0) * view.itemSize];
    const rows = elementCount(view.shape.slice(0, -2));
    for (let row = 0; row < rows; row += 1) {
      let state = index * 7 + row;
      for (const [token, id] of tokens.entries()) {
        state = (Math.imul(state, 31) + id) >>> 0;
        bytes.set(ramp.subarray(state & 255, (state & 255) + width), (row * capacity + token) * width);
      }
    }
  }
};

const cutBlock = (kv: readonly PlainTensor[], start: number, end: number): StoredBlock => ({
  start,
  end,
  tensors: kv.map(({ view }) => tokenSlice(view, start, end - start)),
});

export const cutBlocks = (kv: readonly PlainTensor[], from: number, to: number, size = 256): StoredBlock[] => {
  const blocks: StoredBlock[] = [];
  for (let start = from; start < to; start += size) blocks.push(cutBlock(kv, start, Math.min(to, start + size)));
  return blocks;
};

export const tokenIds = (count: number, seed = 1): Uint32Array =>
  Uint32Array.from({ length: count }, (_, index) => (Math.imul(index + 1, 2654435761) ^ Math.imul(seed, 40503)) >>> 8);

/** Equal up to `tokens`, other ones behind. */
export const forkAt = (tokens: Uint32Array, at: number, count: number, seed: number): Uint32Array =>
  Uint32Array.from([...tokens.subarray(0, at), ...tokenIds(count, seed)]);

export const workerEntry = join(import.meta.dir, "../../src-bun/storage/kv-writer.worker.ts");

export class StoreBench implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), "keepwarm-store-"));
  readonly log: string[] = [];
  readonly kvWriter: KvWriter;
  readonly kvReader: KvWriter;
  #store: SsdCacheStore | null = null;

  private constructor(workerSource: string) {
    this.kvWriter = new KvWriter({ workerSource });
    this.kvReader = new KvWriter({ workerSource });
  }

  static async start(): Promise<StoreBench> {
    return new StoreBench(await bundleWorker(workerEntry));
  }

  /** A store as a new process would find it. */
  async open(): Promise<SsdCacheStore> {
    await this.#store?.close();
    const { folder, kvWriter, kvReader } = this;
    const log = (line: string) => this.log.push(line);
    this.#store = await SsdCacheStore.open({ folder, kvWriter, kvReader, filesystem: openFilesystem(), log });
    return this.#store;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#store?.close();
    await Promise.all([this.kvWriter.close(), this.kvReader.close()]);
    rmSync(this.folder, { recursive: true });
  }
}

/** Stores a prompt's KV, all of it that is not durable yet. */
export const keep = async (
  store: SsdCacheStore,
  tokens: Uint32Array,
  { ns = "model", size = 256, groups = 3 } = {},
): Promise<boolean> => {
  const kv = plainKv(tokens.length, groups);
  fillKv(kv, tokens);
  const saved = await store.storeAsync(
    tokens,
    cutBlocks(kv, store.longestDurablePrefix(tokens, ns), tokens.length, size),
    ns,
  );
  hold(kv);
  return saved;
};

/** Keeps the collector from taking memory that only an address leads to, up to here. */
export const hold = (kv: readonly PlainTensor[]): void => {
  if (kv.some(({ bytes }) => bytes.length === 0)) throw new Error("A tensor without memory.");
};

/** Restores into KV with room to spare; says whether the bytes are what was computed for these tokens. */
export const restoreInto = async (
  store: SsdCacheStore,
  tokens: Uint32Array,
  length: number,
  { ns = "model", groups = 3 } = {},
) => {
  const capacity = length + 5;
  const [got, right] = [plainKv(capacity, groups), plainKv(capacity, groups)];
  fillKv(right, tokens.subarray(0, length));
  const outcome = await store.restore(ns, tokens, length, (slots) => {
    if (slots.length !== got.length) throw new Error(`${slots.length} slots`);
    return got.map(({ view }) => tokenSlice(view, 0, length));
  });
  const isRight = got.every(({ bytes }, index) => Buffer.compare(bytes, right[index]?.bytes ?? bytes) === 0);
  return { outcome, isRight };
};

/** Groups of layers in a kill run: enough for a save to take longer than its flush. */
export const killGroups = 40;

/** Prompts of a kill run: each goes on from the one before it, or parts from it in the middle. */
export const killPrompt = (seed: number): Uint32Array => {
  const base = tokenIds(150, Math.floor(seed / 4) + 1);
  return forkAt(base, 40 + 30 * (seed % 4), 60 + (seed % 7) * 40, seed + 1000);
};
