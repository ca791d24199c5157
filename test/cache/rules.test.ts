import { expect, test } from "bun:test";
import { join } from "node:path";
import { Glob } from "bun";

const root = join(import.meta.dir, "../..");

test("every rule of RULES.md has a test, and every number in a test's name is a rule", async () => {
  const rules = await Bun.file(join(root, "src-bun/cache/RULES.md")).text();
  const written = new Set([...rules.matchAll(/^- \*\*(R\d+)\*\*/gm)].map((match) => match[1]));
  const tested = new Set<string | undefined>();
  for await (const file of new Glob("test/{cache,engine}/**/*.test.ts").scan(root)) {
    const text = await Bun.file(join(root, file)).text();
    for (const [, name] of text.matchAll(/\btest\(\s*["`]((?:R\d+ )+)/g))
      for (const id of name?.trim().split(" ") ?? []) tested.add(id);
  }
  expect([...tested].sort()).toEqual([...written].sort());
});
