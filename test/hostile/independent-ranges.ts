// Where the weights of a file lie, worked out apart from the product, to hold the product's word against.
import { readFileSync, statSync } from "node:fs";
import { gguf } from "@huggingface/gguf";

export type Range = { readonly start: bigint; readonly end: bigint };

const ELEMENT_BYTES: Readonly<Record<string, bigint>> = {
  F64: 8n,
  I64: 8n,
  U64: 8n,
  F32: 4n,
  I32: 4n,
  U32: 4n,
  F16: 2n,
  BF16: 2n,
  I16: 2n,
  U16: 2n,
};

const product = (shape: readonly (number | bigint)[]): bigint =>
  shape.reduce((all: bigint, one) => all * BigInt(one), 1n);

export const safetensorsRanges = (path: string): Map<string, Range> => {
  const bytes = readFileSync(path);
  const dataStart = 8n + bytes.readBigUInt64LE(0);
  const header = JSON.parse(bytes.toString("utf8", 8, Number(dataStart))) as Record<
    string,
    { dtype: string; shape: number[]; data_offsets: [number, number] }
  >;
  const ranges = new Map<string, Range>();
  for (const [name, { dtype, shape, data_offsets: offsets }] of Object.entries(header)) {
    if (name === "__metadata__") continue;
    const range = { start: dataStart + BigInt(offsets[0]), end: dataStart + BigInt(offsets[1]) };
    const bytesOf = ELEMENT_BYTES[dtype] ?? 1n;
    if (range.end - range.start !== product(shape) * bytesOf) throw new Error(`${name} has not the bytes of its shape`);
    ranges.set(name, range);
  }
  return ranges;
};

/** [elements, bytes] of a block. */
const BLOCKS: Readonly<Record<number, readonly [bigint, bigint]>> = {
  0: [1n, 4n],
  1: [1n, 2n],
  2: [32n, 18n],
  3: [32n, 20n],
  8: [32n, 34n],
  30: [1n, 2n],
};

export const ggufRanges = async (path: string): Promise<Map<string, Range>> => {
  const { tensorDataOffset, tensorInfos } = await gguf(path, { allowLocalFile: true });
  return new Map(
    tensorInfos.map(({ name, shape, dtype, offset }) => {
      const [elements, bytes] = BLOCKS[dtype] ?? [1n, 0n];
      const start = BigInt(tensorDataOffset) + offset;
      return [name, { start, end: start + (product(shape) / elements) * bytes }];
    }),
  );
};

/** Throws unless every range lies in the file. */
export const holdInside = (path: string, ranges: ReadonlyMap<string, Range>): void => {
  const size = BigInt(statSync(path).size);
  for (const [name, { start, end }] of ranges) {
    if (start < 0n || end < start || end > size) throw new Error(`${name} lies at ${start} to ${end} of ${size} bytes`);
  }
};
