import { expect, test } from "bun:test";
import { resolvePaths } from "../../src-bun/platform/paths.ts";

test("on Linux data and downloads follow the XDG folders", () => {
  expect(resolvePaths("linux", {}, "/home/a")).toEqual({
    data: "/home/a/.local/share/keepwarm",
    promptCache: "/home/a/.local/share/keepwarm/cache.noindex",
    downloads: "/home/a/.cache/keepwarm",
  });
  const moved = resolvePaths("linux", { XDG_DATA_HOME: "/data", XDG_CACHE_HOME: "relative" }, "/home/a");
  expect(moved.data).toBe("/data/keepwarm");
  expect(moved.downloads).toBe("/home/a/.cache/keepwarm");
});

test("on macOS they lie in the Library", () => {
  const paths = resolvePaths("darwin", { XDG_DATA_HOME: "/data" }, "/Users/a");
  expect(paths.promptCache).toBe("/Users/a/Library/Application Support/Keepwarm/cache.noindex");
  expect(paths.downloads).toBe("/Users/a/Library/Caches/Keepwarm");
});

test("KEEPWARM_HOME moves everything, KEEPWARM_DOWNLOADS only what can be fetched again", () => {
  expect(resolvePaths("linux", { KEEPWARM_HOME: "/kw" }, "/home/a").downloads).toBe("/kw/downloads");
  const paths = resolvePaths("darwin", { KEEPWARM_HOME: "/kw", KEEPWARM_DOWNLOADS: "/shared" }, "/Users/a");
  expect(paths).toEqual({ data: "/kw", promptCache: "/kw/cache.noindex", downloads: "/shared" });
});
