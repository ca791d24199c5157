// Writes safetensors and GGUF files for tests.
import { writeFileSync } from "node:fs";

export type FileTensor = {
  readonly name: string;
  /** Of the format's own naming. */
  readonly type: string;
  readonly shape: readonly number[];
  readonly bytes: Uint8Array;
};

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

const u64 = (value: number | bigint): Uint8Array => new Uint8Array(BigUint64Array.of(BigInt(value)).buffer);
const u32 = (value: number): Uint8Array => new Uint8Array(Uint32Array.of(value).buffer);

const join = (parts: readonly Uint8Array[]): Uint8Array => new Uint8Array(Buffer.concat(parts));

/** The whole file. */
export const safetensorsBytes = (tensors: readonly FileTensor[]): Uint8Array => {
  const header: Record<string, unknown> = { __metadata__: { format: "mlx" } };
  let at = 0;
  for (const { name, type, shape, bytes } of tensors) {
    header[name] = { dtype: type, shape, data_offsets: [at, at + bytes.length] };
    at += bytes.length;
  }
  const json = utf8(JSON.stringify(header));
  return join([u64(json.length), json, ...tensors.map(({ bytes }) => bytes)]);
};

export const writeSafetensors = (path: string, tensors: readonly FileTensor[]): void =>
  writeFileSync(path, safetensorsBytes(tensors));

const ALIGNMENT = 32;
const GGML_TYPES: Readonly<Record<string, number>> = { F32: 0, F16: 1, Q4_0: 2, Q4_1: 3, Q8_0: 8, BF16: 30 };

export type GgufField =
  | { readonly key: string; readonly kind: "text"; readonly value: string }
  | { readonly key: string; readonly kind: "u32" | "f32"; readonly value: number }
  | { readonly key: string; readonly kind: "texts"; readonly value: readonly string[] }
  | { readonly key: string; readonly kind: "i32s"; readonly value: readonly number[] };

const ggufText = (text: string): Uint8Array => {
  const bytes = utf8(text);
  return join([u64(bytes.length), bytes]);
};

const ggufValue = (field: GgufField): Uint8Array => {
  switch (field.kind) {
    case "text":
      return join([u32(8), ggufText(field.value)]);
    case "u32":
      return join([u32(4), u32(field.value)]);
    case "f32":
      return join([u32(6), new Uint8Array(Float32Array.of(field.value).buffer)]);
    case "texts":
      return join([u32(9), u32(8), u64(field.value.length), ...field.value.map(ggufText)]);
    case "i32s":
      return join([u32(9), u32(5), u64(field.value.length), new Uint8Array(Int32Array.from(field.value).buffer)]);
  }
};

const padding = (length: number): Uint8Array => new Uint8Array((ALIGNMENT - (length % ALIGNMENT)) % ALIGNMENT);

/** The whole file; shapes are given outermost first. */
export const ggufBytes = (fields: readonly GgufField[], tensors: readonly FileTensor[]): Uint8Array => {
  const entries: Uint8Array[] = [];
  const data: Uint8Array[] = [];
  let at = 0;
  for (const { name, type, shape, bytes } of tensors) {
    const axes = shape.toReversed().map(u64);
    entries.push(join([ggufText(name), u32(shape.length), ...axes, u32(GGML_TYPES[type] ?? 99), u64(at)]));
    const padded = join([bytes, padding(bytes.length)]);
    data.push(padded);
    at += padded.length;
  }
  const header = join([
    utf8("GGUF"),
    u32(3),
    u64(tensors.length),
    u64(fields.length),
    ...fields.map((field) => join([ggufText(field.key), ggufValue(field)])),
    ...entries,
  ]);
  return join([header, padding(header.length), ...data]);
};
