import { expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openFilesystem } from "../../src-bun/platform/filesystem.ts";

const inFolder = (body: (folder: string) => void): void => {
  const folder = mkdtempSync(join(tmpdir(), "keepwarm-fs-"));
  try {
    body(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
};

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);

test("views are written to and read from a place of the file in one call", () =>
  inFolder((folder) => {
    const files = openFilesystem();
    const fd = files.open(join(folder, "a"), "create");
    expect(files.write(fd, [bytes(1, 2), bytes(3)], 5)).toBe(3);
    files.flush(fd);
    files.flushFolder(folder);
    expect(files.sizeBytes(fd)).toBe(8);
    const [first, second] = [new Uint8Array(2), new Uint8Array(9)];
    expect(files.read(fd, [first, second], 5)).toBe(3);
    expect([first[0], first[1], second[0]]).toEqual([1, 2, 3]);
    expect(files.read(fd, [first], 8)).toBe(0);
    files.truncate(fd, 6);
    expect(files.sizeBytes(fd)).toBe(6);
    files.close(fd);
    files.rename(join(folder, "a"), join(folder, "b"));
    expect(files.list(folder)).toEqual(["b"]);
    files.unlink(join(folder, "b"));
    expect(existsSync(join(folder, "b"))).toBe(false);
  }));

test("a new file is this user's alone, and an existing one is not made again", () =>
  inFolder((folder) => {
    const files = openFilesystem();
    files.close(files.open(join(folder, "a"), "create"));
    expect(statSync(join(folder, "a")).mode & 0o777).toBe(0o600);
    expect(() => files.open(join(folder, "a"), "create")).toThrow("could not be opened");
  }));

test("a link in place of a file or a folder is refused and its target left alone", () =>
  inFolder((folder) => {
    const files = openFilesystem();
    writeFileSync(join(folder, "target"), "kept");
    symlinkSync(join(folder, "target"), join(folder, "link"));
    expect(() => files.open(join(folder, "link"), "update")).toThrow(
      expect.objectContaining({ code: "invalid-reference" }),
    );
    mkdirSync(join(folder, "other"));
    symlinkSync(join(folder, "other"), join(folder, "cache"));
    expect(() => files.makeFolder(join(folder, "cache"))).toThrow("is not a folder");
  }));

test("a folder that others may enter is closed to them", () =>
  inFolder((folder) => {
    const files = openFilesystem();
    const path = join(folder, "deep", "cache");
    files.makeFolder(path);
    expect(statSync(path).mode & 0o777).toBe(0o700);
    chmodSync(path, 0o777);
    files.makeFolder(path);
    expect(statSync(path).mode & 0o777).toBe(0o700);
  }));

test("a missing file and the free space are told", () =>
  inFolder((folder) => {
    const files = openFilesystem();
    expect(() => files.open(join(folder, "none"), "read")).toThrow(
      expect.objectContaining({ code: "invalid-reference" }),
    );
    const { freeBytes, totalBytes } = files.space(folder);
    expect(freeBytes).toBeGreaterThan(0);
    expect(totalBytes).toBeGreaterThan(freeBytes);
  }));
