// GGUF files with one thing wrong, or one thing that only looks so.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Random } from "../support/random.ts";
import { tinyGgufFields, tinyGgufTensors } from "../support/tiny-gguf.ts";
import type { TinyLlama } from "../support/tiny-llama.ts";
import { type FileTensor, type GgufField, ggufBytes } from "../support/weight-files.ts";
import { cut, EXTREMES, flip, grown, type Mutant, oneOf, otherNumber, withNumber } from "./mutation.ts";
import { smallest } from "./safetensors-mutants.ts";

type Mutation = { readonly what: string; readonly bytes: Uint8Array };

const tiny: TinyLlama = { seed: 3, element: "F32", config: { ...smallest, rope_scaling: null } };
const BLOCK_BYTES: Readonly<Record<string, number>> = { Q4_0: 18, Q4_1: 20, Q8_0: 34 };

/** Some matrices as blocks of arbitrary bytes. */
const parts = (random: Random): { readonly fields: GgufField[]; readonly tensors: FileTensor[] } => {
  const tensors = tinyGgufTensors(tiny).map((tensor): FileTensor => {
    const type = oneOf(random, ["F32", "Q4_0", "Q4_1", "Q8_0"]);
    if (type === "F32" || tensor.shape.length < 2) return tensor;
    const length = (tensor.bytes.length / 4 / 32) * (BLOCK_BYTES[type] ?? 0);
    return { ...tensor, type, bytes: Uint8Array.from({ length }, () => random.below(256)) };
  });
  return { fields: tinyGgufFields(tiny.config), tensors };
};

const dataStart = (bytes: Uint8Array, tensors: readonly FileTensor[]): number =>
  bytes.length - tensors.reduce((sum, { bytes: own }) => sum + Math.ceil(own.length / 32) * 32, 0);

/** Where the entry of a tensor has its number of axes. */
const entryAt = (bytes: Uint8Array, name: string): number => Buffer.from(bytes).indexOf(name) + name.length;

const changeEntry = (random: Random, bytes: Uint8Array, { name, shape }: FileTensor): Mutation => {
  const at = entryAt(bytes, name);
  const changed = bytes.slice();
  const view = new DataView(changed.buffer);
  const typeAt = at + 4 + shape.length * 8;
  switch (random.below(4)) {
    case 0: {
      const axes = oneOf(random, [0, 3, 4, 5, 8, 2 ** 31, 2 ** 32 - 1]);
      view.setUint32(at, axes, true);
      return { what: `${name} has ${axes} axes`, bytes: changed };
    }
    case 1: {
      const axis = random.below(shape.length);
      const length = otherNumber(random, shape.toReversed()[axis] ?? 0);
      return { what: `axis ${axis} of ${name} is ${length}`, bytes: withNumber(bytes, at + 4 + axis * 8, length) };
    }
    case 2: {
      const type = oneOf(random, [0, 1, 2, 3, 8, 12, 14, 30, 39, 77, 2 ** 32 - 1]);
      view.setUint32(typeAt, type, true);
      return { what: `the type of ${name} is ${type}`, bytes: changed };
    }
    default: {
      const offset = oneOf(random, [...EXTREMES, 32n, 64n, 4096n, BigInt(bytes.length & ~31)]);
      return { what: `${name} lies at ${offset}`, bytes: withNumber(bytes, typeAt + 4, offset) };
    }
  }
};

const changeField = (random: Random, fields: readonly GgufField[]): { what: string; fields: GgufField[] } => {
  const at = random.below(fields.length);
  const field = fields[at] as GgufField;
  const value = oneOf(random, [0, 1, 3, 5, 31, 2 ** 31, 2 ** 32 - 1, Number.NaN, -1, 1e30]);
  const others: readonly GgufField[][] = [
    [],
    [field, field],
    [{ key: field.key, kind: "u32", value }],
    [{ key: field.key, kind: "f32", value }],
    [{ key: field.key, kind: "text", value: "x" }],
    [{ key: field.key, kind: "i32s", value: [1, 2, 3] }],
    [field, { key: "general.alignment", kind: "u32", value }],
    [field, { key: "llama.expert_count", kind: "u32", value: 8 }],
    [field, { key: "llama.rope.scaling.type", kind: "text", value: "yarn" }],
  ];
  const other = oneOf(random, others);
  return { what: `${field.key} as ${JSON.stringify(other)}`, fields: fields.toSpliced(at, 1, ...other) };
};

const mutate = (random: Random): Mutation => {
  const { fields, tensors } = parts(random);
  const bytes = ggufBytes(fields, tensors);
  const start = dataStart(bytes, tensors);
  switch (random.below(10)) {
    case 0: {
      const [at, what] = oneOf(random, [[8, "tensors"] as const, [16, "keys"] as const]);
      const count = otherNumber(random, at === 8 ? tensors.length : fields.length);
      return { what: `${count} ${what}`, bytes: withNumber(bytes, at, count) };
    }
    case 1:
      return { what: "the file is cut", bytes: cut(random, bytes) };
    case 2:
      return { what: "the file is longer", bytes: grown(random, bytes) };
    case 3:
      return { what: "bytes of the weights differ", bytes: flip(random, bytes, start, bytes.length) };
    case 4:
      return { what: "bytes of the header differ", bytes: flip(random, bytes, 0, start) };
    case 5:
    case 6: {
      const [at, value] = [random.below(start - 8), oneOf(random, EXTREMES)];
      return { what: `${value} at byte ${at}`, bytes: withNumber(bytes, at, value) };
    }
    case 7: {
      const changed = changeField(random, fields);
      return { what: changed.what, bytes: ggufBytes(changed.fields, tensors) };
    }
    case 8: {
      const twice = oneOf(random, tensors);
      return { what: `${twice.name} is there twice`, bytes: ggufBytes(fields, [...tensors, twice]) };
    }
    default:
      return changeEntry(random, bytes, oneOf(random, tensors));
  }
};

/** Writes one mutant into `folder`. */
export const writeGgufMutant = (random: Random, folder: string): Mutant => {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const path = join(folder, "mutant.gguf");
  const { what, bytes } = mutate(random);
  writeFileSync(path, bytes);
  return { what, path };
};
