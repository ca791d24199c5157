// Appends frames to a file, one flush for all. Nothing of them stays in the file when it throws.
import { dirname } from "node:path";
import { KeepwarmError, messageOf } from "../base/errors.ts";
import type { Filesystem } from "../platform/filesystem.ts";
import { HASH_PIECE_BYTES, hashPieces, TensorChecksum } from "./checksum.ts";
import { encodeHead, type TensorRecord } from "./frame.ts";
import type { FrameToWrite, KvOutcome, PlacedFrame, WriteRequest } from "./kv-jobs.ts";
import { PieceWriter } from "./piece-writer.ts";
import { writeFully } from "./positional.ts";
import type { StoredTensorView } from "./stored-tensor-view.ts";
import { type Memory, StridedBytes } from "./strided-bytes.ts";

const DEFAULT_BLOCK_BYTES = 1024 * 1024;

const checkDrift = (tensor: TensorRecord, view: StoredTensorView | undefined): StoredTensorView => {
  if (view !== undefined && view.itemSize === tensor.itemSize && `${view.shape}` === `${tensor.shape}`) return view;
  const given = view === undefined ? "nothing" : `${view.shape} of ${view.itemSize} bytes`;
  throw new KeepwarmError(
    "length-drift",
    `A tensor is described as ${tensor.shape} of ${tensor.itemSize} bytes, but ${given} was given.`,
  );
};

const writeTensor = (writer: PieceWriter, tensor: TensorRecord, view: StoredTensorView, memory: Memory): string => {
  const bytes = new StridedBytes(view, memory);
  const checksum = new TensorChecksum();
  for (const piece of hashPieces(tensor.shape, tensor.itemSize)) checksum.add(writer.put(bytes, piece));
  return checksum.text();
};

/** Writes the payload first and the head last, so that a head is never there without what it promises. */
const writeFrame = (writer: PieceWriter, frame: FrameToWrite, offset: number, memory: Memory): PlacedFrame => {
  const { frame: place } = encodeHead(frame.header, offset);
  let record = frame.header;
  if (record.kind === "block") {
    if (frame.tensors.length !== record.tensors.length)
      throw new KeepwarmError(
        "length-drift",
        `${record.tensors.length} tensors are described, but ${frame.tensors.length} were given.`,
      );
    writer.moveTo(place.payloadOffset);
    const tensors = record.tensors.map((tensor, index) => {
      const view = checkDrift(tensor, frame.tensors[index]);
      return { ...tensor, hash: writeTensor(writer, tensor, view, memory) };
    });
    record = { ...record, tensors };
  }
  writer.moveTo(offset);
  writer.putBytes(encodeHead(record, offset).head);
  return { offset, end: place.end };
};

/** A file that ends before `offset` has lost what was durable in it. */
const cutTo = (filesystem: Filesystem, fd: number, offset: number, path: string): void => {
  const bytes = filesystem.sizeBytes(fd);
  if (bytes < offset)
    throw new KeepwarmError("truncated", `${path} ends at ${bytes} bytes; ${offset} had been stored.`);
  if (bytes > offset) filesystem.truncate(fd, offset);
};

const undo = (filesystem: Filesystem, fd: number, request: WriteRequest, thrown: unknown): never => {
  try {
    if (request.offset === 0) filesystem.unlink(request.path);
    else if (filesystem.sizeBytes(fd) > request.offset) filesystem.truncate(fd, request.offset);
  } catch (cause) {
    const code = thrown instanceof KeepwarmError ? thrown.code : "io-failed";
    throw new KeepwarmError(code, `${messageOf(thrown)} What it left could not be cut: ${messageOf(cause)}`, {
      cause: thrown,
    });
  }
  throw thrown;
};

const append = (filesystem: Filesystem, fd: number, request: WriteRequest, memory: Memory): KvOutcome => {
  const blockBytes = Math.max(request.blockBytes ?? DEFAULT_BLOCK_BYTES, HASH_PIECE_BYTES);
  const writer = new PieceWriter((views, position) => writeFully(filesystem, fd, views, position), blockBytes);
  const frames: PlacedFrame[] = [];
  let end = request.offset;
  for (const frame of request.frames) {
    const placed = writeFrame(writer, frame, end, memory);
    frames.push(placed);
    end = placed.end;
  }
  writer.flush();
  filesystem.truncate(fd, end);
  filesystem.flush(fd);
  const { writtenBytes, copiedBytes, scratchPeak } = writer;
  return {
    metrics: { writtenBytes, copiedBytes, scratchPeak, reusedBytes: request.reusedBytes ?? 0 },
    written: { frames, end },
  };
};

export const writeFrames = (filesystem: Filesystem, memory: Memory, request: WriteRequest): KvOutcome => {
  const isNew = request.offset === 0;
  const fd = filesystem.open(request.path, isNew ? "create" : "update");
  try {
    if (!isNew) cutTo(filesystem, fd, request.offset, request.path);
    const outcome = append(filesystem, fd, request, memory);
    if (isNew) filesystem.flushFolder(dirname(request.path));
    return outcome;
  } catch (thrown) {
    return undo(filesystem, fd, request, thrown);
  } finally {
    filesystem.close(fd);
  }
};
