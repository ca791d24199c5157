// What a KvWriter and its worker say to each other. Everything survives a structured clone; no tensor bytes in it.
import type { WireError } from "../contract/engine.ts";
import type { FrameRecord } from "./frame.ts";
import type { StoredTensorView } from "./stored-tensor-view.ts";

export type FrameToWrite = {
  /** A block's tensors as they will lie in the file; their `hash` is filled in while writing. */
  readonly header: FrameRecord;
  readonly tensors: readonly StoredTensorView[];
};

export type WriteRequest = {
  readonly path: string;
  /** The end of what is durable in the file; bytes behind it are cut first. 0 makes the file. */
  readonly offset: number;
  readonly frames: readonly FrameToWrite[];
  /** Upper bound of one gathered piece and of one write. At least 64 KiB, default 1 MiB. */
  readonly blockBytes?: number;
  /** Payload that the caller left out because it was durable already; reported in the metrics. */
  readonly reusedBytes?: number;
};

export type PlacedFrame = { readonly offset: number; readonly end: number };
export type WriteResult = { readonly frames: readonly PlacedFrame[]; readonly end: number };

export type ReadRequest = {
  readonly path: string;
  /** Where the block's frame begins. */
  readonly offset: number;
  /** The frame is refused when it carries another. */
  readonly key: string;
  /** One for each tensor of the block; fewer tokens than the block has mean its first ones. */
  readonly destinations: readonly StoredTensorView[];
};

export type JobMetrics = {
  readonly elapsedMs: number;
  /** Payload and heads. */
  readonly writtenBytes: number;
  readonly reusedBytes: number;
  /** Only what had to be gathered or spread. */
  readonly copiedBytes: number;
  readonly scratchPeak: number;
};

export type KvRequest =
  | { readonly kind: "write"; readonly request: WriteRequest }
  | { readonly kind: "read"; readonly request: ReadRequest };

export type KvOutcome = { readonly metrics: Omit<JobMetrics, "elapsedMs">; readonly written: WriteResult | null };

export type KvJob = KvRequest & { readonly id: number };
/** "close" ends the worker; it is sent only when no job is pending. */
export type KvMessage = KvJob | { readonly kind: "close" };

export type KvReply =
  | {
      readonly id: number;
      readonly kind: "done";
      readonly metrics: JobMetrics;
      readonly written: WriteResult | null;
    }
  | { readonly id: number; readonly kind: "failed"; readonly error: WireError };
