// The identity of a model's weights: equal for equal tensors, whatever files hold them in whatever order.
import type { StoredTensor } from "./stored-tensor.ts";

const PIECE_BYTES = 4 << 20;
/** How much is read before others get a turn. */
const TURN_BYTES = 64 << 20;

/** Over sorted names: name, element type, shape and every byte. 64 hex digits. `turn` lets messages in. */
export const tensorFingerprint = async (
  tensors: ReadonlyMap<string, StoredTensor>,
  turn: () => Promise<void>,
): Promise<string> => {
  const hash = new Bun.CryptoHasher("sha256");
  const piece = new Uint8Array(PIECE_BYTES);
  let sinceTurn = 0;
  const byName = [...tensors].sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [name, { type, shape, bytes, file, start }] of byName) {
    hash.update(`${JSON.stringify([name, type, shape, bytes])}\n`);
    for (let done = 0; done < bytes; done += PIECE_BYTES) {
      const part = piece.subarray(0, Math.min(PIECE_BYTES, bytes - done));
      file.read(part, start + done);
      hash.update(part);
      sinceTurn += part.length;
      if (sinceTurn < TURN_BYTES) continue;
      sinceTurn = 0;
      await turn();
    }
  }
  return hash.digest("hex");
};
