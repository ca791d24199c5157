import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensureSetup, setupParts } from "../../src-bun/setup/setup.ts";
import { macPartsByZig } from "../../src-bun/setup/setup-parts.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "keepwarm-setup-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe("the parts of a machine", () => {
  test("Linux gets OpenBLAS and a compiler of its own, a Mac without Apple's compiler gets Zig's", () => {
    const ids = (parts: readonly { readonly id: string }[]) => parts.map(({ id }) => id);
    expect(ids(setupParts(folder, null, "linux-x64"))).toEqual(["mlx", "openblas", "mlx-c", "libmlxc", "starter"]);
    expect(ids(macPartsByZig("darwin-arm64"))).toEqual(["mlx", "mlx-c", "zig", "libmlxc"]);
  });

  test("a given library folder leaves only the starter model, on any machine", () => {
    expect(setupParts(folder, "/somewhere", "linux-arm64").map(({ id }) => id)).toEqual(["starter"]);
  });

  test("another machine is refused with what would work", () => {
    expect(() => setupParts(folder, null, "win32-x64")).toThrow(/cannot be set up on win32-x64.*Apple silicon/);
  });

  test("two versions of a part never share a folder", () => {
    const parts = [...setupParts(folder, null, "linux-x64"), ...macPartsByZig("linux-x64")];
    for (const { folder: name, version } of parts) expect(name).toContain(version);
    const folders = new Set(parts.map((part) => `${part.folder} ${part.recipe}`));
    expect(new Set(parts.map((part) => part.folder)).size).toBe(folders.size);
  });
});

test("a given library folder without libmlxc is named, before anything is fetched", async () => {
  writeFileSync(join(folder, "other"), "");
  const setup = ensureSetup({
    cacheFolder: join(folder, "cache"),
    givenLibraryFolder: folder,
    environment: { PATH: "" },
    onProgress: () => expect.unreachable(),
    signal: new AbortController().signal,
  });
  await expect(setup).rejects.toMatchObject({ code: "setup-failed", message: expect.stringContaining(folder) });
});
