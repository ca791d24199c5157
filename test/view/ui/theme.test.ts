import { expect, test } from "bun:test";
import type { PageStorage } from "../../../src-view/page-storage.ts";
import { findTheme, keepTheme, themeInUse } from "../../../src-view/ui/theme.ts";

const memory = (): PageStorage => {
  const kept = new Map<string, string>();
  return { find: (key) => kept.get(key) ?? null, keep: (key, value) => kept.set(key, value).size > 0 };
};

test("the choice is remembered, and anything else means the system's", () => {
  const storage = memory();
  expect(findTheme(storage)).toBe("system");
  keepTheme(storage, "dark");
  expect(findTheme(storage)).toBe("dark");
  storage.keep("keepwarm.theme", "purple");
  expect(findTheme(storage)).toBe("system");
});

test("the system decides only when it was asked to", () => {
  expect(themeInUse("system", true)).toBe("dark");
  expect(themeInUse("system", false)).toBe("light");
  expect(themeInUse("light", true)).toBe("light");
  expect(themeInUse("dark", false)).toBe("dark");
});
