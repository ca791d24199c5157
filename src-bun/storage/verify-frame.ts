import type { Filesystem } from "../platform/filesystem.ts";
import { hashPieces, TensorChecksum } from "./checksum.ts";
import type { BlockRecord, Frame } from "./frame.ts";
import { PieceReader } from "./piece-reader.ts";
import { readFully } from "./positional.ts";

/** Whether all tensors of the block are what was stored. Requires a file that holds the whole frame. */
export const isUndamaged = (filesystem: Filesystem, fd: number, frame: Frame<BlockRecord>): boolean => {
  const at = frame.payloadOffset;
  const reader = new PieceReader((views, position) => readFully(filesystem, fd, views, position), at);
  let good = true;
  for (const tensor of frame.record.tensors) {
    const checksum = new TensorChecksum();
    for (const piece of hashPieces(tensor.shape, tensor.itemSize)) {
      reader.add(piece, null, (bytes) => {
        checksum.add(bytes);
        return 0;
      });
    }
    reader.atEnd(() => {
      good &&= checksum.text() === tensor.hash;
    });
  }
  reader.flush();
  return good;
};
