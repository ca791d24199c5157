// The longest prefix of a new prompt among running requests, what they left behind in RAM, and the second tier.
// Lives on the engine thread. The rules it follows are numbered in RULES.md.
import { commonPrefix } from "../base/common-prefix.ts";
import type { MissReason } from "../contract/engine.ts";
import type { ColdTier } from "./cold-tier.ts";
import type { KeptBlock, KeptUnit } from "./kept-unit.ts";
import type { KvBlocks } from "./kv-blocks.ts";
import { cacheBytes, disposeResources } from "./kv-caches.ts";
import { LiveStart, type Source } from "./live-start.ts";
import { RamTier } from "./ram-tier.ts";
import type { RetentionPolicy } from "./retention-policy.ts";

/** What a request computes on. It ends with exactly one of `put` and `release`. */
export type Take<Kv> = {
  readonly namespace: string;
  readonly kv: Kv;
  readonly cachedTokens: { readonly ram: number; readonly ssd: number };
  /** Why not more of the prompt was warm; null when all that is kept of it was used. */
  readonly reason: MissReason | null;
};

/** What is asked for an entry. */
export type PutOptions = {
  readonly label?: string;
  readonly ttlMs?: number;
  /** May stay in RAM for the chat's own next turn, and goes nowhere else. */
  readonly noStore?: boolean;
  readonly pin?: boolean;
};

/** Of the budget; more would leave too little for what runs. */
const PINNED_SHARE = 0.8;

type OpenTake<Block> = {
  /** Nobody else may find what is computed. */
  readonly noStore: boolean;
  readonly isRestored: boolean;
  readonly prompt: Uint32Array;
  /** How often prompts went on from what this one goes on from. */
  readonly uses: number;
  readonly holds: readonly KeptBlock<Block>[];
};

/** A restore that failed, and how much it was to give. */
type Fault = { readonly kind: "miss"; readonly reason: MissReason; readonly length: number };

export class PromptCache<Kv, Block> {
  readonly #kv: KvBlocks<Kv, Block>;
  readonly #cold: ColdTier | null;
  readonly #ram: RamTier<Kv, Block>;
  readonly #start: LiveStart<Kv, Block>;
  readonly #open = new Map<Take<Kv>, OpenTake<Block>>();
  /** Live KV that is being filled and belongs to no take yet. */
  readonly #filling = new Set<Kv>();
  /** Takes whose KV the cache owns, although their put threw afterwards. */
  readonly #adopted = new WeakSet<Take<Kv>>();
  readonly #now: () => number;
  #maxBytes: number;

