// Folders in MLX's format with one thing wrong, or one thing that only looks so.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Random } from "../support/random.ts";
import { type TinyConfig, type TinyLlama, writeTinyFolder } from "../support/tiny-llama.ts";
import { cut, EXTREMES, flip, grown, type Mutant, oneOf, otherNumber, withNumber } from "./mutation.ts";

type Entry = { dtype: unknown; shape: unknown[]; data_offsets: unknown[] };
type Header = Record<string, Entry>;

export const smallest: TinyConfig = {
  model_type: "llama",
  hidden_size: 32,
  num_hidden_layers: 2,
  intermediate_size: 64,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  rms_norm_eps: 1e-5,
  vocab_size: 64,
  max_position_embeddings: 512,
  rope_theta: 10_000,
  rope_scaling: { rope_type: "llama3", factor: 8, original_max_position_embeddings: 64 },
  attention_bias: false,
  tie_word_embeddings: true,
};
const quantization = { bits: 4, group_size: 32, "model.layers.0.mlp.up_proj": { bits: 8, group_size: 32 } };

const tinies: readonly TinyLlama[] = [
  { seed: 1, element: "F32", config: smallest },
  { seed: 2, element: "BF16", config: { ...smallest, quantization } },
];

/** JSON in which texts of the form §123§ stand for numbers that JavaScript cannot hold. */
const written = (value: unknown): string => JSON.stringify(value).replace(/"§(-?[\d.e]+)§"/g, "$1");
const exactly = (value: bigint): string => `§${value}§`;

const split = (
  bytes: Uint8Array,
): { readonly header: Header; readonly headerEnd: number; readonly data: Uint8Array } => {
  const headerEnd = 8 + Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, headerEnd)));
  return { header, headerEnd, data: bytes.subarray(headerEnd) };
};

const joined = (json: string, data: Uint8Array): Uint8Array => {
  const text = new TextEncoder().encode(json);
  return new Uint8Array(Buffer.concat([new Uint8Array(BigUint64Array.of(BigInt(text.length)).buffer), text, data]));
};

const SHAPES: readonly (readonly unknown[])[] = [[], [0], [-1], [1.5], ["1"], [null], [1, 1, 1, 1, 1, 1, 1, 1, 1]];
const TYPES = ["F64", "F32", "F16", "BF16", "U32", "I8", "BOOL", "F8_E4M3", "F4", "f32", "", 7, null];

/** Changes one entry of the header. */
const changeEntry = (random: Random, header: Header): string => {
  const names = Object.keys(header).filter((name) => name !== "__metadata__");
  const name = oneOf(random, names);
  const entry = header[name] as Entry;
  switch (random.below(6)) {
    case 0: {
      const at = random.below(2);
      entry.data_offsets[at] = exactly(otherNumber(random, Number(entry.data_offsets[at])));
      return `offset ${at} of ${name} is ${entry.data_offsets[at]}`;
    }
    case 1: {
      const axis = random.below(entry.shape.length);
      entry.shape[axis] = exactly(otherNumber(random, Number(entry.shape[axis])));
      return `axis ${axis} of ${name} is ${entry.shape[axis]}`;
    }
    case 2:
      entry.shape = random.below(2) === 0 ? entry.shape.toReversed() : [...oneOf(random, SHAPES)];
      return `the shape of ${name} is ${JSON.stringify(entry.shape)}`;
    case 3:
      entry.dtype = oneOf(random, TYPES);
      return `the type of ${name} is ${entry.dtype}`;
    case 4: {
      const other = oneOf(random, names);
      entry.data_offsets = header[other]?.data_offsets ?? [];
      return `${name} lies where ${other} lies`;
    }
    default:
      delete header[name];
      return `${name} is missing`;
  }
};

