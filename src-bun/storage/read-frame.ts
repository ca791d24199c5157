// Reads one block's frame into memory of the caller's. The destinations hold good bytes only when it returns.
import { KeepwarmError } from "../base/errors.ts";
import type { Filesystem } from "../platform/filesystem.ts";
import { hashPieces, TensorChecksum } from "./checksum.ts";
import { type BlockRecord, type Frame, readHead, type TensorRecord, tensorBytes } from "./frame.ts";
import type { KvOutcome, ReadRequest } from "./kv-jobs.ts";
import { type Piece, PieceReader } from "./piece-reader.ts";
import { readFully } from "./positional.ts";
import { elementCount, type StoredTensorView, withTokens } from "./stored-tensor-view.ts";
import { type Memory, StridedBytes } from "./strided-bytes.ts";

const getFrame = (filesystem: Filesystem, fd: number, request: ReadRequest): Frame<BlockRecord> => {
  const frame = readHead(filesystem, fd, request.offset);
  if (frame === null || frame.record.kind !== "block")
    throw new KeepwarmError("hash-mismatch", `The head of the block at ${request.offset} is damaged.`);
  if (frame.record.key !== request.key)
    throw new KeepwarmError("invalid-reference", `Another block lies at ${request.offset}.`);
  if (frame.record.tensors.length !== request.destinations.length)
    throw new KeepwarmError(
      "length-drift",
      `The block has ${frame.record.tensors.length} tensors; ${request.destinations.length} were asked for.`,
    );
  const bytes = filesystem.sizeBytes(fd);
  if (bytes < frame.payloadOffset + frame.payloadBytes)
    throw new KeepwarmError("truncated", `The file ends at ${bytes}, inside the block at ${frame.offset}.`);
  return { ...frame, record: frame.record };
};

/** Requires the tensor's shape, or the same with fewer tokens. Two elements in one place could not both be right. */
const checkDestination = (tensor: TensorRecord, view: StoredTensorView): void => {
  const tokens = view.shape.at(-2) ?? 0;
  const fits = view.itemSize === tensor.itemSize && `${view.shape}` === `${withTokens(tensor.shape, tokens)}`;
  if (!fits || tokens > (tensor.shape.at(-2) ?? 0))
    throw new KeepwarmError("length-drift", `A tensor of shape ${tensor.shape} cannot be read into ${view.shape}.`);
  if (view.shape.some((size, axis) => size > 1 && view.strides[axis] === 0))
    throw new KeepwarmError("invalid-reference", "A tensor cannot be read into a broadcast view.");
};

/** Where the leading tokens of each row go: piece for piece, packed bytes to the destination's logical place. */
const spread = (tensor: TensorRecord, view: StoredTensorView, target: StridedBytes) => {
  const rowBytes = elementCount(tensor.shape.slice(-2)) * tensor.itemSize;
  const wantedBytes = elementCount(view.shape.slice(-2)) * tensor.itemSize;
  return (piece: Piece, packed: Uint8Array): number => {
    const row = Math.floor(piece.start / rowBytes);
    const within = piece.start % rowBytes;
    const bytes = Math.max(0, Math.min(packed.length, wantedBytes - within));
    if (bytes > 0) target.copyFrom(row * wantedBytes + within, packed.subarray(0, bytes));
    return bytes;
  };
};

const readTensor = (reader: PieceReader, tensor: TensorRecord, view: StoredTensorView, memory: Memory): void => {
  checkDestination(tensor, view);
  const target = new StridedBytes(view, memory);
  const isWhole = target.totalBytes === tensorBytes(tensor);
  const place = spread(tensor, view, target);
  const checksum = new TensorChecksum();
  for (const piece of hashPieces(tensor.shape, tensor.itemSize)) {
    const direct = isWhole ? target.direct(piece.start, piece.bytes) : null;
    reader.add(piece, direct, (bytes) => {
      checksum.add(bytes);
      return direct === null ? place(piece, bytes) : 0;
    });
  }
  reader.atEnd(() => {
    if (checksum.text() !== tensor.hash)
      throw new KeepwarmError("hash-mismatch", `A tensor of shape ${tensor.shape} is not what was stored.`);
  });
};

export const readFrame = (filesystem: Filesystem, memory: Memory, request: ReadRequest): KvOutcome => {
  const fd = filesystem.open(request.path, "read");
  try {
    const frame = getFrame(filesystem, fd, request);
    const reader = new PieceReader(
      (views, position) => readFully(filesystem, fd, views, position),
      frame.payloadOffset,
    );
    for (const [index, tensor] of frame.record.tensors.entries()) {
      const view = request.destinations[index];
      if (view !== undefined) readTensor(reader, tensor, view, memory);
    }
    reader.flush();
    const { copiedBytes, scratchPeak } = reader;
    return { metrics: { writtenBytes: 0, reusedBytes: 0, copiedBytes, scratchPeak }, written: null };
  } finally {
    filesystem.close(fd);
  }
};
