// The header of a GGUF file (versions 2 and 3, little-endian): key-value pairs, then the table of tensors.
import { GgufCursor } from "./gguf-cursor.ts";
import { damagedModel, unsupportedModel } from "./model-faults.ts";
import type { ModelFile } from "./model-file.ts";
import { checkedTensor, checkLayout, type StoredTensor, type StoredType } from "./stored-tensor.ts";

type Scalar = string | number | bigint | boolean;
type GgufValue = Scalar | readonly Scalar[];
export type GgufMetadata = ReadonlyMap<string, GgufValue>;

const MAGIC = 0x46554747; // "GGUF"
const VERSIONS = [2, 3];
const MAX_AXES = 4;
const DEFAULT_ALIGNMENT = 32;
const STRING = 8;
const ARRAY = 9;
/** Bytes of the shortest key-value pair, tensor entry and text. */
const LEAST = { pair: 13, tensor: 32, text: 8 } as const;

/** Scalars by the number of their type (gguf specification, `gguf_metadata_value_type`). */
const scalars: Readonly<Record<number, { readonly bytes: number; read(cursor: GgufCursor): Scalar }>> = {
  0: { bytes: 1, read: (cursor) => cursor.u8() },
  1: { bytes: 1, read: (cursor) => cursor.i8() },
  2: { bytes: 2, read: (cursor) => cursor.u16() },
  3: { bytes: 2, read: (cursor) => cursor.i16() },
  4: { bytes: 4, read: (cursor) => cursor.u32() },
  5: { bytes: 4, read: (cursor) => cursor.i32() },
  6: { bytes: 4, read: (cursor) => cursor.f32() },
  7: { bytes: 1, read: (cursor) => cursor.u8() !== 0 },
  [STRING]: { bytes: LEAST.text, read: (cursor) => cursor.text() },
  10: { bytes: 8, read: (cursor) => cursor.u64() },
  11: { bytes: 8, read: (cursor) => cursor.i64() },
  12: { bytes: 8, read: (cursor) => cursor.f64() },
};

/** Tensor types by number (ggml, `enum ggml_type`); the second table is what is known but not read. */
const tensorTypes: Readonly<Record<number, StoredType>> = {
  0: "F32",
  1: "F16",
  2: "Q4_0",
  3: "Q4_1",
  8: "Q8_0",
  30: "BF16",
};
const otherTypes: Readonly<Record<number, string>> = {
  6: "Q5_0",
  7: "Q5_1",
  10: "Q2_K",
  11: "Q3_K",
  12: "Q4_K",
  13: "Q5_K",
  14: "Q6_K",
  15: "Q8_K",
  16: "IQ2_XXS",
  17: "IQ2_XS",
  18: "IQ3_XXS",
  19: "IQ1_S",
  20: "IQ4_NL",
  21: "IQ3_S",
  22: "IQ2_S",
  23: "IQ4_XS",
  29: "IQ1_M",
  34: "TQ1_0",
  35: "TQ2_0",
  39: "MXFP4",
};

const readValue = (file: ModelFile, cursor: GgufCursor, key: string): GgufValue => {
  const type = cursor.u32();
  const element = type === ARRAY ? cursor.u32() : type;
  const scalar = scalars[element];
  if (scalar === undefined) throw damagedModel(file.path, `"${key}" has the unknown type ${element}`);
  if (type !== ARRAY) return scalar.read(cursor);
  const length = cursor.listLength(`"${key}"`, scalar.bytes);
  return Array.from({ length }, () => scalar.read(cursor));
};

const readMetadata = (file: ModelFile, cursor: GgufCursor, pairs: number): GgufMetadata => {
  const metadata = new Map<string, GgufValue>();
  for (let pair = 0; pair < pairs; pair++) {
    const key = cursor.text();
    if (metadata.has(key)) throw damagedModel(file.path, `"${key}" is there twice`);
    metadata.set(key, readValue(file, cursor, key));
  }
  return metadata;
};

type TensorEntry = {
  readonly name: string;
  readonly type: number;
  readonly shape: readonly bigint[];
  readonly offset: bigint;
};

const readEntry = (file: ModelFile, cursor: GgufCursor): TensorEntry => {
  const name = cursor.text();
  const axes = cursor.u32();
  if (axes < 1 || axes > MAX_AXES) throw damagedModel(file.path, `"${name}" has ${axes} axes`);
  const innermostFirst = Array.from({ length: axes }, () => cursor.u64());
  return { name, shape: innermostFirst.reverse(), type: cursor.u32(), offset: cursor.u64() };
};

const typeOf = (file: ModelFile, { name, type }: TensorEntry): StoredType => {
  const known = tensorTypes[type];
  if (known !== undefined) return known;
  const other = otherTypes[type] ?? `type ${type}`;
  throw unsupportedModel(
    file.path,
    `"${name}" is quantised as ${other}; Keepwarm reads ${Object.values(tensorTypes).join(", ")}`,
  );
};

const alignmentOf = (file: ModelFile, metadata: GgufMetadata): bigint => {
  const alignment = metadata.get("general.alignment") ?? DEFAULT_ALIGNMENT;
  const isSound = typeof alignment === "number" && alignment > 0 && alignment <= 1 << 20 && alignment % 8 === 0;
  if (!isSound) throw damagedModel(file.path, `"general.alignment" is ${alignment}`);
  return BigInt(alignment);
};

/** Everything that the header says. Throws "damaged-file" unless every tensor lies whole and alone in the file. */
export const readGgufHeader = (
  file: ModelFile,
): { readonly metadata: GgufMetadata; readonly tensors: readonly StoredTensor[] } => {
  const cursor = new GgufCursor(file);
  if (cursor.u32() !== MAGIC) throw damagedModel(file.path, "it is no GGUF");
  const version = cursor.u32();
  if (!VERSIONS.includes(version)) throw unsupportedModel(file.path, `it is a GGUF of version ${version}`);
  const tensorCount = cursor.count("the number of tensors", LEAST.tensor);
  const metadata = readMetadata(file, cursor, cursor.count("the number of keys", LEAST.pair));
  const entries = Array.from({ length: tensorCount }, () => readEntry(file, cursor));
  const alignment = alignmentOf(file, metadata);
  const dataStart = ((BigInt(cursor.position) + alignment - 1n) / alignment) * alignment;
  const tensors = entries.map((entry) => {
    if (entry.offset % alignment !== 0n) throw damagedModel(file.path, `"${entry.name}" is not aligned`);
    return checkedTensor(file, { ...entry, type: typeOf(file, entry), start: dataStart + entry.offset });
  });
  // Tensors are padded to the alignment; bytes between them harm nobody.
  checkLayout(tensors, Number(dataStart), () => undefined);
  return { metadata, tensors };
};