  constructor(options: {
    maxBytes: number;
    policy: RetentionPolicy;
    kv: KvBlocks<Kv, Block>;
    cold: ColdTier | null;
    /** Milliseconds, monotonic. */
    now: () => number;
  }) {
    this.#maxBytes = options.maxBytes;
    this.#now = options.now;
    this.#kv = options.kv;
    this.#cold = options.cold;
    this.#ram = new RamTier(options.kv, options.policy);
    this.#start = new LiveStart(options.kv, this.#ram, (bytes) => {
      this.evictToBudget(bytes);
      return this.#ram.bytes + this.liveBytes + bytes <= this.#maxBytes;
    });
  }

  /** Budget in bytes over tips, blocks and live KV. */
  get maxBytes(): number {
    return this.#maxBytes;
  }

  set maxBytes(bytes: number) {
    this.#maxBytes = bytes;
    this.evictToBudget();
    this.reclaim();
  }

  get policy(): RetentionPolicy {
    return this.#ram.policy;
  }

  set policy(policy: RetentionPolicy) {
    this.#ram.policy = policy;
  }

  get tips(): number {
    return this.#ram.tips;
  }

  get tipBytes(): number {
    return this.#ram.tipBytes;
  }

  get blocks(): number {
    return this.#ram.blocks;
  }

  get blockBytes(): number {
    return this.#ram.blockBytes;
  }

  /** Of what is pinned, and of the blocks that it continues. */
  get pinnedBytes(): number {
    return this.#ram.pinnedBytes;
  }

  get bytesByLabel(): ReadonlyMap<string | null, number> {
    return this.#ram.bytesByLabel;
  }

  /** Of blocks that open takes hold. */
  get heldBytes(): number {
    return this.#ram.heldBytes;
  }

  /** Of what open takes compute on. */
  get liveBytes(): number {
    return cacheBytes(this.#kv, { kvs: [...this.#filling, ...[...this.#open.keys()].map(({ kv }) => kv)] });
  }

  /**
   * The longest usable prefix of the prompt, at most all but its last token, with room for `capacity` tokens. What a
   * no-store take computes is found by nobody else.
   */
  async take(prompt: Uint32Array, namespace: string, capacity: number, noStore = false): Promise<Take<Kv>> {
    this.expire();
    const wanted = prompt.subarray(0, Math.max(0, prompt.length - 1));
    const room = Math.max(capacity, prompt.length);
    let fault: Fault | null = null;
    // A damaged block leaves the second tier's look-up, so the second round asks for the good tokens before it.
    for (let round = 0; round < 2; round++) {
      const durable = this.#cold?.longestDurablePrefix(wanted, namespace) ?? 0;
      if (durable <= this.#find(wanted, namespace).length) break;
      const restored = await this.#restore(wanted, namespace, durable, room);
      if (restored.kind === "hit") {
        const reason = this.#reason(wanted, namespace, durable, fault);
        const take = { namespace, kv: restored.kv, cachedTokens: { ram: 0, ssd: durable }, reason };
        return this.#opened(take, { prompt, uses: 1, holds: [], noStore, isRestored: true });
      }
      fault = restored;
    }
    const source = this.#find(wanted, namespace);
    const reason = this.#reason(wanted, namespace, source.length, fault);
    const { kv, uses, holds } = this.#start.from(source, room);
    return this.#opened(
      { namespace, kv, cachedTokens: { ram: source.length, ssd: 0 }, reason },
      { prompt, uses, holds, noStore, isRestored: false },
    );
  }

  /**
   * Ends a take: the KV, whose positions are `tokens`, becomes the chat's tip. Requires at least one token. A pin may
   * be refused; the tip is kept all the same.
   */
  put(
    take: Take<Kv>,
    tokens: Uint32Array,
    promptTokens: number,
    options: PutOptions = {},
  ): { readonly isPinned: boolean } {
    if (tokens.length === 0) throw new RangeError("an empty sequence cannot be kept");
    this.#kv.truncate(take.kv, tokens.length);
    const { uses, noStore, isRestored } = this.#close(take);
    if (isRestored && !this.promoteRestores) {
      disposeResources(this.#kv, { kvs: [take.kv] });
      return { isPinned: false };
    }
    const { label = null, ttlMs = Number.POSITIVE_INFINITY, pin = false } = options;
    const { namespace, kv } = take;
    const kept = { namespace, tokens, promptTokens, uses, kv, label, noStore: options.noStore ?? noStore };
    const tip = { ...kept, expiresAtMs: this.#now() + ttlMs, isPinned: false };
    const isPinned = pin && this.#ram.hasRoomToPin(tip, PINNED_SHARE * this.#maxBytes);
    this.#ram.keep(isPinned ? { ...tip, isPinned, expiresAtMs: Number.POSITIVE_INFINITY } : tip);
    try {
      this.evictToBudget();
    } catch (thrown) {
      this.#adopted.add(take);
      throw thrown;
    }
    return { isPinned };
  }

  /** Lets go what is out of time. A take does so too; this is for the time in which nobody asks. */
  expire(): void {
    if (this.#ram.expire(this.#now())) this.reclaim();
  }

  /** Ends a take of which nothing is to be kept. Safe to call after a put that threw. */
  release(take: Take<Kv>): void {
    if (this.#adopted.delete(take)) return;
    this.#close(take);
    disposeResources(this.#kv, { kvs: [take.kv] });
  }

  clear(): void {
    this.#ram.clear();
  }

  /** Whether a unit may leave RAM now; one that may not is asked about again. */
  protected canEvict(_unit: KeptUnit<Kv, Block>): boolean {
    return true;
  }

  /** Whether what a request restored from the second tier is found by others at once, and stays in RAM afterwards. */
  protected get promoteRestores(): boolean {
    return true;
  }

  /** Lets units go until all, with `comingBytes` more, fits the budget or nothing more may go. */
  protected evictToBudget(comingBytes = 0): void {
    this.#ram.evict(this.#maxBytes - this.liveBytes - comingBytes, (unit) => this.canEvict(unit));
  }

  protected reclaim(): void {
    this.#kv.reclaim();
  }

  #opened(take: Take<Kv>, open: OpenTake<Block>): Take<Kv> {
    this.#filling.delete(take.kv);
    this.#open.set(take, open);
    try {
      // What it was copied from was held while room was made.
      this.evictToBudget();
    } catch (thrown) {
      this.release(take);
      throw thrown;
    }
    return take;
  }

  #close(take: Take<Kv>): OpenTake<Block> {
    const open = this.#open.get(take);
    if (open === undefined) throw new Error("a take was ended twice");
    this.#open.delete(take);
    for (const block of open.holds) this.#ram.endHold(block);
    return open;
  }

  /** The longest prefix in RAM; of equals what can be moved or lies in blocks comes before another request's live KV. */
  #find(wanted: Uint32Array, namespace: string): Source<Kv, Block> {
    let best: Source<Kv, Block> = { kind: "nothing", length: 0 };
    const tip = this.#ram.findTip(wanted, namespace);
    if (tip !== null) best = { kind: "tip", ...tip };
    const blocks = this.#ram.findBlocks(wanted, namespace);
    if (blocks.length > best.length) best = { kind: "blocks", ...blocks };
    for (const [take, open] of this.#open) {
      if (take.namespace !== namespace || open.noStore || (open.isRestored && !this.promoteRestores)) continue;
      const length = commonPrefix(this.#computed(take, open.prompt), wanted);
      if (length > best.length) best = { kind: "live", kv: take.kv, length };
    }
    return best;
  }

  /** What is known to be in a request's live KV: of its answer the cache knows nothing yet. */
  #computed(take: Take<Kv>, prompt: Uint32Array): Uint32Array {
    return prompt.subarray(0, this.#kv.length(take.kv));
  }

  async #restore(
    wanted: Uint32Array,
    namespace: string,
    length: number,
    capacity: number,
  ): Promise<{ readonly kind: "hit"; readonly kv: Kv } | Fault> {
    this.evictToBudget(this.#kv.liveBytesOf(capacity));
    const kv = this.#kv.allocate(capacity);
    this.#filling.add(kv);
    try {
      const result = await this.#cold?.restore(namespace, wanted, length, (slots) =>
        this.#kv.destinations(kv, slots, length),
      );
      if (result?.kind === "hit") {
        this.#kv.publish(kv, length);
        return { kind: "hit", kv };
      }
      this.#abandon(kv);
      const message = result?.reason ?? "the SSD tier is off";
      return { kind: "miss", reason: { kind: result?.isDamage ? "damaged-block" : "restore-failed", message }, length };
    } catch (thrown) {
      this.#abandon(kv);
      throw thrown;
    }
  }

  #abandon(kv: Kv): void {
    this.#filling.delete(kv);
    disposeResources(this.#kv, { kvs: [kv] });
  }

  /** Asked before anything is moved. */
  #reason(wanted: Uint32Array, namespace: string, length: number, fault: Fault | null): MissReason | null {
    if (fault !== null && length < fault.length) return fault.reason;
    if (length > 0 && length === wanted.length) return null;
    if (this.#ram.evicted.longestPrefix(namespace, wanted) > length) return { kind: "evicted" };
    if (this.#hiddenPrefix(wanted, namespace) > length) return { kind: "do-not-keep" };
    if (length === 0) return { kind: "cold" };
    return this.#partsAt(wanted, namespace, length) ? { kind: "diverged", atToken: length } : null;
  }

  #hiddenPrefix(wanted: Uint32Array, namespace: string): number {
    let longest = this.#ram.hiddenPrefix(wanted, namespace);
    for (const [take, { prompt, noStore }] of this.#open) {
      if (take.namespace !== namespace || !noStore) continue;
      longest = Math.max(longest, commonPrefix(this.#computed(take, prompt), wanted));
    }
    return longest;
  }

  #partsAt(wanted: Uint32Array, namespace: string, length: number): boolean {
    if (this.#ram.partsAt(wanted, namespace, length)) return true;
    for (const [take, { prompt, noStore }] of this.#open) {
      const computed = this.#computed(take, prompt);
      if (take.namespace !== namespace || noStore || computed.length <= length) continue;
      if (commonPrefix(computed, wanted) === length) return true;
    }
    const durable = this.#cold?.longestDurablePrefix(wanted, namespace) ?? 0;
    return durable === length && this.#cold?.continuesDifferently(wanted, namespace) === true;
  }
}
