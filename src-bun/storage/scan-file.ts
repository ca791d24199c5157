// Reads the heads of one append-only file when the store opens, and cuts what a crash left behind its last good frame.
import type { Filesystem } from "../platform/filesystem.ts";
import { type BlockRecord, type FileRecord, FRAME_ALIGN_BYTES, type Frame, readHead } from "./frame.ts";
import { isUndamaged } from "./verify-frame.ts";

export type ScannedFile = {
  readonly header: FileRecord;
  readonly blocks: readonly Frame<BlockRecord>[];
  /** Blocks of this or an older file that are not to be offered again. */
  readonly drops: readonly { readonly file: string; readonly offset: number }[];
  /** Where the next frame goes. */
  readonly end: number;
};

const isBlock = (frame: Frame): frame is Frame<BlockRecord> => frame.record.kind === "block";

/** The first whole frame at or behind `from`, which a damaged head may hide. */
const nextFrame = (filesystem: Filesystem, fd: number, from: number, size: number): Frame | null => {
  for (let at = from; at < size; at += FRAME_ALIGN_BYTES) {
    const frame = readHead(filesystem, fd, at);
    if (frame !== null && frame.end <= size) return frame;
  }
  return null;
};

/** Only the last save may have been cut short by a power cut: its bytes are read, the others' were flushed before it. */
const withoutTorn = (filesystem: Filesystem, fd: number, frames: readonly Frame[]): Frame[] => {
  const last = frames.at(-1)?.record;
  const savedFrom = last === undefined || last.kind === "file" ? Number.POSITIVE_INFINITY : last.savedFrom;
  return frames.filter((frame) => frame.offset < savedFrom || !isBlock(frame) || isUndamaged(filesystem, fd, frame));
};

const readFrames = (filesystem: Filesystem, fd: number, size: number, log: (line: string) => void): Frame[] => {
  const frames: Frame[] = [];
  for (let at = 0; at < size; ) {
    const frame = nextFrame(filesystem, fd, at, size);
    if (frame === null) break;
    if (frame.offset > at) log(`${frame.offset - at} damaged bytes at ${at} are passed over.`);
    frames.push(frame);
    at = frame.end;
  }
  return frames;
};

/** Returns null, and leaves the file alone, when its first frame does not say whose blocks it holds. */
export const scanFile = (filesystem: Filesystem, path: string, log: (line: string) => void): ScannedFile | null => {
  const fd = filesystem.open(path, "update");
  try {
    const size = filesystem.sizeBytes(fd);
    const header = readHead(filesystem, fd, 0);
    if (header === null || header.record.kind !== "file" || header.end > size) return null;
    const frames = withoutTorn(filesystem, fd, readFrames(filesystem, fd, size, log));
    const end = frames.at(-1)?.end ?? header.end;
    if (end < size) {
      log(`${size - end} bytes of an unfinished save are cut off at ${end}.`);
      filesystem.truncate(fd, end);
    }
    const drops = frames.flatMap(({ record }) => (record.kind === "drop" ? [record] : []));
    return { header: header.record, blocks: frames.filter(isBlock), drops, end };
  } finally {
    filesystem.close(fd);
  }
};
