// What everybody who counts, copies or frees cached tensors goes through. The port's owner thread only.
import type { KvBlocks } from "./kv-blocks.ts";

/** Tensors that belong together: live KV, and blocks or attachments, which are lists of tensors like them. */
export type KvCaches<Kv, Block> = { readonly kvs?: Iterable<Kv>; readonly blocks?: Iterable<Block> };

/** Room ahead included. */
export const cacheBytes = <Kv, Block>(
  port: KvBlocks<Kv, Block>,
  { kvs = [], blocks = [] }: KvCaches<Kv, Block>,
): number => {
  let bytes = 0;
  for (const kv of kvs) bytes += port.bytes(kv);
  for (const block of blocks) bytes += port.blockBytes(block);
  return bytes;
};

/** A copy of the first `length` tokens that grows on its own; the source may go on growing too. */
export const cloneKvCaches = <Kv, Block>(
  port: KvBlocks<Kv, Block>,
  kv: Kv,
  { length, capacity }: { readonly length: number; readonly capacity: number },
): Kv => port.clone(kv, length, capacity);

/** Frees each once, also when it is listed twice, and also when freeing another one throws; then throws that. */
export const disposeResources = <Kv, Block>(
  port: KvBlocks<Kv, Block>,
  { kvs = [], blocks = [] }: KvCaches<Kv, Block>,
): void => {
  using all = new DisposableStack();
  for (const kv of new Set(kvs)) all.defer(() => port.dispose(kv));
  for (const block of new Set(blocks)) all.defer(() => port.disposeBlock(block));
};
