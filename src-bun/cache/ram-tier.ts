// What is kept in RAM beside running requests: tips and blocks, found by prefix and let go by the policy's order.
import { commonPrefix } from "../base/common-prefix.ts";
import type { Found } from "../storage/ssd-cache.ts";
import { blockSpans, type TokenSpan } from "./block-spans.ts";
import { Candidates } from "./candidates.ts";
import { EvictedPrompts } from "./evicted-prompts.ts";
import { isHidden, isNextTurn, type KeptBlock, type KeptUnit, mayLeave, type Tip } from "./kept-unit.ts";
import type { KvBlocks } from "./kv-blocks.ts";
import { cacheBytes, disposeResources } from "./kv-caches.ts";
import { ResidentBlocks } from "./resident-blocks.ts";
import type { RetentionPolicy } from "./retention-policy.ts";

export type NewTip<Kv> = Omit<Tip<Kv>, "kind" | "bytes" | "cost" | "lastUsed" | "priority" | "holds">;

/** Whether what `made` keeps is all that `tip` does, as long and for as many. */
const replaces = <Kv>(made: NewTip<Kv>, tip: Tip<Kv>): boolean =>
  tip.namespace === made.namespace &&
  tip.holds === 0 &&
  (made.isPinned || !tip.isPinned) &&
  (tip.noStore || !made.noStore) &&
  made.expiresAtMs >= tip.expiresAtMs &&
  tip.tokens.length <= made.tokens.length &&
  commonPrefix(tip.tokens, made.tokens) === tip.tokens.length;

type CanEvict<Kv, Block> = (unit: KeptUnit<Kv, Block>) => boolean;
type Path<Block> = Found<KeptBlock<Block>>;

export class RamTier<Kv, Block> {
  readonly evicted = new EvictedPrompts();
  readonly #kv: KvBlocks<Kv, Block>;
  readonly #candidates = new Candidates<Kv, Block>();
  readonly #blocks = new ResidentBlocks<Kv, Block>(this.#candidates);
  readonly #tips = new Set<Tip<Kv>>();
  #policy: RetentionPolicy;
  #clock = 0;
  /** Nothing expires before. */
  #nextExpiryMs = Number.POSITIVE_INFINITY;

  constructor(kv: KvBlocks<Kv, Block>, policy: RetentionPolicy) {
    this.#kv = kv;
    this.#policy = policy;
  }

  get policy(): RetentionPolicy {
    return this.#policy;
  }

