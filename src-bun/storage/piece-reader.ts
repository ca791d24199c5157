// Reads pieces that follow each other in a file into where they belong, about a MiB a call, and hands each on while
// it is still in the processor's cache.
import { KeepwarmError } from "../base/errors.ts";

export type Piece = { readonly start: number; readonly bytes: number };

/** Given the piece's bytes. Returns how many of them it copied elsewhere. */
type Arrived = (bytes: Uint8Array) => number;

const BATCH_BYTES = 1024 * 1024;
const MAX_PIECES = 512;

export class PieceReader {
  copiedBytes = 0;
  scratchPeak = 0;
  readonly #read: (views: readonly Uint8Array[], position: number) => number;
  #position: number;
  #scratch: Uint8Array | null = null;
  #scratchUsed = 0;
  #views: Uint8Array[] = [];
  #viewBytes = 0;
  #steps: (() => void)[] = [];

  constructor(read: (views: readonly Uint8Array[], position: number) => number, position: number) {
    this.#read = read;
    this.#position = position;
  }

  /** Reads the next piece into `direct`, or into scratch where that is null. */
  add(piece: Piece, direct: Uint8Array | null, arrived: Arrived): void {
    const view = direct ?? this.#reserve(piece.bytes);
    this.#views.push(view);
    this.#viewBytes += view.length;
    this.#steps.push(() => {
      this.copiedBytes += arrived(view);
    });
    if (this.#viewBytes >= BATCH_BYTES || this.#views.length >= MAX_PIECES) this.flush();
  }

  /** Runs once all pieces added so far have arrived. */
  atEnd(step: () => void): void {
    this.#steps.push(step);
  }

  flush(): void {
    const bytes = this.#views.length === 0 ? 0 : this.#read(this.#views, this.#position);
    if (bytes < this.#viewBytes)
      throw new KeepwarmError("truncated", `The file ended ${this.#viewBytes - bytes} bytes too early.`);
    const steps = this.#steps;
    this.#position += bytes;
    this.#views = [];
    this.#viewBytes = 0;
    this.#scratchUsed = 0;
    this.#steps = [];
    for (const step of steps) step();
  }

  #reserve(bytes: number): Uint8Array {
    this.#scratch ??= new Uint8Array(BATCH_BYTES);
    if (this.#scratchUsed + bytes > this.#scratch.length) this.flush();
    const place = this.#scratch.subarray(this.#scratchUsed, this.#scratchUsed + bytes);
    this.#scratchUsed += bytes;
    this.scratchPeak = Math.max(this.scratchPeak, this.#scratchUsed);
    return place;
  }
}
