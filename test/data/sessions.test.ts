import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findPrivateText, putPrivateText } from "../../src-bun/data/private-file.ts";
import { openSessions, SESSION_LIFETIME_MS } from "../../src-bun/data/sessions.ts";

const folder = mkdtempSync(join(tmpdir(), "keepwarm-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("a session outlives the process; of its secret only the hash is stored", () => {
  const path = join(folder, "sessions.json");
  const secret = openSessions(path, () => 0).create();
  const later = openSessions(path, () => 1);
  expect(later.has(secret)).toBe(true);
  expect(later.has(`${secret}x`)).toBe(false);
  expect(later.has("")).toBe(false);
  expect(findPrivateText(path)).not.toContain(secret);
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test("a session ends after its time", () => {
  let now = 0;
  const sessions = openSessions(join(folder, "expiring.json"), () => now);
  const secret = sessions.create();
  now = SESSION_LIFETIME_MS - 1;
  expect(sessions.has(secret)).toBe(true);
  now = SESSION_LIFETIME_MS;
  expect(sessions.has(secret)).toBe(false);
});

test("at most 32 browsers are let in, the oldest leaves first", () => {
  const sessions = openSessions(join(folder, "many.json"), () => 0);
  const secrets = Array.from({ length: 33 }, () => sessions.create());
  expect(secrets.map((secret) => sessions.has(secret))).toEqual(secrets.map((_, at) => at > 0));
});

test("a damaged file is said to be damaged", () => {
  for (const text of ["{", "{}", '{"version":1,"sessions":[{"hash":"../x","expiresAtMs":1}]}']) {
    const path = join(folder, "damaged.json");
    putPrivateText(path, text);
    expect(() => openSessions(path, () => 0)).toThrow(/is damaged/);
  }
});