  /** Priorities are a policy's own: the new one hears of everything in the order of its last use. */
  set policy(policy: RetentionPolicy) {
    this.#policy = policy;
    for (const unit of this.#units().sort((a, b) => a.lastUsed - b.lastUsed)) policy.accessed(unit);
  }

  get tips(): number {
    return this.#tips.size;
  }

  get tipBytes(): number {
    return [...this.#tips].reduce((sum, { bytes }) => sum + bytes, 0);
  }

  get blocks(): number {
    return this.#blocks.size;
  }

  get blockBytes(): number {
    return this.#blocks.bytes;
  }

  get bytes(): number {
    return this.tipBytes + this.blockBytes;
  }

  /** Of blocks that requests hold. */
  get heldBytes(): number {
    return this.#blocks.heldBytes;
  }

  get pinnedBytes(): number {
    const tips = [...this.#tips].filter(({ isPinned }) => isPinned);
    return tips.reduce((sum, { bytes }) => sum + bytes, this.#blocks.pinnedBytes);
  }

  /** Of what each client left behind; null for those without a name. A shared block counts for the first. */
  get bytesByLabel(): ReadonlyMap<string | null, number> {
    const bytes = new Map<string | null, number>();
    for (const unit of this.#units()) bytes.set(unit.label, (bytes.get(unit.label) ?? 0) + unit.bytes);
    return bytes;
  }

  /** The tip that shares most with `tokens`; of equals one that this is the next turn of, then the latest. */
  findTip(tokens: Uint32Array, namespace: string): { readonly tip: Tip<Kv>; readonly length: number } | null {
    let best: { readonly tip: Tip<Kv>; readonly length: number } | null = null;
    const rank = (tip: Tip<Kv>, length: number): number =>
      length + (isNextTurn(tip.promptTokens, tip.tokens.length, length) ? 0.5 : 0);
    for (const tip of this.#tips) {
      if (tip.namespace !== namespace) continue;
      const length = commonPrefix(tip.tokens, tokens);
      if (isHidden(tip, length)) continue;
      if (length > 0 && (best === null || rank(tip, length) >= rank(best.tip, best.length))) best = { tip, length };
    }
    return best;
  }

  /** How much of it no-store tips hold that this is not the next turn of. */
  hiddenPrefix(tokens: Uint32Array, namespace: string): number {
    let longest = 0;
    for (const tip of this.#tips) {
      const length = tip.namespace === namespace ? commonPrefix(tip.tokens, tokens) : 0;
      if (isHidden(tip, length)) longest = Math.max(longest, length);
    }
    return longest;
  }

  findBlocks(tokens: Uint32Array, namespace: string): Path<Block> {
    return this.#blocks.find(tokens, namespace);
  }

  /** Whether something kept shares exactly `length` tokens and goes on with others. */
  partsAt(tokens: Uint32Array, namespace: string, length: number): boolean {
    for (const tip of this.#tips) {
      if (tip.namespace !== namespace || tip.tokens.length <= length) continue;
      if (!tip.noStore && commonPrefix(tip.tokens, tokens) === length) return true;
    }
    const isParting = this.#blocks.continuesDifferently(tokens, namespace);
    return isParting && this.#blocks.find(tokens, namespace).length === length;
  }

  /** Whether a pin of this would leave everything that is pinned within `maxBytes`. */
  hasRoomToPin(made: NewTip<Kv>, maxBytes: number): boolean {
    const pinned = { ...made, isPinned: true };
    const replaced = [...this.#tips].filter((tip) => tip.isPinned && replaces(pinned, tip));
    const freed = replaced.reduce((sum, { bytes }) => sum + bytes, 0);
    return this.pinnedBytes - freed + cacheBytes(this.#kv, { kvs: [made.kv] }) <= maxBytes;
  }

  /** Takes ownership of the KV. Tips that it stands for go. */
  keep(made: NewTip<Kv>): void {
    for (const tip of this.#tips) if (replaces(made, tip)) this.#dropTip(tip);
    const bytes = cacheBytes(this.#kv, { kvs: [made.kv] });
    const counters = { bytes, cost: made.tokens.length, lastUsed: ++this.#clock, priority: 0, holds: 0 };
    const tip: Tip<Kv> = { ...made, ...counters, kind: "tip" };
    this.policy.accessed(tip);
    this.#tips.add(tip);
    this.#nextExpiryMs = Math.min(this.#nextExpiryMs, tip.expiresAtMs);
    this.#settle(tip);
  }

  /** Lets go what is out of time and not held. Returns whether anything went. */
  expire(nowMs: number): boolean {
    if (nowMs < this.#nextExpiryMs) return false;
    const isOver = (unit: KeptUnit<Kv, Block>): boolean => unit.expiresAtMs <= nowMs && mayLeave(unit);
    const before = this.tips + this.blocks;
    for (const tip of [...this.#tips]) if (isOver(tip)) this.#dropTip(tip);
    // A block never expires after one that it continues, so that the later ones of a run come first.
    const over = this.#blocks.values().filter(isOver);
    for (const unit of over.sort((a, b) => b.end - b.cost - (a.end - a.cost))) {
      if (!this.#blocks.isLeaf(unit)) continue;
      this.#blocks.remove(unit);
      disposeResources(this.#kv, { blocks: [unit.block] });
    }
    this.#nextExpiryMs = Math.min(...this.#units().map(({ expiresAtMs }) => expiresAtMs));
    return this.tips + this.blocks < before;
  }

  /** Its KV is the caller's from now on. */
  removeTip(tip: Tip<Kv>): void {
    this.#tips.delete(tip);
    this.#candidates.delete(tip);
  }

  /** Takes the block out, which no other may continue; its memory is the caller's. */
  removeBlock(unit: KeptBlock<Block>): void {
    this.#blocks.remove(unit);
  }

  /** Whether nothing but the caller's own prompt needs the block. */
  isFree(unit: KeptBlock<Block>): boolean {
    return mayLeave(unit) && this.#blocks.isLeaf(unit);
  }

  /** A prompt goes on from it. */
  touch(unit: KeptUnit<Kv, Block>): void {
    unit.lastUsed = ++this.#clock;
    unit.uses++;
    this.policy.accessed(unit);
    this.#settle(unit);
  }

  hold(unit: KeptUnit<Kv, Block>): void {
    unit.holds++;
    this.#settle(unit);
  }

  endHold(unit: KeptUnit<Kv, Block>): void {
    unit.holds--;
    this.#settle(unit);
  }

  /** Lets units go until the rest fits, or nothing more may go. */
  evict(maxBytes: number, canEvict: CanEvict<Kv, Block>): void {
    for (let over = this.bytes - maxBytes; over > 0; over = this.bytes - maxBytes) {
      const victim = this.#candidates.victim(this.policy, canEvict);
      if (victim === null) return;
      if (victim.kind === "tip" && victim.noStore) this.#dropTip(victim);
      else if (victim.kind === "tip") this.#retire(victim, victim.bytes - over, canEvict);
      else this.#drop(victim);
    }
  }

  /** Cuts all of a tip into blocks. */
  retire(tip: Tip<Kv>): void {
    const found = this.#blocks.find(tip.tokens, tip.namespace);
    this.#cut(tip, found, blockSpans(found.length, tip.tokens.length));
  }

  clear(): void {
    const tips = [...this.#tips];
    for (const tip of tips) this.removeTip(tip);
    this.evicted.clear();
    disposeResources(this.#kv, {
      kvs: tips.map(({ kv }) => kv),
      blocks: this.#blocks.clear().map(({ block }) => block),
    });
  }

  #settle(unit: KeptUnit<Kv, Block>): void {
    if (unit.kind === "block") this.#blocks.settle(unit);
    else if (mayLeave(unit)) this.#candidates.add(unit);
    else this.#candidates.delete(unit);
  }

  #units(): KeptUnit<Kv, Block>[] {
    return [...this.#tips, ...this.#blocks.values()];
  }

  #dropTip(tip: Tip<Kv>): void {
    this.removeTip(tip);
    this.policy.evicted(tip);
    disposeResources(this.#kv, { kvs: [tip.kv] });
  }

  #drop(unit: KeptBlock<Block>): void {
    this.evicted.add(unit.namespace, this.#blocks.tokensOf(unit));
    this.#blocks.remove(unit);
    this.policy.evicted(unit);
    disposeResources(this.#kv, { blocks: [unit.block] });
  }

  /** Cuts what other blocks do not hold yet of a tip into blocks, as far as `room` bytes and the policy let it stay. */
  #retire(tip: Tip<Kv>, room: number, canEvict: CanEvict<Kv, Block>): void {
    const found = this.#blocks.find(tip.tokens, tip.namespace);
    const all = blockSpans(found.length, tip.tokens.length);
    const spans = this.#isNext(tip, all, canEvict) ? this.#fitting(all, room) : all;
    if (spans.length < all.length) {
      this.evicted.add(tip.namespace, tip.tokens);
      this.policy.evicted(tip);
    }
    this.#cut(tip, found, spans);
  }

  #cut(tip: Tip<Kv>, found: Path<Block>, spans: readonly TokenSpan[]): void {
    this.removeTip(tip);
    this.#age(found, tip);
    if (spans.length === 0) disposeResources(this.#kv, { kvs: [tip.kv] });
    else this.#insert(tip, found, spans, this.#kv.takeApart(tip.kv, spans));
  }

  /** Whether the policy, asked again, would let the end of the retired tip go before anything else. */
  #isNext(tip: Tip<Kv>, spans: readonly TokenSpan[], canEvict: CanEvict<Kv, Block>): boolean {
    const last = spans.at(-1);
    if (last === undefined) return true;
    const cost = last.end - last.start;
    const end = { ...tip, cost, bytes: this.#kv.bytesOf(cost) };
    this.#candidates.delete(tip);
    this.#candidates.add(end);
    const victim = this.#candidates.victim(this.policy, (unit) => unit === end || canEvict(unit));
    this.#candidates.delete(end);
    return victim === end;
  }

  #fitting(spans: readonly TokenSpan[], room: number): TokenSpan[] {
    let left = room;
    return spans.filter(({ start, end }) => {
      left -= this.#kv.bytesOf(end - start);
      return left >= 0;
    });
  }

  /** What a tip shares with others was used when the tip was, and stays as long as it would have. */
  #age({ path, length }: Path<Block>, tip: Tip<Kv>): void {
    for (const [index, { block }] of path.entries()) {
      block.value.expiresAtMs = Math.max(block.value.expiresAtMs, tip.expiresAtMs);
      if (tip.isPinned && length === tip.tokens.length && index === path.length - 1) {
        block.value.isPinned = true;
        this.#settle(block.value);
      }
      if (block.value.lastUsed >= tip.lastUsed) continue;
      block.value.lastUsed = tip.lastUsed;
      block.value.priority = Math.max(block.value.priority, tip.priority);
    }
  }

  #insert(tip: Tip<Kv>, found: Path<Block>, spans: readonly TokenSpan[], cuts: readonly Block[]): void {
    const { namespace, promptTokens, lastUsed, uses, priority, label, expiresAtMs } = tip;
    let parent = found.path.at(-1)?.block ?? null;
    for (const [index, { start, end }] of spans.entries()) {
      const block = cuts[index];
      if (block === undefined) throw new Error("a retired tip gave too few blocks");
      const isPinned = tip.isPinned && index === spans.length - 1;
      const kept = { label, expiresAtMs, isPinned, bytes: cacheBytes(this.#kv, { blocks: [block] }) };
      const made = { namespace, promptTokens, lastUsed, uses, priority, ...kept, cost: end - start, block };
      parent = this.#blocks.insert(tip.tokens.subarray(0, end), start, parent, made);
    }
  }
}
