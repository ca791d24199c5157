import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { FingerprintMemory } from "../../src-bun/model/fingerprint-memory.ts";
import { ModelFile } from "../../src-bun/model/model-file.ts";
import { namespaceOf } from "../../src-bun/model/namespace.ts";
import type { StoredTensor } from "../../src-bun/model/stored-tensor.ts";
import { tensorFingerprint } from "../../src-bun/model/tensor-fingerprint.ts";
import { weightsFingerprint } from "../../src-bun/model/weights-identity.ts";
import { openFilesystem } from "../../src-bun/platform/filesystem.ts";
import { TemporaryFolder } from "../support/temporary-folder.ts";

type Spec = { readonly name: string; readonly shape: readonly number[]; readonly data: Uint8Array };

const bytes = (length: number, seed: number): Uint8Array =>
  Uint8Array.from({ length }, (_, index) => (index * 31 + seed * 17) & 0xff);

/** The last is longer than one piece that is read. */
const specs: readonly Spec[] = [
  { name: "b", shape: [2, 3], data: bytes(24, 1) },
  { name: "a", shape: [4], data: bytes(16, 2) },
  { name: "c", shape: [1 << 18, 5], data: bytes(5 << 20, 3) },
];

let folder: TemporaryFolder;
let files: ModelFile[];

beforeEach(() => {
  folder = new TemporaryFolder();
  files = [];
});

afterEach(() => {
  for (const file of files) file[Symbol.dispose]();
  folder[Symbol.dispose]();
});

const open = (name: string): ModelFile => {
  const file = ModelFile.open(join(folder.path, name));
  files.push(file);
  return file;
};

/** Writes the tensors of each shard one after the other, behind `gap` bytes. */
const write = (shards: Readonly<Record<string, readonly Spec[]>>, gap = 0): Map<string, StoredTensor> => {
  const tensors = new Map<string, StoredTensor>();
  for (const [shard, held] of Object.entries(shards)) {
    writeFileSync(join(folder.path, shard), Buffer.concat([bytes(gap, 9), ...held.map(({ data }) => data)]));
    const file = open(shard);
    let start = gap;
    for (const { name, shape, data } of held) {
      tensors.set(name, { name, type: "F32", shape, file, start, bytes: data.length });
      start += data.length;
    }
  }
  return tensors;
};

const turn = (): Promise<void> => Promise.resolve();
const fingerprint = (tensors: ReadonlyMap<string, StoredTensor>): Promise<string> => tensorFingerprint(tensors, turn);

const changed = (name: string, change: Partial<Spec>): Spec[] =>
  specs.map((spec) => (spec.name === name ? { ...spec, ...change } : spec));

describe("the fingerprint of tensors", () => {
  test("depends on no order, no shards, no paths and no gaps", async () => {
    const [b, a, c] = specs as [Spec, Spec, Spec];
    const one = await fingerprint(write({ "model.safetensors": specs }));
    expect(one).toMatch(/^[0-9a-f]{64}$/);
    expect(await fingerprint(write({ "other.bin": [c, a, b] }, 64))).toBe(one);
    expect(await fingerprint(write({ "1.bin": [c], "2.bin": [a], "3.bin": [b] }))).toBe(one);
  });

  test("differs for one other byte, name, shape or element type", async () => {
    const prints = new Set([await fingerprint(write({ x: specs }))]);
    for (const at of [0, (4 << 20) + 1, (5 << 20) - 1]) {
      const data = bytes(5 << 20, 3);
      data[at] = (data[at] ?? 0) ^ 1;
      prints.add(await fingerprint(write({ x: changed("c", { data }) })));
    }
    prints.add(await fingerprint(write({ x: changed("b", { name: "b2" }) })));
    prints.add(await fingerprint(write({ x: changed("b", { shape: [3, 2] }) })));
    const others = write({ x: specs });
    others.set("b", { ...(others.get("b") as StoredTensor), type: "I32" });
    prints.add(await fingerprint(others));
    expect(prints.size).toBe(7);
  });
});

