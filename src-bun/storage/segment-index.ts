// What the index of the SSD tier holds, and the one way to change it. Two make it real: `index-db.ts` (SQLite) and the
// model of it in the power-cut tests; both pass one suite. Lives on the writer's thread.

/** A block's place among its namespace's bytes. `bytes` reaches to the next frame's beginning. */
export type FramePlace = { readonly segment: number; readonly offset: number; readonly bytes: number };

export type NamespaceRow = {
  readonly id: number;
  readonly name: string;
  /** 32 bytes, drawn when the namespace was first stored. */
  readonly key: Uint8Array;
  /** "blocks": spans that continue each other; "whole": snapshots that cannot be cut. */
  readonly layout: "blocks" | "whole";
  /** JSON of the tensors' slots with 0 tokens: every block of the namespace has these. */
  readonly slots: string;
};

export type SegmentRow = {
  readonly number: number;
  readonly namespace: number;
  /** The committed end; what lies behind it was never acknowledged. */
  readonly endBytes: number;
};

export type BlockRow = FramePlace & {
  readonly id: number;
  readonly namespace: number;
  /** The block in which token `start` − 1 lies; null at the beginning and for a whole snapshot. */
  readonly parent: number | null;
  readonly start: number;
  /** From `start` on. */
  readonly tokens: Uint32Array;
  /** 32 bytes: HMAC-SHA-256 over all tokens from 0 to the end. */
  readonly key: Uint8Array;
};

/** What the sweep and the page know of an entry; may change without a new frame. */
export type ManifestState = {
  readonly id: number;
  readonly isPinned: boolean;
  /** Wall time; null: no end. */
  readonly expiresAtMs: number | null;
  /** The store's logical clock. */
  readonly lastUsed: number;
  readonly uses: number;
};

/** An entry: the prompt that ends at token `end`, inside or at the end of `block`. */
export type ManifestRow = FramePlace &
  ManifestState & {
    readonly namespace: number;
    readonly block: number;
    readonly end: number;
    readonly label: string | null;
    readonly createdAtMs: number;
    /** Tokens of prefill that it saves. */
    readonly costTokens: number;
  };

export type Moved = FramePlace & { readonly id: number };

/** One transaction. Absent lists change nothing. */
export type IndexChange = {
  readonly putNamespaces?: readonly NamespaceRow[];
  /** Makes or replaces. */
  readonly putSegments?: readonly SegmentRow[];
  readonly putBlocks?: readonly BlockRow[];
  readonly putManifests?: readonly ManifestRow[];
  readonly moveBlocks?: readonly Moved[];
  readonly moveManifests?: readonly Moved[];
  readonly setManifests?: readonly ManifestState[];
  readonly dropManifests?: readonly number[];
  readonly dropBlocks?: readonly number[];
  readonly dropSegments?: readonly number[];
  readonly dropNamespaces?: readonly number[];
  readonly meta?: Partial<IndexMeta>;
};

export type IndexMeta = {
  /** The last tick of the store's logical clock that was used. */
  readonly clock: number;
  /** Set by a clean close, cleared by an open: an unclean end is one that left it cleared. */
  readonly isClean: boolean;
  /** Payload and heads ever written, and the wall day (UTC, days since 1970) whose bytes `writtenToday` counts. */
  readonly writtenBytes: number;
  readonly writtenDay: number;
  readonly writtenToday: number;
};

/** All blocks in columns of one length, parents before children: 100,000 rows cross a thread without being cloned. */
export type BlockColumns = {
  readonly id: Float64Array;
  readonly namespace: Uint32Array;
  /** The row (not the id) of the parent in these columns; −1 for none. */
  readonly parentRow: Int32Array;
  readonly start: Uint32Array;
  readonly segment: Uint32Array;
  readonly offset: Float64Array;
  readonly bytes: Float64Array;
  /** Where a row's tokens end in `tokens`; they begin where those of the row before end. */
  readonly tokensEnd: Float64Array;
  readonly tokens: Uint32Array;
};

export type IndexContents = {
  readonly meta: IndexMeta;
  readonly namespaces: readonly NamespaceRow[];
  readonly segments: readonly SegmentRow[];
  readonly blocks: BlockColumns;
  readonly manifests: readonly ManifestRow[];
};

export type SegmentIndex = {
  load(): IndexContents;
  /** Returns when the change would outlive a crash of the process; a power cut only after the filesystem's `settle`. */
  commit(change: IndexChange): void;
  /** Null when it is sound, else what is wrong with it. */
  fault(): string | null;
  close(): void;
};
