import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inspectSetup } from "../../src-bun/setup/inspect.ts";
import { writeStamp } from "../../src-bun/setup/part-stamp.ts";
import { setupParts } from "../../src-bun/setup/setup.ts";
import { FakeTools } from "./fake-tools.ts";

let tools: FakeTools;
beforeEach(() => {
  tools = new FakeTools(["python3", "g++"]);
});
afterEach(() => tools[Symbol.dispose]());

const inspect = () =>
  inspectSetup(
    {
      cacheFolder: tools.cacheFolder,
      givenLibraryFolder: null,
      environment: tools.environment,
      signal: new AbortController().signal,
    },
    "linux-x64",
  );

test("each part is ready with its version, missing, or broken with the reason and what to do", async () => {
  const [mlx, blas] = setupParts(tools.cacheFolder, null, "linux-x64");
  for (const part of [mlx, blas]) {
    if (part === undefined) throw new Error("no such part");
    const folder = join(tools.cacheFolder, part.folder);
    for (const file of part.files) {
      mkdirSync(join(folder, file, ".."), { recursive: true });
      writeFileSync(join(folder, file), "library");
    }
    writeStamp(folder, part);
  }
  truncateSync(join(tools.cacheFolder, blas?.folder ?? "", blas?.files[0] ?? ""), 2);
  const { parts } = await inspect();
  expect(parts.map(({ state }) => state)).toEqual(["ready", "broken", "missing", "missing", "missing"]);
  expect(parts[0]).toMatchObject({ title: "MLX 0.32.2", version: "0.32.2" });
  expect(parts[1]?.detail).toMatch(/libscipy_openblas\.so has 2 bytes instead of 7\. Run "npm run keepwarm -- setup"/);
  expect(parts[2]?.detail).toContain('Run "npm run keepwarm -- setup"');
});

test("a stamp that cannot be read makes the part broken, not ready", async () => {
  const [mlx] = setupParts(tools.cacheFolder, null, "linux-x64");
  const folder = join(tools.cacheFolder, mlx?.folder ?? "");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "keepwarm-stamp.json"), '{"recipe": 3');
  expect((await inspect()).parts[0]).toMatchObject({ state: "broken" });
});

test("each tool is found with its version, or named with how to get it", async () => {
  const found = (await inspect()).tools;
  expect(found.map(({ title, state, version }) => [title, state, version])).toEqual([
    ["python3", "ready", "3.11.2"],
    ["pip", "ready", "23.2.1"],
    ["cargo", "missing", null],
    ["c++", "ready", "12.2.0"],
  ]);
  expect(found[2]?.detail).toContain("rustup");
});
