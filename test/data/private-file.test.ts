import { afterAll, expect, test } from "bun:test";
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openApiToken } from "../../src-bun/data/api-token.ts";
import { createPrivateText, findPrivateText, putPrivateText } from "../../src-bun/data/private-file.ts";

const folder = mkdtempSync(join(tmpdir(), "keepwarm-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("a private file is this user's alone, and nothing is left beside it", () => {
  const path = join(folder, "new", "file");
  expect(findPrivateText(path)).toBeNull();
  putPrivateText(path, "one");
  putPrivateText(path, "two");
  expect(findPrivateText(path)).toBe("two");
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readdirSync(join(folder, "new"))).toEqual(["file"]);
});

test("of two that create it, the first wins", () => {
  const path = join(folder, "created");
  expect(createPrivateText(path, "first")).toBe(true);
  expect(createPrivateText(path, "second")).toBe(false);
  expect(findPrivateText(path)).toBe("first");
  expect(readdirSync(folder).filter((name) => name.startsWith("created."))).toEqual([]);
});

test("a file that others may read, a link and a folder are refused", () => {
  const open = join(folder, "open");
  writeFileSync(open, "seen");
  chmodSync(open, 0o644);
  expect(() => findPrivateText(open)).toThrow(/Other users .*mode 644/);
  const link = join(folder, "link");
  symlinkSync(open, link);
  expect(() => findPrivateText(link)).toThrow(/could not be opened/);
  expect(() => findPrivateText(folder)).toThrow(/is not a file/);
});

test("the API token is made once, and a damaged one is not replaced in silence", () => {
  const path = join(folder, "api-token");
  const token = openApiToken(path);
  expect(token).toMatch(/^kw-[A-Za-z0-9_-]{43}$/);
  expect(openApiToken(path)).toBe(token);
  expect(openApiToken(join(folder, "other-token"))).not.toBe(token);
  putPrivateText(path, "");
  expect(() => openApiToken(path)).toThrow(/holds no API token/);
});