describe("remembering it", () => {
  const path = (): string => join(folder.path, "fingerprints.json");
  const memory = (): FingerprintMemory => new FingerprintMemory({ filesystem: openFilesystem(), path: path() });
  const wallClock = (): number => Date.now() + 60_000;
  const remembered = (tensors: ReadonlyMap<string, StoredTensor>, clock = wallClock): Promise<string> =>
    weightsFingerprint(tensors, { memory: memory(), wallClock: clock, turn });

  /** Whether the next call takes what the file says, wrong as it was made. */
  const isFromMemory = async (tensors: ReadonlyMap<string, StoredTensor>): Promise<boolean> => {
    writeFileSync(path(), readFileSync(path(), "utf8").replace(/[0-9a-f]{64}/g, "0".repeat(64)));
    return (await remembered(tensors)) === "0".repeat(64);
  };

  test("reads the files once, in a file for this user alone", async () => {
    const tensors = write({ "1.bin": specs.slice(0, 2), "2.bin": specs.slice(2) });
    expect(await remembered(tensors)).toBe(await fingerprint(tensors));
    expect(statSync(path()).mode & 0o777).toBe(0o600);
    expect(await isFromMemory(tensors)).toBe(true);
  });

  test("a shard that was touched or replaced is read again", async () => {
    const tensors = write({ "1.bin": specs.slice(0, 2), "2.bin": specs.slice(2) });
    await remembered(tensors);
    utimesSync(join(folder.path, "2.bin"), new Date(), new Date(Date.now() - 5000));
    expect(await isFromMemory(tensors)).toBe(false);
    await remembered(tensors);
    const again = write({ "1.bin": specs.slice(0, 2), "3.bin": specs.slice(2) });
    expect(await isFromMemory(again)).toBe(false);
  });

  test("a file written a moment ago is not remembered: it may change within one tick of its clock", async () => {
    const tensors = write({ x: specs });
    await remembered(tensors, Date.now);
    expect(() => statSync(path())).toThrow("ENOENT");
  });

  test("a damaged memory is as none, and is mended", async () => {
    const tensors = write({ x: specs });
    const right = await fingerprint(tensors);
    for (const text of ["", "{", "[]", '{"version":2,"fingerprints":[]}', '{"version":1,"fingerprints":[["a","b"]]}']) {
      writeFileSync(path(), text);
      expect(await remembered(tensors)).toBe(right);
      expect(await isFromMemory(tensors)).toBe(true);
    }
  });

  test("the oldest of many leave, and a place that takes no file harms nothing", () => {
    const many = memory();
    for (let index = 0; index < 300; index++) many.put(`file ${index}`, "1".repeat(64));
    expect(memory().find("file 43")).toBeNull();
    expect(memory().find("file 44")).not.toBeNull();
    const nowhere = new FingerprintMemory({ filesystem: openFilesystem(), path: join(folder.path, "absent/x.json") });
    nowhere.put("a", "1".repeat(64));
    expect(nowhere.find("a")).toBe("1".repeat(64));
  });
});

describe("the namespace", () => {
  const computation = {
    fingerprint: "1".repeat(64),
    tokenizer: {
      style: "byte-level",
      library: { model: { vocab: { a: 0 } } },
      libraryInside: null,
      tokens: ["a"],
      marks: [],
      stripsFirstBlank: false,
    },
    config: { layers: 1, rope: { base: 10_000 } },
    format: "folder",
    keepsQuantized: false,
    kvDtype: "float32",
  } as unknown as Parameters<typeof namespaceOf>[0];

  test("is the same for the same parts in another order, and another for any other part", () => {
    const { config, ...rest } = computation;
    const reordered = { config: Object.fromEntries(Object.entries(config).reverse()), ...rest } as typeof computation;
    expect(namespaceOf(reordered)).toBe(namespaceOf(computation));
    const changes = [
      { fingerprint: "2".repeat(64) },
      { tokenizer: { ...computation.tokenizer, tokens: ["b"] } },
      { config: { ...config, layers: 2 } },
      { config: { ...config, rope: { base: 10_001 } } },
      { format: "gguf" },
      { keepsQuantized: true },
      { kvDtype: "float16" },
    ] as Partial<typeof computation>[];
    const all = [{}, ...changes].map((change) => namespaceOf({ ...computation, ...change }));
    expect(new Set(all).size).toBe(changes.length + 1);
  });
});
