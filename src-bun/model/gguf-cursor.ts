// Reads the header of a GGUF from its start, a window of the file at a time: every length is held against what is left
// of the file before anything is made of it.
import { damagedModel } from "./model-faults.ts";
import type { ModelFile } from "./model-file.ts";

const WINDOW_BYTES = 1 << 20;
/** Vocabulary, merges and tensor table of the largest models take a tenth of this. */
const MAX_HEADER_BYTES = 100_000_000;
/** Of all lists together: an element of one byte in the file takes eight in memory. */
const MAX_ELEMENTS = 16_000_000;

export class GgufCursor {
  readonly #file: ModelFile;
  readonly #decoder = new TextDecoder();
  #window = new Uint8Array(0);
  #windowStart = 0;
  #position = 0;
  #elements = 0;

  constructor(file: ModelFile) {
    this.#file = file;
  }

  get position(): number {
    return this.#position;
  }

  u8(): number {
    return this.#ahead(1).getUint8(0);
  }

  i8(): number {
    return this.#ahead(1).getInt8(0);
  }

  u16(): number {
    return this.#ahead(2).getUint16(0, true);
  }

  i16(): number {
    return this.#ahead(2).getInt16(0, true);
  }

  u32(): number {
    return this.#ahead(4).getUint32(0, true);
  }

  i32(): number {
    return this.#ahead(4).getInt32(0, true);
  }

  u64(): bigint {
    return this.#ahead(8).getBigUint64(0, true);
  }

  i64(): bigint {
    return this.#ahead(8).getBigInt64(0, true);
  }

  f32(): number {
    return this.#ahead(4).getFloat32(0, true);
  }

  f64(): number {
    return this.#ahead(8).getFloat64(0, true);
  }

  text(): string {
    const length = this.count("a text", 1);
    const start = this.#advance(length);
    return this.#decoder.decode(this.#window.subarray(start, start + length));
  }

  /** A number of things of at least `bytesEach`. Throws where the rest of the file cannot hold them. */
  count(what: string, bytesEach: number): number {
    const claimed = this.u64();
    const left = Math.min(MAX_HEADER_BYTES, this.#file.sizeBytes) - this.#position;
    if (claimed * BigInt(bytesEach) <= BigInt(left)) return Number(claimed);
    throw damagedModel(
      this.#file.path,
      `${what} at byte ${this.#position - 8} claims ${claimed}, more than can follow`,
    );
  }

  /** The length of a list whose elements take at least `bytesEach`. */
  listLength(what: string, bytesEach: number): number {
    const length = this.count(what, bytesEach);
    this.#elements += length;
    if (this.#elements <= MAX_ELEMENTS) return length;
    throw damagedModel(this.#file.path, `its lists have more than ${MAX_ELEMENTS} elements`);
  }

  /** Moves on by `bytes` and lends them. */
  #ahead(bytes: number): DataView {
    const start = this.#advance(bytes);
    return new DataView(this.#window.buffer, start, bytes);
  }

  /** Moves on by `bytes` and returns where they start in the window. */
  #advance(bytes: number): number {
    const { sizeBytes, path } = this.#file;
    const end = this.#position + bytes;
    if (end > sizeBytes) throw damagedModel(path, `its header goes on at byte ${end}, but the file has ${sizeBytes}`);
    if (end > MAX_HEADER_BYTES) throw damagedModel(path, `its header is longer than ${MAX_HEADER_BYTES} bytes`);
    if (end > this.#windowStart + this.#window.length) this.#refill(bytes);
    const start = this.#position - this.#windowStart;
    this.#position = end;
    return start;
  }

  #refill(bytes: number): void {
    const length = Math.min(Math.max(bytes, WINDOW_BYTES), this.#file.sizeBytes - this.#position);
    this.#window = new Uint8Array(length);
    this.#file.read(this.#window, this.#position);
    this.#windowStart = this.#position;
  }
}
