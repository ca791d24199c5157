import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { MlxOps } from "../../src-bun/mlx/ops.ts";
import { MlxRuntime } from "../../src-bun/mlx/runtime.ts";
import { matrixArrays } from "../../src-bun/model/linear.ts";
import { ModelFile } from "../../src-bun/model/model-file.ts";
import { openLlama } from "../../src-bun/model/open-llama.ts";
import { checkedTensor, type StoredType } from "../../src-bun/model/stored-tensor.ts";
import { WeightLoader } from "../../src-bun/model/weight-loader.ts";
import golden from "../golden/tiny-llama.json";
import { continueGreedily } from "../support/open-tiny.ts";
import { Random } from "../support/random.ts";
import { TemporaryFolder } from "../support/temporary-folder.ts";
import { testSetup } from "../support/test-setup.ts";
import { tinyGgufFields, tinyGgufTensors } from "../support/tiny-gguf.ts";
import { type TinyLlama, writeTinyFolder } from "../support/tiny-llama.ts";
import { type FileTensor, type GgufField, ggufBytes } from "../support/weight-files.ts";

let runtime: MlxRuntime;

beforeAll(async () => {
  runtime = new MlxRuntime((await testSetup()).mlxLibrary);
});

afterAll(() => runtime[Symbol.dispose]());

const variant = (name: string): TinyLlama & { readonly promptIds: number[] } => {
  const found = golden.variants.find((one) => one.name === name);
  if (found === undefined) throw new Error(`no variant "${name}"`);
  return found as unknown as TinyLlama & { readonly promptIds: number[] };
};

/** Logits of 20 steps of the same model as folder and as GGUF. */
const bothWays = (name: string, fields: readonly GgufField[] = [], tensors: readonly FileTensor[] = []) => {
  using folder = new TemporaryFolder();
  const tiny = variant(name);
  const [mlx, gguf] = [join(folder.path, "mlx"), join(folder.path, "model.gguf")];
  writeTinyFolder(mlx, tiny);
  writeFileSync(gguf, ggufBytes([...tinyGgufFields(tiny.config), ...fields], [...tinyGgufTensors(tiny), ...tensors]));
  const [a, b] = [mlx, gguf].map((path) => continueGreedily(runtime, path, tiny.promptIds, { steps: 20 }));
  return { folder: a?.logits, gguf: b?.logits };
};

describe("a GGUF computes what the folder with the same weights computes", () => {
  test.each(["plain", "untied", "biases", "wide heads", "one head for all", "float16", "bfloat16"])("%s", (name) => {
    const { folder, gguf } = bothWays(name);
    expect(gguf).toEqual(folder as Float32Array[]);
  });

  test("linear rotary scaling, by the new key and by the old", () => {
    const kind: GgufField = { key: "llama.rope.scaling.type", kind: "text", value: "linear" };
    const now = bothWays("rope linear", [kind, { key: "llama.rope.scaling.factor", kind: "f32", value: 4 }]);
    expect(now.gguf).toEqual(now.folder as Float32Array[]);
    const old = bothWays("rope linear", [{ key: "llama.rope.scale_linear", kind: "f32", value: 4 }]);
    expect(old.gguf).toEqual(old.folder as Float32Array[]);
  });

  test("Llama 3's rotary scaling, by its tensor of factors", () => {
    const { config } = variant("rope llama3");
    using folder = new TemporaryFolder();
    writeTinyFolder(folder.path, variant("rope llama3"));
    const opened = openLlama(folder.path);
    using _files = opened.source;
    const { rope, headDim } = opened.config;
    if (rope.kind !== "periods") throw new Error("no periods");
    const factors = rope.periods.map((period, pair) => period / Number(config["rope_theta"]) ** ((2 * pair) / headDim));
    expect(new Set(factors).size).toBeGreaterThan(2);
    const bytes = new Uint8Array(Float32Array.from(factors).buffer);
    const { folder: ours, gguf } = bothWays(
      "rope llama3",
      [],
      [{ name: "rope_freqs.weight", type: "F32", shape: [headDim / 2], bytes }],
    );
    for (const [step, logits] of (gguf ?? []).entries()) {
      for (const [id, value] of logits.entries()) expect(value).toBeCloseTo(ours?.[step]?.[id] ?? Number.NaN, 4);
    }
  });
});

