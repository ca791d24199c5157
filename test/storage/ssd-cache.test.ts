import { expect, test } from "bun:test";
import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { cutBlocks, fillKv, forkAt, hold, keep, plainKv, restoreInto, StoreBench, tokenIds } from "./plain-tensors.ts";

test("a stored prompt is restored byte for byte by a new store", async () => {
  await using bench = await StoreBench.start();
  const tokens = tokenIds(1000);
  expect(await keep(await bench.open(), tokens)).toBe(true);

  const again = await bench.open();
  expect(again.longestDurablePrefix(tokens, "model")).toBe(1000);
  expect(again.hasDurablePrefix(tokens, "model")).toBe(true);
  for (const length of [1000, 999, 768, 700, 1]) {
    const { outcome, isRight } = await restoreInto(again, tokens, length);
    expect(outcome).toEqual({ kind: "hit", tokens: length });
    expect(isRight).toBe(true);
  }
  expect(again.usage()).toMatchObject({ blocks: 4, namespaces: 1 });
  expect(bench.log).toEqual([]);
});

test("a prompt that parts inside a block rewrites nothing and both are restored", async () => {
  await using bench = await StoreBench.start();
  const first = tokenIds(600);
  const second = forkAt(first, 300, 200, 9);
  const third = forkAt(second, 310, 100, 17);
  const store = await bench.open();
  await keep(store, first);
  const before = store.usage().bytes;
  expect(store.longestDurablePrefix(second, "model")).toBe(300);
  expect(await keep(store, second)).toBe(true);
  expect(await keep(store, third)).toBe(true);
  expect(store.usage().bytes - before).toBeLessThan(before);

  const again = await bench.open();
  for (const tokens of [first, second, third]) {
    const { outcome, isRight } = await restoreInto(again, tokens, tokens.length);
    expect(outcome.kind).toBe("hit");
    expect(isRight).toBe(true);
  }
});

test("what is durable already is not written again, also inside a block that is given whole", async () => {
  await using bench = await StoreBench.start();
  const store = await bench.open();
  const tokens = tokenIds(300);
  await keep(store, tokens.subarray(0, 100));
  const kv = plainKv(300);
  fillKv(kv, tokens);
  expect(await store.storeAsync(tokens, cutBlocks(kv, 0, 300), "model")).toBe(true);
  const perToken = kv.reduce((sum, { bytes }) => sum + bytes.length, 0) / 300;
  expect(bench.kvWriter.lastMetrics?.reusedBytes).toBe(100 * perToken);
  const before = store.usage();
  expect(await store.storeAsync(tokens, cutBlocks(kv, 0, 300), "model")).toBe(true);
  expect(await store.storeAsync(tokens.subarray(0, 120), [], "model")).toBe(true);
  expect(store.usage()).toEqual(before);
  expect((await restoreInto(store, tokens, 300)).isRight).toBe(true);
  hold(kv);
});

test("saves asked for at once are made in turn", async () => {
  await using bench = await StoreBench.start();
  const store = await bench.open();
  const prompts = [tokenIds(300), tokenIds(200, 5), forkAt(tokenIds(300), 150, 80, 6)];
  expect(await Promise.all(prompts.map((tokens) => keep(store, tokens)))).toEqual([true, true, true]);
  for (const tokens of prompts) expect((await restoreInto(store, tokens, tokens.length)).isRight).toBe(true);
});

test("a restore that failed without any damage says so, and what is stored stays offered", async () => {
  await using bench = await StoreBench.start();
  const store = await bench.open();
  const tokens = tokenIds(40);
  await keep(store, tokens);
  await bench.kvReader.close();
  const { outcome } = await restoreInto(store, tokens, 40);
  expect(outcome).toMatchObject({ kind: "miss", isDamage: false });
  expect(store.longestDurablePrefix(tokens, "model")).toBe(40);
});

test("namespaces do not see each other, and their names stay out of file names", async () => {
  await using bench = await StoreBench.start();
  const store = await bench.open();
  const tokens = tokenIds(40);
  await keep(store, tokens, { ns: "../secret" });
  expect(store.longestDurablePrefix(tokens, "model")).toBe(0);
  expect(await restoreInto(store, tokens, 40)).toMatchObject({ outcome: { kind: "miss", goodTokens: 0 } });
  expect(readdirSync(bench.folder).sort()).toEqual([expect.stringMatching(/^[0-9a-f]{32}-000001\.kv$/), "lock"]);
  expect((await bench.open()).longestDurablePrefix(tokens, "../secret")).toBe(40);
});

test("only this user may read the folder and its files", async () => {
  await using bench = await StoreBench.start();
  await keep(await bench.open(), tokenIds(10));
  expect(lstatSync(bench.folder).mode & 0o777).toBe(0o700);
  for (const name of readdirSync(bench.folder)) expect(lstatSync(join(bench.folder, name)).mode & 0o777).toBe(0o600);
});

test("blocks that leave a gap or do not fit are refused and change nothing", async () => {
  await using bench = await StoreBench.start();
  const store = await bench.open();
  const tokens = tokenIds(600);
  const kv = plainKv(600);
  const odd = plainKv(600, 2);
  expect(await store.storeAsync(tokens, cutBlocks(kv, 256, 600), "model")).toBe(false);
  expect(await store.storeAsync(tokens, cutBlocks(kv, 0, 512, 512), "model")).toBe(false);
  fillKv(kv, tokens);
  expect(await store.storeAsync(tokens, cutBlocks(kv, 0, 256), "model")).toBe(false);
  expect(store.longestDurablePrefix(tokens, "model")).toBe(256);
  expect(await store.storeAsync(tokens, cutBlocks(odd, 256, 600), "model")).toBe(false);
  expect(store.longestDurablePrefix(tokens, "model")).toBe(256);
  expect(store.health).toEqual({ kind: "up" });
  for (const each of [kv, odd]) hold(each);
});

test("a second store on the same folder is told that it is busy", async () => {
  await using bench = await StoreBench.start();
  const store = await bench.open();
  const other = await StoreBench.start();
  const { SsdCacheStore } = await import("../../src-bun/storage/ssd-cache.ts");
  const { openFilesystem } = await import("../../src-bun/platform/filesystem.ts");
  const { kvWriter, kvReader } = other;
  const options = { folder: bench.folder, kvWriter, kvReader, filesystem: openFilesystem() };
  await expect(SsdCacheStore.open(options)).rejects.toMatchObject({ code: "busy" });
  await store.close();
  await (await SsdCacheStore.open(options)).close();
  await other[Symbol.asyncDispose]();
});

test("after it was closed a store saves nothing more", async () => {
  await using bench = await StoreBench.start();
  const store = await bench.open();
  await store.close();
  expect(await keep(store, tokenIds(10))).toBe(false);
});
