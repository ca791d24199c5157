// What the authority (SsdCacheStore, engine thread) asks of the writer's thread, and what it hears. No tensor bytes in it.
// The authority gives every id and decides what exists; the writer decides where a frame lies.
import type {
  FramePlace,
  IndexContents,
  IndexMeta,
  ManifestRow,
  ManifestState,
  Moved,
  NamespaceRow,
  SegmentRow,
} from "./segment-index.ts";
import type { StoredTensorView } from "./stored-tensor-view.ts";

export type NewBlock = {
  readonly id: number;
  readonly parent: number | null;
  /** Of the parent, 64 hex digits, for the frame; null as `parent` is. */
  readonly parentKey: string | null;
  readonly key: string;
  readonly start: number;
  readonly tokens: Uint32Array;
  readonly tensors: readonly StoredTensorView[];
};

/** Named lists of tensors that belong to an entry, not to a block: features of its pictures. */
export type Attachment = { readonly name: string; readonly tensors: readonly StoredTensorView[] };

export type NewManifest = Omit<ManifestRow, keyof FramePlace | "namespace"> & {
  readonly key: string;
  /** Of `block`, 64 hex digits. */
  readonly blockKey: string;
  readonly attachments: readonly Attachment[];
};

/** One save: all of it becomes durable, or nothing of it is there. */
export type StoreRequest = {
  readonly folder: string;
  /** Complete, also when it is known: the writer makes it if it is new. */
  readonly namespace: NamespaceRow;
  readonly blocks: readonly NewBlock[];
  readonly manifests: readonly NewManifest[];
  /** Entries that these replace. */
  readonly dropManifests: readonly number[];
  readonly setManifests: readonly ManifestState[];
  readonly meta: Partial<IndexMeta>;
  /** Upper bound of one gathered piece and of one write. At least 64 KiB, default 1 MiB. */
  readonly blockBytes?: number;
  /** Whether pieces end at row boundaries; without it a tensor that is not packed is packed whole first. Default true. */
  readonly segmented?: boolean;
  readonly reusedBytes?: number;
};

export type Stored = {
  /** As the request's blocks and manifests. */
  readonly blocks: readonly FramePlace[];
  readonly manifests: readonly FramePlace[];
  /** Those that were written to, with their new ends. */
  readonly segments: readonly SegmentRow[];
};

/** Takes rows out. Bytes stay in their segments, marked dead there, until the segment is unlinked. */
export type DropRequest = {
  readonly folder: string;
  readonly blocks: readonly Moved[];
  readonly manifests: readonly Moved[];
  /** Their segments become unlinkable as well. */
  readonly namespaces: readonly number[];
};

/** Copies the live frames of a segment to where the namespace is written now, verifying each. */
export type RelocateRequest = {
  readonly folder: string;
  readonly namespace: number;
  readonly segment: number;
  readonly blocks: readonly Moved[];
  readonly manifests: readonly Moved[];
};

export type Relocated = {
  readonly blocks: readonly Moved[];
  readonly manifests: readonly Moved[];
  readonly segments: readonly SegmentRow[];
  /** Blocks and manifests that were found damaged and stay where they are. */
  readonly damagedBlocks: readonly number[];
  readonly damagedManifests: readonly number[];
  readonly copiedBytes: number;
};

/** Only segments that the authority has let go: nobody reads them and no row names them. */
export type UnlinkRequest = { readonly folder: string; readonly segments: readonly number[] };

/** Facts of entries that change without a frame: last use, pin, end. */
export type TouchRequest = {
  readonly folder: string;
  readonly manifests: readonly ManifestState[];
  readonly meta: Partial<IndexMeta>;
};

/** What recovery found and did. */
export type OpenReport = {
  readonly wasClean: boolean;
  /** The index was rebuilt from the segments; null: it was sound. */
  readonly rebuiltBecause: string | null;
  readonly cutBytes: number;
  readonly removedSegments: number;
  readonly quarantinedFiles: number;
  readonly lostBlocks: number;
  /** Sentences for the log. Hold no text of a prompt. */
  readonly notes: readonly string[];
};

export type Opened = {
  readonly contents: IndexContents;
  readonly report: OpenReport;
  /** Bytes on the volume besides the segments: index, its log, quarantine, ballast. */
  readonly otherBytes: number;
};

export type FsckFault = {
  readonly segment: number;
  readonly offset: number;
  readonly what: string;
  /** The block or manifest that is lost by it; null for a file or frame that no row names. */
  readonly block: number | null;
  readonly manifest: number | null;
};

export type FsckReport = {
  readonly segments: number;
  readonly blocks: number;
  readonly manifests: number;
  readonly checkedBytes: number;
  readonly faults: readonly FsckFault[];
};

/** Removes rows that no manifest reaches and files that no row names, except segments in `held`. */
export type CollectRequest = { readonly root: string; readonly held: readonly number[] };
export type Collected = {
  readonly blocks: readonly number[];
  readonly segments: readonly number[];
  readonly freedBytes: number;
};
