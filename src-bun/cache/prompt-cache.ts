// The longest prefix of a new prompt among running requests, what they left behind in RAM, and the second tier.
// Lives on the engine thread. The rules it follows are numbered in RULES.md.
import { commonPrefix } from "../base/common-prefix.ts";
import type { MissReason } from "../contract/engine.ts";
import type { ColdTier } from "./cold-tier.ts";
import type { KeptBlock, KeptUnit } from "./kept-unit.ts";
import type { KvBlocks } from "./kv-blocks.ts";
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

type OpenTake<Block> = {
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
  #maxBytes: number;

  constructor(options: {
    maxBytes: number;
    policy: RetentionPolicy;
    kv: KvBlocks<Kv, Block>;
    cold: ColdTier | null;
  }) {
    this.#maxBytes = options.maxBytes;
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

  /** Of blocks that open takes hold. */
  get heldBytes(): number {
    return this.#ram.heldBytes;
  }

  /** Of what open takes compute on. */
  get liveBytes(): number {
    const live = [...this.#filling, ...[...this.#open.keys()].map(({ kv }) => kv)];
    return live.reduce((sum, kv) => sum + this.#kv.bytes(kv), 0);
  }

  /** The longest usable prefix of the prompt, at most all but its last token, with room for `capacity` tokens. */
  async take(prompt: Uint32Array, namespace: string, capacity: number): Promise<Take<Kv>> {
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
        return this.#opened(take, { prompt, uses: 1, holds: [] });
      }
      fault = restored;
    }
    const source = this.#find(wanted, namespace);
    const reason = this.#reason(wanted, namespace, source.length, fault);
    const { kv, uses, holds } = this.#start.from(source, room);
    return this.#opened(
      { namespace, kv, cachedTokens: { ram: source.length, ssd: 0 }, reason },
      { prompt, uses, holds },
    );
  }

  /** Ends a take: the KV, whose positions are `tokens`, becomes the chat's tip. Requires at least one token. */
  put(take: Take<Kv>, tokens: Uint32Array, promptTokens: number): void {
    if (tokens.length === 0) throw new RangeError("an empty sequence cannot be kept");
    this.#kv.truncate(take.kv, tokens.length);
    const { uses } = this.#close(take);
    this.#ram.keep({ namespace: take.namespace, tokens, promptTokens, uses, kv: take.kv });
    try {
      this.evictToBudget();
    } catch (thrown) {
      this.#adopted.add(take);
      throw thrown;
    }
  }

  /** Ends a take of which nothing is to be kept. Safe to call after a put that threw. */
  release(take: Take<Kv>): void {
    if (this.#adopted.delete(take)) return;
    this.#close(take);
    this.#kv.dispose(take.kv);
  }

  clear(): void {
    this.#ram.clear();
  }

  /** Whether a unit may leave RAM now; one that may not is asked about again. */
  protected canEvict(_unit: KeptUnit<Kv, Block>): boolean {
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
    for (const [take, { prompt }] of this.#open) {
      if (take.namespace !== namespace) continue;
      const length = commonPrefix(this.#computed(take, prompt), wanted);
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
    this.#kv.dispose(kv);
  }

  /** Asked before anything is moved. */
  #reason(wanted: Uint32Array, namespace: string, length: number, fault: Fault | null): MissReason | null {
    if (fault !== null && length < fault.length) return fault.reason;
    if (length > 0 && length === wanted.length) return null;
    if (this.#ram.evicted.longestPrefix(namespace, wanted) > length) return { kind: "evicted" };
    if (length === 0) return { kind: "cold" };
    return this.#partsAt(wanted, namespace, length) ? { kind: "diverged", atToken: length } : null;
  }

  #partsAt(wanted: Uint32Array, namespace: string, length: number): boolean {
    if (this.#ram.partsAt(wanted, namespace, length)) return true;
    for (const [take, { prompt }] of this.#open) {
      const computed = this.#computed(take, prompt);
      if (take.namespace !== namespace || computed.length <= length) continue;
      if (commonPrefix(computed, wanted) === length) return true;
    }
    const durable = this.#cold?.longestDurablePrefix(wanted, namespace) ?? 0;
    return durable === length && this.#cold?.continuesDifferently(wanted, namespace) === true;
  }
}