describe("what a GGUF says of its rotary embedding and cannot run is refused by name", () => {
  test.each([
    [{ key: "llama.rope.scaling.type", kind: "text", value: "yarn" }, /"yarn"/],
    [{ key: "llama.expert_count", kind: "u32", value: 8 }, /experts/],
  ] as const)("%j", (field, words) => {
    expect(() => bothWays("plain", [field])).toThrow(words);
  });
});

const halfOf = (bits: number): number => new Float16Array(Uint16Array.of(bits).buffer)[0] ?? 0;

/** Value `index` of one block, as the format's description has it. */
const inBlock = (type: StoredType, block: Uint8Array, index: number): number => {
  const at = (offset: number): number => block[offset] ?? 0;
  const scale = halfOf(at(0) | (at(1) << 8));
  if (type === "Q8_0") return Math.fround(scale * ((at(2 + index) << 24) >> 24));
  const head = type === "Q4_0" ? 2 : 4;
  const nibble = index < 16 ? at(head + index) & 15 : at(head + index - 16) >> 4;
  if (type === "Q4_0") return Math.fround(scale * (nibble - 8));
  return Math.fround(Math.fround(scale * nibble) + halfOf(at(2) | (at(3) << 8)));
};

describe("blocks", () => {
  const BLOCK_BYTES = { Q4_0: 18, Q4_1: 20, Q8_0: 34 } as const;
  const [rows, columns] = [6, 96];

  const randomBlocks = (type: keyof typeof BLOCK_BYTES, random: Random): Uint8Array => {
    const bytes = Uint8Array.from({ length: (rows * columns * BLOCK_BYTES[type]) / 32 }, () => random.below(256));
    // Scales of moderate size: no infinity, no number that is none.
    for (let at = 0; at < bytes.length; at += BLOCK_BYTES[type]) {
      bytes[at + 1] = 0x28 + random.below(8);
      if (type === "Q4_1") bytes[at + 3] = 0xb0 + random.below(8);
    }
    return bytes;
  };

  test.each(["Q4_0", "Q4_1", "Q8_0"] as const)("%s is read value for value, dense or kept quantised", (type) => {
    using folder = new TemporaryFolder();
    const path = join(folder.path, "blocks");
    const bytes = randomBlocks(type, new Random(11));
    writeFileSync(path, bytes);
    using file = ModelFile.open(path);
    const tensor = checkedTensor(file, { name: "a", type, shape: [BigInt(rows), BigInt(columns)], start: 0n });
    const expected = Float32Array.from({ length: rows * columns }, (_, index) => {
      const block = Math.floor(index / 32) * BLOCK_BYTES[type];
      return inBlock(type, bytes.subarray(block, block + BLOCK_BYTES[type]), index % 32);
    });
    using scope = runtime.scope();
    const ops = new MlxOps(runtime);
    const dense = new WeightLoader(runtime, ops, false).matrix({ kind: "plain", tensor });
    for (const array of matrixArrays(dense)) scope.add(array);
    if (dense.kind !== "dense") throw new Error("not dense");
    expect(dense.rows.toFloat32Array()).toEqual(expected);
    const kept = new WeightLoader(runtime, ops, true).matrix({ kind: "plain", tensor });
    for (const array of matrixArrays(kept)) scope.add(array);
    if (kept.kind !== "quantized") throw new Error("not quantised");
    const values = ops.dequantize(kept.weight, kept.scales, kept.biases, kept.how, "float32");
    runtime.evaluate([values]);
    expect(values.toFloat32Array()).toEqual(expected);
  });
});
