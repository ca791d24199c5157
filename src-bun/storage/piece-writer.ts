// Collects pieces that follow each other in a file, from where they lie, and writes them in calls of about blockBytes.
import type { StridedBytes } from "./strided-bytes.ts";

type Piece = { readonly start: number; readonly bytes: number };

/** A longer list costs the system more than it saves. */
const MAX_PIECES = 512;

export class PieceWriter {
  writtenBytes = 0;
  copiedBytes = 0;
  scratchPeak = 0;
  readonly #write: (views: readonly Uint8Array[], position: number) => number;
  readonly #blockBytes: number;
  #scratch: Uint8Array | null = null;
  #scratchUsed = 0;
  #views: Uint8Array[] = [];
  #viewBytes = 0;
  #position = 0;

  constructor(write: (views: readonly Uint8Array[], position: number) => number, blockBytes: number) {
    this.#write = write;
    this.#blockBytes = blockBytes;
  }

  /** The next piece goes to this place of the file. */
  moveTo(position: number): void {
    this.flush();
    this.#position = position;
  }

  /** Returns the piece's bytes, packed; they are valid until the next call. Requires at most blockBytes. */
  put(tensor: StridedBytes, piece: Piece): Uint8Array {
    const bytes = tensor.direct(piece.start, piece.bytes) ?? this.#gather(tensor, piece);
    this.putBytes(bytes);
    return bytes;
  }

  /** Requires that the bytes stay as they are until `flush`. */
  putBytes(bytes: Uint8Array): void {
    this.#views.push(bytes);
    this.#viewBytes += bytes.length;
    if (this.#viewBytes >= this.#blockBytes || this.#views.length >= MAX_PIECES) this.flush();
  }

  flush(): void {
    if (this.#views.length > 0) this.writtenBytes += this.#write(this.#views, this.#position);
    this.#position += this.#viewBytes;
    this.#views = [];
    this.#viewBytes = 0;
    this.#scratchUsed = 0;
  }

  #gather(tensor: StridedBytes, piece: Piece): Uint8Array {
    this.#scratch ??= new Uint8Array(this.#blockBytes);
    if (this.#scratchUsed + piece.bytes > this.#scratch.length) this.flush();
    const place = this.#scratch.subarray(this.#scratchUsed, this.#scratchUsed + piece.bytes);
    tensor.copyTo(piece.start, place);
    this.#scratchUsed += piece.bytes;
    this.copiedBytes += piece.bytes;
    this.scratchPeak = Math.max(this.scratchPeak, this.#scratchUsed);
    return place;
  }
}
