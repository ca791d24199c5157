import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildView } from "../../src-bun/host/view-bundle.ts";

const folder = mkdtempSync(join(tmpdir(), "keepwarm-"));
afterAll(() => rmSync(folder, { recursive: true }));

const write = (name: string, text: string): Promise<number> => Bun.write(join(folder, name), text);
const shell = '<link rel="stylesheet" href="/assets/main.css"><script type="module" src="/assets/main.js"></script>';

test("the shell names the built files, and these name each other", async () => {
  await write("index.html", shell);
  await write("main.css", "body { color: red }");
  await write("lazy.ts", 'export const lazy = "lazily";');
  await write("mark.svg", "<svg/>");
  const mode = ["process", "env", "NODE_ENV"].join(".");
  await write(
    "main.tsx",
    `import "./main.css"; import mark from "./mark.svg"; console.log(mark, ${mode}); void import("./lazy.ts");`,
  );
  const view = await buildView(folder);
  expect(view.shell.type).toBe("text/html; charset=utf-8");

  const named = [...String(view.shell.body).matchAll(/"(\/assets\/[^"]+)"/g)].map((match) => match[1] ?? "");
  expect(named.length).toBe(2);
  const [style, script] = named.map((path) => view.assets.get(path));
  expect(style?.type).toStartWith("text/css");
  expect(script?.type).toStartWith("text/javascript");

  const text = await new Response(script?.body).text();
  expect(text).toContain('"production"');
  const others = new Set(
    [...text.matchAll(/"(?:\/assets|\.)\/([^"]+\.(?:js|svg))"/g)].map((match) => `/assets/${match[1]}`),
  );
  expect([...view.assets.keys()].sort()).toEqual([...named, ...others].sort());
});

test("a page that cannot be built is said so", async () => {
  await write("index.html", shell);
  await write("main.tsx", "const = ;");
  await expect(buildView(folder)).rejects.toMatchObject({ code: "setup-failed" });
  await write("main.tsx", "console.log(1);");
  await expect(buildView(folder)).rejects.toThrow(/main\.css/);
});