const mutateFile = (random: Random, bytes: Uint8Array): { readonly what: string; readonly bytes: Uint8Array } => {
  const { header, headerEnd, data } = split(bytes);
  switch (random.below(9)) {
    case 0: {
      const length = oneOf(random, [...EXTREMES, BigInt(bytes.length), BigInt(bytes.length - 8), BigInt(headerEnd)]);
      return { what: `the header claims ${length} bytes`, bytes: withNumber(bytes, 0, length) };
    }
    case 1:
      return { what: "the file is cut", bytes: cut(random, bytes) };
    case 2:
      return { what: "the file is longer", bytes: grown(random, bytes) };
    case 3:
      return { what: "bytes of the header differ", bytes: flip(random, bytes, 0, headerEnd) };
    case 4:
      return { what: "bytes of the weights differ", bytes: flip(random, bytes, headerEnd, bytes.length) };
    case 5: {
      const [name, entry] = oneOf(random, Object.entries(header));
      const json = `${JSON.stringify(header).slice(0, -1)},${JSON.stringify(name)}:${JSON.stringify(entry)}}`;
      return { what: `${name} is there twice`, bytes: joined(json, data) };
    }
    case 6: {
      const json = oneOf(random, [
        "[".repeat(200_000),
        "[]",
        "null",
        "{}",
        '{"a":{}}',
        '{"__proto__":{"shape":[]}}',
        "\0",
      ]);
      return { what: `the header is ${json.slice(0, 20)}`, bytes: joined(json, data) };
    }
    default: {
      const what = changeEntry(random, header);
      return { what, bytes: joined(written(header), data) };
    }
  }
};

const LIES: readonly unknown[] = [
  0,
  -1,
  1,
  3,
  0.5,
  1e9,
  2 ** 53,
  1e308,
  "§1e999§",
  "32",
  true,
  null,
  [],
  {},
  "gelu",
  "yarn",
];

const mutateConfig = (random: Random, tiny: TinyLlama): { readonly what: string; readonly json: string } => {
  const changed = structuredClone(tiny.config) as Record<string, unknown>;
  const nested = [changed, changed["rope_scaling"], changed["quantization"] ?? changed] as Record<string, unknown>[];
  const target = oneOf(random, nested);
  const key = oneOf(random, [...Object.keys(target), "head_dim", "mlp_bias", "hidden_act", "quantization_config"]);
  target[key] = oneOf(random, LIES);
  return { what: `the config says ${key} = ${JSON.stringify(target[key])}`, json: written(changed) };
};

const SHARD_NAMES: readonly unknown[] = [
  "../model.safetensors",
  "/etc/passwd",
  "model-9.safetensors",
  "",
  ".",
  "config.json",
  "model-00001-of-00002.safetensors\0",
  7,
];

const mutateIndex = (random: Random, folder: string, tiny: TinyLlama): string => {
  writeTinyFolder(folder, tiny, 2);
  const path = join(folder, "model.safetensors.index.json");
  const index = JSON.parse(readFileSync(path, "utf8")) as { weight_map: Record<string, unknown> };
  const name = oneOf(random, Object.keys(index.weight_map));
  const shard = String(index.weight_map[name]);
  switch (random.below(4)) {
    case 0:
      rmSync(join(folder, shard));
      return `${shard} is missing`;
    case 1:
      rmSync(join(folder, shard));
      mkdirSync(join(folder, shard));
      return `${shard} is a folder`;
    case 2:
      index.weight_map[name] = oneOf(random, SHARD_NAMES);
      break;
    default:
      delete index.weight_map[name];
  }
  writeFileSync(path, JSON.stringify(index));
  return `the index says that ${name} is in ${String(index.weight_map[name])}`;
};

/** Writes one mutant into a fresh folder at `folder`. */
export const writeSafetensorsMutant = (random: Random, folder: string): Mutant => {
  rmSync(folder, { recursive: true, force: true });
  const tiny = oneOf(random, tinies);
  const kind = random.below(8);
  if (kind === 0) return { what: mutateIndex(random, folder, tiny), path: folder };
  writeTinyFolder(folder, tiny);
  if (kind < 3) {
    const { what, json } = mutateConfig(random, tiny);
    writeFileSync(join(folder, "config.json"), json);
    return { what, path: folder };
  }
  const path = join(folder, "model.safetensors");
  const { what, bytes } = mutateFile(random, new Uint8Array(readFileSync(path)));
  writeFileSync(path, bytes);
  return { what, path: folder };
};
