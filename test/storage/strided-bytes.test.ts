import { type Pointer, ptr, toArrayBuffer } from "bun:ffi";
import { expect, test } from "bun:test";
import fc from "fast-check";
import { hashPieces } from "../../src-bun/storage/checksum.ts";
import { PieceWriter } from "../../src-bun/storage/piece-writer.ts";
import { elementCount, type StoredTensorView } from "../../src-bun/storage/stored-tensor-view.ts";
import { type Memory, StridedBytes } from "../../src-bun/storage/strided-bytes.ts";

const memory: Memory = (pointer, bytes) => new Uint8Array(toArrayBuffer(pointer as Pointer, 0, bytes));

type Case = { readonly shape: number[]; readonly strides: number[]; readonly itemSize: number };

/** Element by element, by the definition of a stride. */
const referenceGather = (bytes: Uint8Array, origin: number, { shape, strides, itemSize }: Case): Uint8Array => {
  const out = new Uint8Array(elementCount(shape) * itemSize);
  for (let index = 0; index < elementCount(shape); index += 1) {
    let [rest, element] = [index, 0];
    for (let axis = shape.length - 1; axis >= 0; axis -= 1) {
      const size = shape[axis] ?? 1;
      element += (rest % size) * (strides[axis] ?? 0);
      rest = Math.floor(rest / size);
    }
    const at = origin + element * itemSize;
    out.set(bytes.subarray(at, at + itemSize), index * itemSize);
  }
  return out;
};

/** Sizes from 0, strides of any sign and 0: only reading allows overlap. */
const anyCase = fc
  .record({
    shape: fc.array(fc.integer({ min: 0, max: 6 }), { maxLength: 5 }),
    itemSize: fc.constantFrom(1, 2, 4, 8),
    wild: fc.array(fc.integer({ min: -40, max: 40 }), { minLength: 5, maxLength: 5 }),
    packed: fc.boolean(),
  })
  .map(({ shape, itemSize, wild, packed }): Case => {
    const strides = shape.map((_, axis) => (packed ? elementCount(shape.slice(axis + 1)) : (wild[axis] ?? 0)));
    return { shape, strides, itemSize };
  });

const reachOf = ({ shape, strides, itemSize }: Case) => {
  const steps = shape.map((size, axis) => Math.max(0, size - 1) * (strides[axis] ?? 0) * itemSize);
  const below = -steps.filter((step) => step < 0).reduce((sum, step) => sum + step, 0);
  return { below, bytes: steps.reduce((sum, step) => sum + Math.abs(step), itemSize) };
};

const laidOut = (each: Case) => {
  const { below, bytes } = reachOf(each);
  const buffer = Uint8Array.from({ length: bytes }, (_, index) => (index * 37 + 11) & 255);
  const pointer = ptr(buffer) + below;
  const view: StoredTensorView = { pointer, dtype: "any", group: 0, ...each };
  return { buffer, below, view };
};

test("any strides are gathered as an element-by-element reading would", () => {
  fc.assert(
    fc.property(anyCase, (each) => {
      const { buffer, below, view } = laidOut(each);
      const written: Uint8Array[] = [];
      const writer = new PieceWriter((views) => {
        for (const bytes of views) written.push(bytes.slice());
        return views.reduce((sum, bytes) => sum + bytes.length, 0);
      }, 64 * 1024);
      const strided = new StridedBytes(view, memory);
      for (const piece of hashPieces(each.shape, each.itemSize)) writer.put(strided, piece);
      writer.flush();
      expect(Buffer.concat(written)).toEqual(Buffer.from(referenceGather(buffer, below, each)));
    }),
    { numRuns: 3000, seed: 20_240_611 },
  );
});

test("spreading packed bytes and gathering them gives them back", () => {
  const distinct = anyCase.map(({ shape, itemSize }, index = 0): Case => {
    const padded = shape.map((size) => size + 1);
    const sign = (axis: number) => ((axis + index) % 2 === 0 ? 1 : -1);
    const strides = shape.map((_, axis) => sign(axis) * elementCount(padded.slice(axis + 1)));
    return { shape, strides, itemSize };
  });
  fc.assert(
    fc.property(distinct, (each) => {
      const { buffer, view } = laidOut(each);
      const strided = new StridedBytes(view, memory);
      const packed = Uint8Array.from({ length: strided.totalBytes }, (_, index) => (index * 91 + 5) & 255);
      const got = new Uint8Array(packed.length);
      strided.copyFrom(0, packed);
      strided.copyTo(0, got);
      expect(got).toEqual(packed);
      expect(buffer.length).toBeGreaterThan(0);
    }),
    { numRuns: 1000, seed: 7 },
  );
});

test("a run that lies together is used where it is, and a scratch never grows past its bound", () => {
  const rows = { shape: [3, 100, 64], strides: [500 * 64, 64, 1], itemSize: 4 };
  const turned = { shape: [4, 300, 64], strides: [300 * 64, 1, 300], itemSize: 4 };
  for (const [each, copied] of [
    [rows, 0],
    [turned, 4 * 300 * 64 * 4],
  ] as const) {
    const { buffer, view } = laidOut({ ...each, shape: [...each.shape], strides: [...each.strides] });
    const writer = new PieceWriter((views) => views.reduce((sum, { length }) => sum + length, 0), 100_000);
    const strided = new StridedBytes(view, memory);
    for (const piece of hashPieces(each.shape, each.itemSize)) writer.put(strided, piece);
    writer.flush();
    expect(writer.copiedBytes).toBe(copied);
    expect(writer.scratchPeak).toBeLessThanOrEqual(100_000);
    expect(writer.writtenBytes).toBe(strided.totalBytes);
    expect(buffer.length).toBeGreaterThan(0);
  }
});

test("an address, a rank or a size that cannot be is refused by name", () => {
  const base: StoredTensorView = { pointer: 0, dtype: "any", shape: [2, 2], strides: [2, 1], itemSize: 4, group: 0 };
  const odd: StoredTensorView[] = [
    base,
    { ...base, pointer: 4096, strides: [1] },
    { ...base, pointer: 4096, shape: [2, -1] },
    { ...base, pointer: 4096, strides: [2 ** 40, 1] },
  ];
  for (const view of odd) {
    const open = () => new StridedBytes(view, memory);
    expect(open).toThrow(expect.objectContaining({ code: "invalid-reference" }));
  }
});
