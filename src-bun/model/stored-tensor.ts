// A tensor as it lies in a file, and the checks that a header must pass before anything is read by it.
import { damagedModel } from "./model-faults.ts";
import type { ModelFile } from "./model-file.ts";

/** Element types as the formats name them: those of safetensors, then blocks of 32 of GGML. */
const types = {
  F64: { elements: 1, bytes: 8 },
  F32: { elements: 1, bytes: 4 },
  F16: { elements: 1, bytes: 2 },
  BF16: { elements: 1, bytes: 2 },
  F8_E4M3: { elements: 1, bytes: 1 },
  F8_E5M2: { elements: 1, bytes: 1 },
  I64: { elements: 1, bytes: 8 },
  I32: { elements: 1, bytes: 4 },
  I16: { elements: 1, bytes: 2 },
  I8: { elements: 1, bytes: 1 },
  U64: { elements: 1, bytes: 8 },
  U32: { elements: 1, bytes: 4 },
  U16: { elements: 1, bytes: 2 },
  U8: { elements: 1, bytes: 1 },
  BOOL: { elements: 1, bytes: 1 },
  Q4_0: { elements: 32, bytes: 18 },
  Q4_1: { elements: 32, bytes: 20 },
  Q8_0: { elements: 32, bytes: 34 },
} as const;

export type StoredType = keyof typeof types;

export const isStoredType = (name: string): name is StoredType => Object.hasOwn(types, name);

/** MLX counts the elements of an axis in 32 bits. */
const MAX_AXIS = 2n ** 31n - 1n;
const MAX_RANK = 8;

export type StoredTensor = {
  readonly name: string;
  readonly type: StoredType;
  /** Outermost axis first. */
  readonly shape: readonly number[];
  readonly file: ModelFile;
  /** Where its bytes start in the file. */
  readonly start: number;
  readonly bytes: number;
};

/** Exact, because a shape's product may pass 2^53. Null: its rows are no whole number of blocks. */
export const storedBytes = (type: StoredType, shape: readonly bigint[]): bigint | null => {
  const block = types[type];
  if ((shape.at(-1) ?? 1n) % BigInt(block.elements) !== 0n) return null;
  const elements = shape.reduce((product, length) => product * length, 1n);
  return (elements / BigInt(block.elements)) * BigInt(block.bytes);
};

export type TensorClaim = {
  readonly name: string;
  readonly type: StoredType;
  readonly shape: readonly bigint[];
  readonly start: bigint;
};

/** The tensor that a header claims, once its shape and its range in the file hold. */
export const checkedTensor = (file: ModelFile, { name, type, shape, start }: TensorClaim): StoredTensor => {
  const damaged = (why: string) => damagedModel(file.path, `"${name}" ${why}`);
  if (shape.length > MAX_RANK) throw damaged(`has ${shape.length} axes`);
  const long = shape.find((length) => length < 0n || length > MAX_AXIS);
  if (long !== undefined) throw damaged(`has an axis of ${long}`);
  const bytes = storedBytes(type, shape);
  if (bytes === null) throw damaged("is no whole number of blocks");
  const end = start + bytes;
  if (end > BigInt(file.sizeBytes)) throw damaged(`ends at byte ${end}, but the file has ${file.sizeBytes}`);
  return { name, type, shape: shape.map(Number), file, start: Number(start), bytes: Number(bytes) };
};

/** Of tensors of one file: throws where two share a name or a byte; calls `onGap` for bytes between two. */
export const checkLayout = (
  tensors: readonly StoredTensor[],
  dataStart: number,
  onGap: (at: number, bytes: number) => void,
): void => {
  const names = new Set<string>();
  for (const { name, file } of tensors) {
    if (names.has(name)) throw damagedModel(file.path, `"${name}" is there twice`);
    names.add(name);
  }
  let end = dataStart;
  const inOrder = tensors.toSorted((a, b) => a.start - b.start || a.bytes - b.bytes);
  for (const { name, file, start, bytes } of inOrder) {
    if (start < end) throw damagedModel(file.path, `"${name}" shares bytes with another tensor`);
    if (start > end) onGap(end, start - end);
    end = start + bytes;
  }
};
