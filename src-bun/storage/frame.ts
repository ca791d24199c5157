// One frame of an append-only file: a head (what it holds, checked by its own hash) and the tensors' bytes behind it.
// 0 magic · 8 hash of everything from 16 to the head's end · 16 own offset · 24 payload bytes · 32 head bytes · 36 version · 40 JSON
import * as v from "valibot";
import type { Filesystem } from "../platform/filesystem.ts";
import { hash64 } from "./checksum.ts";
import { readFully } from "./positional.ts";
import { elementCount } from "./stored-tensor-view.ts";

/** Frames begin at multiples of this, so that a scan can find the next one behind a damaged one. */
export const FRAME_ALIGN_BYTES = 4096;
const FRAME_VERSION = 1;
/** A declared length above this is not believed. */
const MAX_HEAD_BYTES = 1024 * 1024;
const FIXED_BYTES = 40;
const MAGIC = "KWFRAME1";

const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const hex = (digits: number) => v.pipe(v.string(), v.regex(/^[0-9a-f]*$/), v.length(digits));

const tensorSchema = v.object({
  dtype: v.string(),
  shape: v.array(count),
  itemSize: v.pipe(count, v.minValue(1), v.maxValue(16)),
  group: count,
  /** Of its bytes, by `TensorChecksum`. */
  hash: hex(16),
});

/** The first frame of a file: whose blocks it holds, and the key that names them. */
const fileSchema = v.object({ kind: v.literal("file"), namespace: v.string(), key: hex(64) });

const blockSchema = v.object({
  kind: v.literal("block"),
  /** HMAC over all tokens from 0 to `end`. */
  key: hex(64),
  /** The block in which token `start` − 1 lies; null at the beginning. */
  parent: v.nullable(hex(64)),
  start: count,
  end: count,
  /** Where the save began that wrote this frame: all before it had been flushed by then. */
  savedFrom: count,
  tokens: v.array(v.pipe(count, v.maxValue(0xffff_ffff))),
  tensors: v.array(tensorSchema),
});

/** Says that the block at `offset` of a file of this folder was found damaged and is not to be offered again. */
const dropSchema = v.object({ kind: v.literal("drop"), file: v.string(), offset: count, savedFrom: count });

const recordSchema = v.variant("kind", [fileSchema, blockSchema, dropSchema]);

export type TensorRecord = Readonly<v.InferOutput<typeof tensorSchema>>;
export type FileRecord = Readonly<v.InferOutput<typeof fileSchema>>;
export type BlockRecord = Readonly<v.InferOutput<typeof blockSchema>>;
type DropRecord = Readonly<v.InferOutput<typeof dropSchema>>;
export type FrameRecord = FileRecord | BlockRecord | DropRecord;

export type Frame<Record extends FrameRecord = FrameRecord> = {
  readonly offset: number;
  readonly headBytes: number;
  /** A multiple of the page, which the system copies faster. */
  readonly payloadOffset: number;
  readonly payloadBytes: number;
  /** Where the next frame begins. */
  readonly end: number;
  readonly record: Record;
};

export const tensorBytes = (tensor: { readonly shape: readonly number[]; readonly itemSize: number }): number =>
  elementCount(tensor.shape) * tensor.itemSize;

const alignUp = (bytes: number): number => Math.ceil(bytes / FRAME_ALIGN_BYTES) * FRAME_ALIGN_BYTES;

const payloadOf = (record: FrameRecord): number =>
  record.kind === "block" ? record.tensors.reduce((sum, tensor) => sum + tensorBytes(tensor), 0) : 0;

const frameOf = (record: FrameRecord, offset: number, headBytes: number): Frame => {
  const payloadBytes = payloadOf(record);
  const payloadOffset = alignUp(offset + headBytes);
  return { offset, headBytes, payloadOffset, payloadBytes, end: alignUp(payloadOffset + payloadBytes), record };
};

/** The head's length depends on the record alone, never on the hashes in it. */
export const encodeHead = (record: FrameRecord, offset: number): { frame: Frame; head: Uint8Array } => {
  const json = new TextEncoder().encode(JSON.stringify(record));
  const head = new Uint8Array(FIXED_BYTES + json.length);
  const frame = frameOf(record, offset, head.length);
  head.set(new TextEncoder().encode(MAGIC), 0);
  head.set(json, FIXED_BYTES);
  const view = new DataView(head.buffer);
  view.setBigUint64(16, BigInt(offset), true);
  view.setBigUint64(24, BigInt(frame.payloadBytes), true);
  view.setUint32(32, head.length, true);
  view.setUint32(36, FRAME_VERSION, true);
  view.setBigUint64(8, BigInt(`0x${hash64(head.subarray(16))}`), true);
  return { frame, head };
};

const isConsistent = (record: FrameRecord): boolean => {
  if (record.kind !== "block") return true;
  const length = record.end - record.start;
  const startsRight = (record.parent === null) === (record.start === 0);
  const tensorsFit = record.tensors.every((tensor) => tensor.shape.at(-2) === length);
  return length > 0 && length === record.tokens.length && startsRight && tensorsFit;
};

const parseRecord = (json: Uint8Array): FrameRecord | null => {
  try {
    const parsed = v.safeParse(recordSchema, JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(json)));
    return parsed.success && isConsistent(parsed.output) ? parsed.output : null;
  } catch {
    return null; // not JSON: the frame is damaged, which is what null says
  }
};

const decodeHead = (head: Uint8Array, offset: number, fixed: DataView): Frame | null => {
  if (fixed.getBigUint64(8, true).toString(16).padStart(16, "0") !== hash64(head.subarray(16))) return null;
  if (fixed.getBigUint64(16, true) !== BigInt(offset) || fixed.getUint32(36, true) !== FRAME_VERSION) return null;
  const record = parseRecord(head.subarray(FIXED_BYTES));
  if (record === null) return null;
  const frame = frameOf(record, offset, head.length);
  return fixed.getBigUint64(24, true) === BigInt(frame.payloadBytes) ? frame : null;
};

/** Returns the frame at `offset`, or null where no whole and undamaged head lies. */
export const readHead = (filesystem: Filesystem, fd: number, offset: number): Frame | null => {
  const fixed = new Uint8Array(FIXED_BYTES);
  if (readFully(filesystem, fd, [fixed], offset) < FIXED_BYTES) return null;
  const view = new DataView(fixed.buffer);
  const headBytes = view.getUint32(32, true);
  const hasMagic = new TextDecoder().decode(fixed.subarray(0, MAGIC.length)) === MAGIC;
  if (!hasMagic || headBytes <= FIXED_BYTES || headBytes > MAX_HEAD_BYTES) return null;
  const head = new Uint8Array(headBytes);
  if (readFully(filesystem, fd, [head], offset) < headBytes) return null;
  return decodeHead(head, offset, new DataView(head.buffer));
};
