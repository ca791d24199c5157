import { describe, expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { KeepwarmError } from "../../src-bun/base/errors.ts";
import { readFolderConfig } from "../../src-bun/model/folder-config.ts";
import { readGgufHeader } from "../../src-bun/model/gguf-header.ts";
import { findRepeatedKey } from "../../src-bun/model/json-keys.ts";
import { ModelFile } from "../../src-bun/model/model-file.ts";
import { openLlama } from "../../src-bun/model/open-llama.ts";
import { readSafetensors } from "../../src-bun/model/safetensors.ts";
import golden from "../golden/tiny-llama.json";
import { TemporaryFolder } from "../support/temporary-folder.ts";
import { type TinyLlama, writeTinyFolder } from "../support/tiny-llama.ts";
import { type FileTensor, ggufBytes, safetensorsBytes } from "../support/weight-files.ts";

const plain = golden.variants[0] as unknown as TinyLlama;

const refusalOf = (use: () => unknown): string => {
  try {
    use();
  } catch (thrown) {
    if (thrown instanceof KeepwarmError) return `${thrown.code}: ${thrown.message}`;
    throw thrown;
  }
  return "none";
};

/** What becomes of a file with these bytes. */
const read = (bytes: Uint8Array | string, parse: (file: ModelFile) => unknown): string => {
  using folder = new TemporaryFolder();
  const path = join(folder.path, "file");
  writeFileSync(path, bytes);
  using file = ModelFile.open(path);
  return refusalOf(() => parse(file));
};

const withHeader = (json: string, data = 8): Uint8Array => {
  const text = new TextEncoder().encode(json);
  return new Uint8Array(
    Buffer.concat([new Uint8Array(BigUint64Array.of(BigInt(text.length)).buffer), text, new Uint8Array(data)]),
  );
};
const entry = (shape: string, offsets: string, dtype = "F32"): string =>
  `{"dtype":"${dtype}","shape":${shape},"data_offsets":${offsets}}`;

describe("a safetensors header", () => {
  test.each([
    [`{"a":${entry("[2]", "[0,8]")}}`, "none"],
    [`{"a":${entry("[1]", "[0,4]")},"b":${entry("[1]", "[4,8]")}}`, "none"],
    [`{"a":${entry("[2]", "[0,8]")},"empty":${entry("[0]", "[8,8]")}}`, "none"],
    [`{"a":${entry("[3]", "[0,8]")}}`, "damaged-file"],
    [`{"a":${entry("[2]", "[0,12]")}}`, "damaged-file"],
    [`{"a":${entry("[1]", "[0,4]")}}`, "damaged-file"],
    [`{"a":${entry("[1]", "[4,8]")}}`, "damaged-file"],
    [`{"a":${entry("[2]", "[0,8]")},"b":${entry("[1]", "[4,8]")}}`, "damaged-file"],
    [`{"a":${entry("[2]", "[0,8]")},"a":${entry("[2]", "[0,8]")}}`, "damaged-file"],
    [`{"a":${entry("[4611686018427387906]", "[0,8]")}}`, "damaged-file"],
    [`{"a":${entry("[4294967296,1073741825]", "[0,4]")}}`, "damaged-file"],
    [`{"a":${entry("[2]", "[18446744073709551608,18446744073709551616]")}}`, "damaged-file"],
    [`{"a":${entry("[2.5]", "[0,8]")}}`, "damaged-file"],
    [`{"a":${entry("[2]", "[8,0]")}}`, "damaged-file"],
    [`{"a":${entry("[16]", "[0,8]", "F4")}}`, "unsupported-model"],
    ["[]", "damaged-file"],
    ["{", "damaged-file"],
  ])("%s", (json, code) => {
    expect(read(withHeader(json), readSafetensors)).toStartWith(code);
  });

  test.each([0, 1, 7, 8, 9, 2 ** 32, 2 ** 53])("that claims %d bytes", (length) => {
    const bytes = safetensorsBytes([{ name: "a", type: "F32", shape: [2], bytes: new Uint8Array(8) }]);
    new DataView(bytes.buffer).setBigUint64(0, BigInt(length), true);
    expect(read(bytes, readSafetensors)).toStartWith("damaged-file");
  });

  test("a file without one", () => {
    expect(read("", readSafetensors)).toContain("0 bytes");
  });
});

describe("a GGUF header", () => {
  const tensor = (type: string, shape: number[], bytes: number): FileTensor => ({
    name: "a",
    type,
    shape,
    bytes: new Uint8Array(bytes),
  });

  test.each([
    [tensor("F32", [2, 4], 32), "none"],
    [tensor("F32", [3, 4], 32), "damaged-file"],
    [tensor("Q4_0", [2, 32], 36), "none"],
    [tensor("Q4_0", [32, 2], 36), "damaged-file"],
    [tensor("Q4_0", [2, 32, 2, 2, 2], 36), "damaged-file"],
    [tensor("F32", [2 ** 40, 2 ** 40], 32), "damaged-file"],
    [tensor("another", [1], 32), "unsupported-model"],
  ])("%j", (one, code) => {
    expect(read(ggufBytes([], [one]), readGgufHeader)).toStartWith(code);
  });

  test("with two of a name, of a key, or with another alignment than it says", () => {
    const a = tensor("F32", [8], 32);
    expect(read(ggufBytes([], [a, a]), readGgufHeader)).toContain("twice");
    const key = { key: "k", kind: "u32", value: 1 } as const;
    expect(read(ggufBytes([key, key], [a]), readGgufHeader)).toContain("twice");
    const alignment = { key: "general.alignment", kind: "u32", value: 3 } as const;
    expect(read(ggufBytes([alignment], [a]), readGgufHeader)).toContain("alignment");
  });

  test.each([8, 16, 24])("with 2^64 - 1 at byte %d", (at) => {
    const bytes = ggufBytes([{ key: "k", kind: "u32", value: 1 }], [tensor("F32", [8], 32)]);
    new DataView(bytes.buffer).setBigUint64(at, 2n ** 64n - 1n, true);
    expect(read(bytes, readGgufHeader)).toContain("18446744073709551615, more than can follow");
  });

  test("that is none", () => {
    expect(read("GGML and more", readGgufHeader)).toContain("no GGUF");
  });
});

describe("a folder's config", () => {
  const reading = (changes: Record<string, unknown>): string =>
    refusalOf(() => readFolderConfig("config.json", { ...plain.config, ...changes }));

  test.each([
    [{}, "none"],
    [{ model_type: "qwen3" }, 'unsupported-model: .*"qwen3"'],
    [{ hidden_act: "gelu" }, 'unsupported-model: .*"gelu"'],
    [{ rope_scaling: { rope_type: "yarn", factor: 4 } }, 'unsupported-model: .*"yarn"'],
    [{ rope_scaling: { rope_type: "linear" } }, "damaged-file: .*factor"],
    [{ rope_parameters: { rope_type: "default", rope_theta: 5e5 } }, "none"],
    [{ layer_types: ["full_attention", "sliding_attention"] }, 'unsupported-model: .*"sliding_attention"'],
    [{ quantization: { bits: 4, group_size: 64, mode: "mxfp4" } }, 'unsupported-model: .*"mxfp4"'],
    [{ quantization: { bits: 7, group_size: 64 } }, "unsupported-model: .*7 bits"],
    [{ quantization: { bits: 4, group_size: 48 } }, "unsupported-model: .*groups of 48"],
    [{ quantization_config: { quant_method: "awq", bits: 4 } }, 'unsupported-model: .*"awq"'],
    [{ num_hidden_layers: 0 }, 'damaged-file: .*"num_hidden_layers"'],
    [{ rms_norm_eps: "small" }, 'damaged-file: .*"rms_norm_eps"'],
  ])("%j", (changes, words) => {
    expect(reading(changes)).toMatch(new RegExp(`^${words}`));
  });

  test("mutant 424 of seed 4038209588: a table of rotary periods took gigabytes", () => {
    const llama3 = { rope_type: "llama3", factor: 8 };
    expect(reading({ head_dim: 1e9, rope_scaling: llama3 })).toMatch(/^damaged-file: .*1000000000 elements/);
  });

  test("repeated keys are found wherever they are, and only there", () => {
    expect(findRepeatedKey('{"a":{"b":1},"c":[{"b":1},{"b":"\\"a\\":"}]}')).toBeNull();
    expect(findRepeatedKey('{"a":[{"b":1, "\\u0062" :2}]}')).toBe("b");
  });
});

describe("a folder", () => {
  const opening = (prepare: (folder: string) => void, changes: Record<string, unknown> = {}): string => {
    using folder = new TemporaryFolder();
    writeTinyFolder(folder.path, { ...plain, config: { ...plain.config, ...changes } }, 2);
    prepare(folder.path);
    return refusalOf(() => openLlama(folder.path).source[Symbol.dispose]());
  };
  const writeIndex = (folder: string, shard: string): void =>
    writeFileSync(join(folder, "model.safetensors.index.json"), JSON.stringify({ weight_map: { a: shard } }));

  test("opens", () => {
    expect(opening(() => undefined)).toBe("none");
  });

  test.each(["../model.safetensors", "/etc/hosts", "a/b.safetensors", "..", "weights.bin"])(
    "may not name %s",
    (shard) => {
      expect(opening((folder) => writeIndex(folder, shard))).toMatch(/damaged-file: .*is no name of a file/);
    },
  );

  test("names a file that is missing, that is a folder, or that lacks the tensor", () => {
    expect(opening((folder) => writeIndex(folder, "gone.safetensors"))).toMatch(/damaged-file: .*gone\.safetensors/);
    const made = (folder: string): void => {
      writeIndex(folder, "made.safetensors");
      mkdirSync(join(folder, "made.safetensors"));
    };
    expect(opening(made)).toMatch(/damaged-file: .*it is no file/);
    expect(opening((folder) => writeIndex(folder, "model-00001-of-00002.safetensors"))).toMatch(/"a" is not in/);
  });

  test("heads that cannot be shared or halved are refused", () => {
    expect(opening(() => undefined, { num_key_value_heads: 3 })).toMatch(/damaged-file: .*cannot share/);
    expect(opening(() => undefined, { head_dim: 15 })).toMatch(/damaged-file: .*15 elements/);
  });

  test("a pipe in the place of a file is no file, and is not waited for", () => {
    using folder = new TemporaryFolder();
    Bun.spawnSync(["mkfifo", join(folder.path, "pipe")]);
    symlinkSync(join(folder.path, "pipe"), join(folder.path, "config.json"));
    expect(refusalOf(() => openLlama(folder.path))).toMatch(/damaged-file: .*it is no file/);
  });
});
