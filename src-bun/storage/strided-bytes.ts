// A tensor's bytes in logical (row-major) order over memory of any strides.
import { KeepwarmError } from "../base/errors.ts";
import { elementCount, type StoredTensorView } from "./stored-tensor-view.ts";

/** Bytes at an address, not copied. Requires `bytes` above 0. */
export type Memory = (pointer: number, bytes: number) => Uint8Array;

/** JavaScriptCore's limit for one array buffer. */
const MAX_SPAN_BYTES = 2 ** 32;
/** Below this a loop over bytes is faster than a view for each run. */
const SMALL_RUN_BYTES = 32;

type Dimension = { readonly size: number; readonly stride: number };

const badReference = (what: string): KeepwarmError =>
  new KeepwarmError("invalid-reference", `A tensor's memory cannot be used: ${what}.`);

const dimensionsOf = (view: StoredTensorView): Dimension[] => {
  if (view.shape.length !== view.strides.length) throw badReference("its shape and strides differ in rank");
  return view.shape.map((size, axis) => {
    const stride = view.strides[axis] ?? 0;
    if (!Number.isSafeInteger(size) || size < 0 || !Number.isSafeInteger(stride))
      throw badReference(`dimension ${axis} is ${size} with stride ${stride}`);
    return { size, stride };
  });
};

/** How many trailing elements lie next to each other, and the dimensions outside them. */
const splitRuns = (dimensions: readonly Dimension[]): { runElements: number; outer: Dimension[] } => {
  const kept = dimensions.filter((dimension) => dimension.size !== 1);
  let runElements = 1;
  while (kept.length > 0 && kept.at(-1)?.stride === runElements) runElements *= kept.pop()?.size ?? 1;
  return { runElements, outer: kept };
};

export class StridedBytes {
  readonly totalBytes: number;
  readonly #memory: Memory;
  /** The address of the lowest byte, and how many there are to the highest. */
  readonly #lowest: number;
  readonly #spanBytes: number;
  /** Of the first element from the lowest byte; above 0 with negative strides. */
  readonly #origin: number;
  readonly #runBytes: number;
  readonly #outer: readonly Dimension[];
  readonly #itemSize: number;
  #span: Uint8Array | null = null;

  constructor(view: StoredTensorView, memory: Memory) {
    const dimensions = dimensionsOf(view);
    const { runElements, outer } = splitRuns(dimensions);
    const reach = dimensions.map(({ size, stride }) => Math.max(0, size - 1) * stride * view.itemSize);
    this.#memory = memory;
    this.#itemSize = view.itemSize;
    this.#outer = outer;
    this.#runBytes = runElements * view.itemSize;
    this.totalBytes = elementCount(view.shape) * view.itemSize;
    this.#origin = -reach.filter((bytes) => bytes < 0).reduce((sum, bytes) => sum + bytes, 0);
    this.#lowest = view.pointer - this.#origin;
    this.#spanBytes = reach.reduce((sum, bytes) => sum + Math.abs(bytes), view.itemSize);
    if (this.totalBytes > 0) this.#checkReach();
  }

  /** The bytes themselves where they lie next to each other in memory, else null. */
  direct(start: number, bytes: number): Uint8Array | null {
    const within = start % this.#runBytes;
    if (within + bytes > this.#runBytes) return null;
    const at = this.#offsetOfRun(Math.floor(start / this.#runBytes)) + within;
    // A view of the piece alone: the collector counts a view's bytes as if they were its own.
    return this.#memory(this.#lowest + at, bytes);
  }

  /** Packs the logical bytes from `start` on until `into` is full. */
  copyTo(start: number, into: Uint8Array): void {
    const span = this.#openSpan();
    this.#eachRun(start, into.length, (at, done, bytes) => copyBytes(span, at, into, done, bytes));
  }

  /** Spreads packed bytes to the logical place `start`. */
  copyFrom(start: number, from: Uint8Array): void {
    const span = this.#openSpan();
    this.#eachRun(start, from.length, (at, done, bytes) => copyBytes(from, done, span, at, bytes));
  }

  #checkReach(): void {
    if (!Number.isSafeInteger(this.#lowest) || this.#lowest <= 0) throw badReference(`its address is ${this.#lowest}`);
    if (!Number.isSafeInteger(this.#spanBytes) || this.#spanBytes > MAX_SPAN_BYTES)
      throw badReference(`it spans ${this.#spanBytes} bytes`);
  }

  #openSpan(): Uint8Array {
    this.#span ??= this.#memory(this.#lowest, this.#spanBytes);
    return this.#span;
  }

  #offsetOfRun(run: number): number {
    let rest = run;
    let elements = 0;
    for (let axis = this.#outer.length - 1; axis >= 0; axis -= 1) {
      const { size, stride } = this.#outer[axis] ?? { size: 1, stride: 0 };
      elements += (rest % size) * stride;
      rest = Math.floor(rest / size);
    }
    return this.#origin + elements * this.#itemSize;
  }

  #eachRun(start: number, bytes: number, visit: (at: number, done: number, bytes: number) => void): void {
    if (start + bytes > this.totalBytes) throw badReference("a piece passes its end");
    let run = Math.floor(start / this.#runBytes);
    let within = start % this.#runBytes;
    for (let done = 0; done < bytes; ) {
      const piece = Math.min(this.#runBytes - within, bytes - done);
      visit(this.#offsetOfRun(run) + within, done, piece);
      done += piece;
      run += 1;
      within = 0;
    }
  }
}

const copyBytes = (from: Uint8Array, fromAt: number, to: Uint8Array, toAt: number, bytes: number): void => {
  if (bytes > SMALL_RUN_BYTES) {
    to.set(from.subarray(fromAt, fromAt + bytes), toAt);
    return;
  }
  for (let index = 0; index < bytes; index += 1) to[toAt + index] = from[fromAt + index] ?? 0;
};
