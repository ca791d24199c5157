/** An xxHash3 as text: a JavaScript number would round it. */
export const hash64 = (bytes: Uint8Array): string => Bun.hash.xxHash3(bytes).toString(16).padStart(16, "0");

/** The largest span of a tensor's row that is hashed, and so has to lie packed, at once. */
export const HASH_PIECE_BYTES = 64 * 1024;

/** A tensor's checksum from the hashes of its pieces in order: the same however its memory was laid out. */
export class TensorChecksum {
  readonly #hashes: bigint[] = [];

  add(piece: Uint8Array): void {
    this.#hashes.push(Bun.hash.xxHash3(piece));
  }

  text(): string {
    return hash64(new Uint8Array(BigUint64Array.from(this.#hashes).buffer));
  }
}

/** The canonical pieces of a tensor: each row (its last two dimensions) in spans of at most `HASH_PIECE_BYTES`. */
export function* hashPieces(
  shape: readonly number[],
  itemSize: number,
): Generator<{ readonly start: number; readonly bytes: number }> {
  const rowBytes = shape.slice(-2).reduce((product, size) => product * size, itemSize);
  const rows = shape.slice(0, -2).reduce((product, size) => product * size, 1);
  for (let row = 0; row < rows; row += 1) {
    for (let at = 0; at < rowBytes; at += HASH_PIECE_BYTES)
      yield { start: row * rowBytes + at, bytes: Math.min(HASH_PIECE_BYTES, rowBytes - at) };
  }
}
