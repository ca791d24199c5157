import { expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openFilesystem } from "../../src-bun/platform/filesystem.ts";
import { type Frame, readHead } from "../../src-bun/storage/frame.ts";
import { forkAt, keep, restoreInto, StoreBench, tokenIds } from "./plain-tensors.ts";

const fileOf = (bench: StoreBench): string => {
  const name = readdirSync(bench.folder).find((each) => each.endsWith(".kv"));
  if (name === undefined) throw new Error("no file");
  return join(bench.folder, name);
};

const framesOf = (path: string): Frame[] => {
  const files = openFilesystem();
  const fd = files.open(path, "read");
  const frames: Frame[] = [];
  for (let at = 0; ; at = frames.at(-1)?.end ?? 0) {
    const frame = readHead(files, fd, at);
    if (frame === null) break;
    frames.push(frame);
  }
  files.close(fd);
  return frames;
};

const flip = (path: string, at: number): void => {
  const bytes = readFileSync(path);
  bytes[at] = (bytes[at] ?? 0) ^ 0x10;
  writeFileSync(path, bytes);
};

/** Three saves: tokens 0–256, 256–512, and a fork of the first at 100. */
const prompt = tokenIds(512);
const fork = forkAt(prompt, 100, 80, 3);
const started = async () => {
  const bench = await StoreBench.start();
  const store = await bench.open();
  await keep(store, prompt.subarray(0, 256));
  await keep(store, prompt);
  await keep(store, fork);
  const frames = framesOf(fileOf(bench));
  expect(frames.map(({ record }) => record.kind)).toEqual(["file", "block", "block", "block"]);
  const [file, first, second, third] = frames;
  if (!file || !first || !second || !third) throw new Error("frames are missing");
  return { bench, store, file, first, second, third };
};

/** Every offered token is restored right, or refused with a reason; never wrong, never an exception. */
const expectHonest = async (bench: StoreBench, tokens: Uint32Array): Promise<number> => {
  const store = await bench.open();
  const offered = store.longestDurablePrefix(tokens, "model");
  if (offered === 0) return 0;
  const { outcome, isRight } = await restoreInto(store, tokens, offered);
  if (outcome.kind === "hit") {
    expect(isRight).toBe(true);
    return offered;
  }
  expect(outcome.reason).not.toBe("");
  expect(store.longestDurablePrefix(tokens, "model")).toBe(outcome.goodTokens);
  return outcome.goodTokens;
};

test("a byte flipped in a block's tensors is a miss that says what is good, and stays one after a restart", async () => {
  const { bench, store, second } = await started();
  await using _ = bench;
  flip(fileOf(bench), second.payloadOffset + 1000);
  const { outcome } = await restoreInto(store, prompt, 512);
  expect(outcome).toMatchObject({
    kind: "miss",
    isDamage: true,
    goodTokens: 256,
    reason: expect.stringContaining("not what was"),
  });
  expect(store.longestDurablePrefix(prompt, "model")).toBe(256);
  expect((await restoreInto(store, fork, fork.length)).isRight).toBe(true);

  const again = await bench.open();
  expect(again.longestDurablePrefix(prompt, "model")).toBe(256);
  expect(await keep(again, prompt)).toBe(true);
  expect((await restoreInto(await bench.open(), prompt, 512)).isRight).toBe(true);
});

test("what continues a damaged block leaves with it and can be stored anew", async () => {
  const { bench, store, first } = await started();
  await using _ = bench;
  flip(fileOf(bench), first.payloadOffset);
  expect((await restoreInto(store, fork, 180)).outcome).toMatchObject({ kind: "miss", goodTokens: 0 });
  expect(store.usage().blocks).toBe(0);
  expect((await bench.open()).usage().blocks).toBe(0);
  const again = await bench.open();
  expect(await keep(again, prompt)).toBe(true);
  expect((await restoreInto(await bench.open(), prompt, 512)).isRight).toBe(true);
});

test("a byte flipped anywhere in the file gives right bytes or a miss with a reason", async () => {
  const { bench, file, first, second, third } = await started();
  await using _ = bench;
  const path = fileOf(bench);
  const good = readFileSync(path);
  const regions = [file, first, second, third].flatMap((frame) => [
    ...[0, 8, 16, 24, 32, 36, 40, frame.headBytes - 1].map((at) => frame.offset + at),
    ...(frame.payloadBytes > 0 ? [0, frame.payloadBytes - 1].map((at) => frame.payloadOffset + at) : []),
    frame.end - 1,
  ]);
  for (const at of regions) {
    flip(path, at);
    const [one, other] = [await expectHonest(bench, prompt), await expectHonest(bench, fork)];
    if (at >= second.offset && at < second.end) expect([one >= 256, other]).toEqual([true, 180]);
    await bench.open();
    writeFileSync(path, good);
  }
  expect([await expectHonest(bench, prompt), await expectHonest(bench, fork)]).toEqual([512, 180]);
});

test("a damaged head hides its own block only, and nothing behind it is cut", async () => {
  const { bench, second } = await started();
  await using _ = bench;
  const path = fileOf(bench);
  const size = statSync(path).size;
  flip(path, second.offset + 50);
  expect(await expectHonest(bench, prompt)).toBe(256);
  expect(await expectHonest(bench, fork)).toBe(180);
  expect(statSync(path).size).toBe(size);
  expect(bench.log.join()).toContain("passed over");
});

test("a file that ends anywhere gives what is whole, and takes the next save", async () => {
  const { bench, file, first, second, third } = await started();
  await using _ = bench;
  const path = fileOf(bench);
  const good = readFileSync(path);
  const ends = [file, first, second, third].flatMap((frame) => [
    ...[0, 1, 20, 40, frame.headBytes - 1, frame.headBytes, frame.headBytes + 1].map((at) => frame.offset + at),
    frame.payloadOffset + frame.payloadBytes - 1,
    frame.end - 1,
    frame.end,
  ]);
  for (const end of new Set(ends.filter((each) => each <= good.length))) {
    truncateSync(path, end);
    const expected = end >= second.end ? 512 : end >= first.end ? 256 : 0;
    expect(await expectHonest(bench, prompt)).toBe(expected);
    const store = await bench.open();
    expect(await keep(store, prompt)).toBe(true);
    expect(await expectHonest(bench, prompt)).toBe(512);
    for (const name of readdirSync(bench.folder))
      if (name.includes("-000002")) await Bun.file(join(bench.folder, name)).delete();
    writeFileSync(path, good);
  }
});

test("a file that is cut or deleted while the store is open is a miss, and the next save goes elsewhere", async () => {
  const { bench, store, second } = await started();
  await using _ = bench;
  const path = fileOf(bench);
  truncateSync(path, second.payloadOffset + 100);
  expect((await restoreInto(store, prompt, 512)).outcome).toMatchObject({ kind: "miss", goodTokens: 256 });
  expect((await restoreInto(store, prompt, 256)).isRight).toBe(true);
  await Bun.file(path).delete();
  expect((await restoreInto(store, prompt, 256)).outcome).toMatchObject({ kind: "miss", goodTokens: 0 });
  await keep(store, prompt);
  expect(await keep(store, prompt)).toBe(true);
  expect(await expectHonest(bench, prompt)).toBe(512);
});
