import { expect, test } from "bun:test";
import { cacheBytes, cloneKvCaches, disposeResources } from "../../src-bun/cache/kv-caches.ts";
import { FakeKvBlocks, tokens } from "./fake-kv-blocks.ts";

const setUp = () => {
  const port = new FakeKvBlocks();
  const kv = port.allocate(8);
  port.compute(kv, tokens(1, 2, 3, 4));
  return { port, kv, block: port.cut(kv, 1, 3) };
};

test("bytes are those of live KV with its room, and of blocks", () => {
  const { port, kv, block } = setUp();
  expect(cacheBytes(port, { kvs: [kv], blocks: [block] })).toBe(10);
  expect(cacheBytes(port, {})).toBe(0);
});

test("a copy shares nothing: either may grow, or go, without the other", () => {
  const { port, kv } = setUp();
  const copy = cloneKvCaches(port, kv, { length: 3, capacity: 5 });
  port.compute(kv, tokens(1, 2, 3, 4, 5));
  expect([...copy.content]).toEqual([1, 2, 3]);
  disposeResources(port, { kvs: [kv] });
  expect([copy.isDisposed, copy.capacity]).toEqual([false, 5]);
});

test("each is freed once, also when it is listed twice or another one fails", () => {
  const { port, kv, block } = setUp();
  const gone = port.allocate(1);
  port.dispose(gone);
  expect(() => disposeResources(port, { kvs: [kv, gone, kv], blocks: [block, block] })).toThrow("disposed of twice");
  expect([kv.isDisposed, block.isDisposed, port.bytesAlive]).toEqual([true, true, 0]);
});
