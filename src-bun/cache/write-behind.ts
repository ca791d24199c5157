// Saves what a request added after it has been answered: cuts blocks from the live KV at once, then lets the store
// write them one chat after the other. Lives on the engine thread.

import { commonPrefix } from "../base/common-prefix.ts";
import { messageOf } from "../base/errors.ts";
import type { SsdCacheStore } from "../storage/ssd-cache.ts";
import { blockSpans, type TokenSpan } from "./block-spans.ts";
import type { KvBlocks } from "./kv-blocks.ts";

/** What write-behind needs of the store. */
export type DurableStore = Pick<SsdCacheStore, "health" | "longestDurablePrefix" | "storeAsync">;

type Span<Block> = TokenSpan & { readonly block: Block };

type Job<Block> = {
  readonly tokens: Uint32Array;
  readonly namespace: string;
  readonly bytes: number;
  readonly spans: readonly Span<Block>[];
};

export class WriteBehind<Kv, Block> {
  readonly #kv: KvBlocks<Kv, Block>;
  readonly #store: DurableStore;
  readonly #maxBytes: number;
  readonly #onFault: (reason: string | null) => void;
  readonly #pending = new Set<Job<Block>>();
  #tail: Promise<void> = Promise.resolve();
  #droppedJobs = 0;
  #lastError: string | null = null;

  /** `maxBytes` bounds the copies that wait to be written. `onFault` hears why a save failed, and null once one succeeds again. */
  constructor(options: {
    kv: KvBlocks<Kv, Block>;
    store: DurableStore;
    maxBytes: number;
    onFault?: (reason: string | null) => void;
  }) {
    this.#kv = options.kv;
    this.#store = options.store;
    this.#maxBytes = options.maxBytes;
    this.#onFault = options.onFault ?? (() => undefined);
  }

  get status(): { readonly pendingJobs: number; readonly droppedJobs: number; readonly lastError: string | null } {
    return { pendingJobs: this.#pending.size, droppedJobs: this.#droppedJobs, lastError: this.#lastError };
  }

  /**
   * Cuts what neither is durable nor waits to be, with a `turn` after each block; `tokens` are the positions of `kv`,
   * which must not change meanwhile. What cannot be cut counts as dropped. Safe to call for known tokens.
   */
  async schedule(tokens: Uint32Array, namespace: string, kv: Kv, turn: () => Promise<void>): Promise<void> {
    const start = this.#covered(tokens, namespace);
    if (start >= tokens.length) return;
    const spans = await this.#cut(kv, this.#fitting(start, tokens.length), turn);
    if (spans === null) return;
    const end = spans.at(-1)?.end ?? start;
    if (end > start) {
      const bytes = spans.reduce((sum, { block }) => sum + this.#kv.blockBytes(block), 0);
      const job = { tokens: tokens.slice(0, end), namespace, spans, bytes };
      this.#pending.add(job);
      this.#tail = this.#tail.then(() => this.#write(job));
    }
    if (end < tokens.length) this.#drop("more was computed than the SSD could take in time");
  }

  /** Waits until all is durable or given up; what is not by then counts as dropped. */
  async flush(deadlineMs: number): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const deadline = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, deadlineMs);
    });
    await Promise.race([this.#tail, deadline]);
    clearTimeout(timer);
    for (const job of this.#pending) {
      this.#pending.delete(job);
      this.#drop("the model was unloaded before it was written");
    }
  }

  /** Resolves when no block is lent to the store any more. */
  idle(): Promise<void> {
    return this.#tail;
  }

  async #write(job: Job<Block>): Promise<void> {
    try {
      const blocks = job.spans.map(({ start, end, block }) => ({ start, end, tensors: this.#kv.views(block) }));
      const isDurable = await this.#store.storeAsync(job.tokens, blocks, job.namespace);
      if (isDurable) this.#recover();
      else this.#fail(job, this.#refusal());
    } catch (thrown) {
      this.#fail(job, messageOf(thrown));
    } finally {
      this.#pending.delete(job);
      for (const { block } of job.spans) this.#kv.disposeBlock(block);
    }
  }

  /** The leading spans of `start` to `end` whose copies stay within the bound. */
  #fitting(start: number, end: number): TokenSpan[] {
    let room = this.#maxBytes - this.#pendingBytes();
    return blockSpans(start, end).filter((span) => {
      room -= this.#kv.bytesOf(span.end - span.start);
      return room >= 0;
    });
  }

  async #cut(kv: Kv, places: readonly TokenSpan[], turn: () => Promise<void>): Promise<readonly Span<Block>[] | null> {
    const spans: Span<Block>[] = [];
    try {
      for (const { start, end } of places) {
        spans.push({ start, end, block: this.#kv.cut(kv, start, end) });
        await turn();
      }
      return spans;
    } catch (thrown) {
      for (const { block } of spans) this.#kv.disposeBlock(block);
      this.#drop(messageOf(thrown));
      return null;
    }
  }

  /** A job that was given up before is counted already. */
  #fail(job: Job<Block>, reason: string): void {
    if (!this.#pending.has(job)) return;
    this.#drop(reason);
    this.#onFault(reason);
  }

  #recover(): void {
    if (this.#lastError === null) return;
    this.#lastError = null;
    this.#onFault(null);
  }

  #refusal(): string {
    const { health } = this.#store;
    return health.kind === "up" ? "the SSD tier did not take it" : health.reason;
  }

  /** Leading tokens that are durable or on their way. */
  #covered(tokens: Uint32Array, namespace: string): number {
    let covered = this.#store.longestDurablePrefix(tokens, namespace);
    for (const job of this.#pending) {
      if (job.namespace === namespace) covered = Math.max(covered, commonPrefix(job.tokens, tokens));
    }
    return covered;
  }

  #pendingBytes(): number {
    let bytes = 0;
    for (const job of this.#pending) bytes += job.bytes;
    return bytes;
  }

  #drop(reason: string): void {
    this.#droppedJobs++;
    this.#lastError = reason;
  }
}
