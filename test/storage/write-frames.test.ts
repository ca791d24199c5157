import { type Pointer, toArrayBuffer } from "bun:ffi";
import { expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { KeepwarmError } from "../../src-bun/base/errors.ts";
import { type Filesystem, openFilesystem } from "../../src-bun/platform/filesystem.ts";
import type { WriteRequest } from "../../src-bun/storage/kv-jobs.ts";
import { readFrame } from "../../src-bun/storage/read-frame.ts";
import { StoredNamespace } from "../../src-bun/storage/stored-namespace.ts";
import { type StoredTensorView, tokenSlice } from "../../src-bun/storage/stored-tensor-view.ts";
import type { Memory } from "../../src-bun/storage/strided-bytes.ts";
import { writeFrames } from "../../src-bun/storage/write-frames.ts";
import { cutBlocks, fillKv, hold, plainKv, tokenIds } from "./plain-tensors.ts";

const memory: Memory = (pointer, bytes) => new Uint8Array(toArrayBuffer(pointer as Pointer, 0, bytes));
const key = "cd".repeat(32);
const real = openFilesystem();

/** The disk as the system shows it, but for the calls given. */
const faulty = (over: Partial<Filesystem>): Filesystem => ({ ...real, ...over });

const withFile = (body: (path: string, request: (offset: number) => WriteRequest, keys: string[]) => void): void => {
  const folder = mkdtempSync(join(tmpdir(), "keepwarm-frames-"));
  const tokens = tokenIds(300);
  const kv = plainKv(300);
  fillKv(kv, tokens);
  const { frames } = new StoredNamespace("model", key).plan(tokens, cutBlocks(kv, 0, 300));
  const path = join(folder, "a.kv");
  const first = { header: { kind: "file", namespace: "model", key } as const, tensors: [] };
  const request = (offset: number): WriteRequest => ({
    path,
    offset,
    frames: offset === 0 ? [first, ...frames] : frames,
  });
  try {
    body(
      path,
      request,
      frames.map(({ header }) => header.key),
    );
    hold(kv);
  } finally {
    rmSync(folder, { recursive: true });
  }
};

const refusal = (code: string) => expect.objectContaining({ code });

test("calls that stop short are repeated until all is written and read", () =>
  withFile((path, request, keys) => {
    const short = faulty({
      write: (fd, [first = new Uint8Array(0)], at) => real.write(fd, [first.subarray(0, 777)], at),
      read: (fd, [first = new Uint8Array(0)], at) => real.read(fd, [first.subarray(0, 999)], at),
    });
    const { written } = writeFrames(short, memory, request(0));
    const got = plainKv(256);
    const right = plainKv(256);
    fillKv(right, tokenIds(256));
    const destinations = got.map(({ view }) => view);
    readFrame(short, memory, { path, offset: written?.frames[1]?.offset ?? 0, key: keys[0] ?? "", destinations });
    expect(got.map(({ bytes }) => bytes)).toEqual(right.map(({ bytes }) => bytes));
  }));

test("a failed save leaves the file as it was, whichever call fails", () =>
  withFile((path, request) => {
    const end = writeFrames(real, memory, request(0)).written?.end ?? 0;
    const before = readFileSync(path);
    for (const [name, code] of [
      ["write", "no-space"],
      ["flush", "flush-failed"],
    ] as const) {
      let left = 3;
      const fail = () => {
        throw new KeepwarmError(code, "The disk is full.");
      };
      const write: Filesystem["write"] = (fd, views, at) => {
        left -= 1;
        return left === 0 ? fail() : real.write(fd, views, at);
      };
      const disk = faulty(name === "write" ? { write } : { flush: fail });
      expect(() => writeFrames(disk, memory, request(end))).toThrow(refusal(code));
      expect(readFileSync(path).equals(before)).toBe(true);
    }
  }));

test("a new file that could not be finished is removed", () =>
  withFile((path, request) => {
    const flush = () => {
      throw new KeepwarmError("flush-failed", "The drive did not answer.");
    };
    expect(() => writeFrames(faulty({ flush }), memory, request(0))).toThrow(refusal("flush-failed"));
    expect(existsSync(path)).toBe(false);
  }));

test("writing that stops is told as no progress, and a file shorter than what was stored as truncated", () =>
  withFile((path, request) => {
    expect(() => writeFrames(faulty({ write: () => 0 }), memory, request(0))).toThrow(refusal("no-progress"));
    const end = writeFrames(real, memory, request(0)).written?.end ?? 0;
    expect(() => writeFrames(real, memory, request(end + 4096))).toThrow(refusal("truncated"));
    expect(existsSync(path)).toBe(true);
  }));

test("tensors that differ from their description are refused", () =>
  withFile((path, request) => {
    const [file, block] = request(0).frames;
    if (file === undefined || block === undefined) throw new Error("no frames");
    const fewer = { ...block, tensors: block.tensors.slice(1) };
    const other = { ...block, tensors: block.tensors.map((view) => ({ ...view, shape: view.shape.with(-2, 7) })) };
    for (const odd of [fewer, other])
      expect(() => writeFrames(real, memory, { path, offset: 0, frames: [file, odd] })).toThrow(
        refusal("length-drift"),
      );
  }));

test("a block under another key, a broadcast destination and a longer one are refused", () =>
  withFile((path, request, keys) => {
    const offset = writeFrames(real, memory, request(0)).written?.frames[1]?.offset ?? 0;
    const kv = plainKv(257);
    const views = kv.map(({ view }) => tokenSlice(view, 0, 256));
    const read = (destinations: readonly StoredTensorView[], as = keys[0] ?? "") =>
      readFrame(real, memory, { path, offset, key: as, destinations });
    expect(() => read(views, key)).toThrow(refusal("invalid-reference"));
    expect(() => read(views.map((view) => ({ ...view, strides: view.strides.with(0, 0) })))).toThrow(
      refusal("invalid-reference"),
    );
    expect(() => read(kv.map(({ view }) => view))).toThrow(refusal("length-drift"));
    read(views);
  }));
