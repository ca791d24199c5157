// Holds every import in the sources against the table of layers, and every outside thing against its one door.
import { expect, test } from "bun:test";
import { dirname, join, normalize, relative } from "node:path";
import { Glob, Transpiler } from "bun";

const root = join(import.meta.dir, "..");

/** What each folder may import, by folder or by single file (README, "Layers"). */
const mayImport: Record<string, readonly string[]> = {
  base: [],
  contract: [],
  platform: ["base"],
  mlx: ["base"],
  storage: ["platform", "base", "contract"],
  model: ["mlx", "platform", "base"],
  cache: ["storage/ssd-cache.ts", "base", "contract"],
  engine: ["model", "cache", "storage", "mlx", "platform", "contract", "base"],
  data: ["platform", "contract", "base"],
  setup: ["platform", "contract", "base"],
  server: ["engine/engine.ts", "data", "contract", "base"],
  host: [
    "base",
    "contract",
    "mlx/library.ts",
    "platform",
    "storage",
    "cache",
    "model",
    "engine",
    "data",
    "setup",
    "server",
  ],
  view: ["contract"],
};
const everything = [...Object.keys(mayImport).filter((folder) => folder !== "view"), "app.ts"];
const entries: Record<string, readonly string[]> = {
  "app.ts": everything,
  "cli.ts": everything,
  "index.ts": everything,
};

/** An outside module and the places that may open it; a folder is named without an extension. */
const doors: Record<string, readonly string[]> = {
  "bun:ffi": ["mlx", "platform", "storage/kv-writer.worker.ts"],
  "bun:sqlite": ["storage/index-db.ts", "data"],
  "node:fs": ["platform", "model", "setup", "data"],
  "node:fs/promises": ["platform", "model", "setup", "data"],
  "electrobun/bun": ["host/desktop.ts"],
};

type Import = { readonly from: string; readonly to: string };

const transpilers = { ts: new Transpiler({ loader: "ts" }), tsx: new Transpiler({ loader: "tsx" }) };
const importsOf = async (folder: string): Promise<Import[]> => {
  const found: Import[] = [];
  for await (const file of new Glob("**/*.{ts,tsx}").scan(join(root, folder))) {
    const text = await Bun.file(join(root, folder, file)).text();
    // `import type` vanishes in the transpiler's list; a type is a dependency all the same.
    const written = text.matchAll(/^(?:import|export)\b[^;]*?\bfrom\s+"([^"]+)"/gms);
    const run = transpilers[file.endsWith("x") ? "tsx" : "ts"].scanImports(text).map((found) => found.path);
    for (const to of new Set([...run, ...[...written].map((match) => match[1] ?? "")])) found.push({ from: file, to });
  }
  return found;
};

const place = (from: string, to: string, folder: string): string =>
  relative("/", normalize(join("/", folder, dirname(from), to)));

const isWithin = (path: string, allowed: string): boolean =>
  allowed.endsWith(".ts") ? path === allowed : path.startsWith(`${allowed}/`);

test("imports follow the layers", async () => {
  const faults: string[] = [];
  for (const { from, to } of await importsOf("src-bun")) {
    if (!to.startsWith(".")) continue;
    const folder = from.split("/")[0] ?? "";
    const target = relative("src-bun", place(from, to, "src-bun"));
    const allowed = from.includes("/") ? [folder, ...(mayImport[folder] ?? [])] : (entries[from] ?? []);
    if (!allowed.some((one) => isWithin(target, one))) faults.push(`src-bun/${from} imports ${target}`);
  }
  expect(faults).toEqual([]);
});

test("the view knows the contract and its own folder, and features do not know each other", async () => {
  const shared = ["ui", "contract"];
  const faults: string[] = [];
  for (const { from, to } of await importsOf("src-view")) {
    if (!to.startsWith(".")) continue;
    const target = place(from, to, "src-view");
    const feature = from.includes("/") ? from.split("/")[0] : undefined;
    const isContract = target.startsWith("src-bun/contract/");
    const other = target.startsWith("src-view/") ? target.split("/").slice(1) : [];
    const isForeign =
      feature !== undefined && other.length > 1 && other[0] !== feature && !shared.includes(other[0] ?? "");
    if (!isContract && (other.length === 0 || isForeign)) faults.push(`src-view/${from} imports ${target}`);
  }
  expect(faults).toEqual([]);
});

test("each outside thing has one door", async () => {
  const faults: string[] = [];
  for (const { from, to } of await importsOf("src-bun")) {
    const allowed = doors[to];
    if (allowed !== undefined && !allowed.some((one) => isWithin(from, one)))
      faults.push(`src-bun/${from} opens ${to}`);
  }
  for (const { from, to } of await importsOf("src-view")) if (to in doors) faults.push(`src-view/${from} opens ${to}`);
  expect(faults).toEqual([]);
});

test("only the composition roots of the app and of the macOS build read the environment", async () => {
  const readers = ["app.ts", "setup/mac-libs.ts"];
  const faults: string[] = [];
  for await (const file of new Glob("**/*.{ts,tsx}").scan(join(root, "src-bun"))) {
    const text = await Bun.file(join(root, "src-bun", file)).text();
    const reads = /\b(?:process|Bun)\.env\b|\benv\b[^;]*from "node:process"/.test(text);
    if (reads && !readers.includes(file)) faults.push(file);
  }
  expect(faults).toEqual([]);
});
