// What is kept in RAM beside running requests: tips and blocks, found by prefix and let go by the policy's order.
import { commonPrefix } from "../base/common-prefix.ts";
import type { Found } from "../storage/ssd-cache.ts";
import { blockSpans, type TokenSpan } from "./block-spans.ts";
import { Candidates } from "./candidates.ts";
import { EvictedPrompts } from "./evicted-prompts.ts";
import { isNextTurn, type KeptBlock, type KeptUnit, type Tip } from "./kept-unit.ts";
import type { KvBlocks } from "./kv-blocks.ts";
import { ResidentBlocks } from "./resident-blocks.ts";
import type { RetentionPolicy } from "./retention-policy.ts";

export type NewTip<Kv> = Pick<Tip<Kv>, "namespace" | "tokens" | "promptTokens" | "uses" | "kv">;

type CanEvict<Kv, Block> = (unit: KeptUnit<Kv, Block>) => boolean;
type Path<Block> = Found<KeptBlock<Block>>;

export class RamTier<Kv, Block> {
  policy: RetentionPolicy;
  readonly evicted = new EvictedPrompts();
  readonly #kv: KvBlocks<Kv, Block>;
  readonly #candidates = new Candidates<Kv, Block>();
  readonly #blocks = new ResidentBlocks<Kv, Block>(this.#candidates);
  readonly #tips = new Set<Tip<Kv>>();
  #clock = 0;

  constructor(kv: KvBlocks<Kv, Block>, policy: RetentionPolicy) {
    this.#kv = kv;
    this.policy = policy;
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

  /** The tip that shares most with `tokens`; of equals one that this is the next turn of, then the latest. */
  findTip(tokens: Uint32Array, namespace: string): { readonly tip: Tip<Kv>; readonly length: number } | null {
    let best: { readonly tip: Tip<Kv>; readonly length: number } | null = null;
    const rank = (tip: Tip<Kv>, length: number): number =>
      length + (isNextTurn(tip.promptTokens, tip.tokens.length, length) ? 0.5 : 0);
    for (const tip of this.#tips) {
      if (tip.namespace !== namespace) continue;
      const length = commonPrefix(tip.tokens, tokens);
      if (length > 0 && (best === null || rank(tip, length) >= rank(best.tip, best.length))) best = { tip, length };
    }
    return best;
  }

  findBlocks(tokens: Uint32Array, namespace: string): Path<Block> {
    return this.#blocks.find(tokens, namespace);
  }

  /** Whether something kept shares exactly `length` tokens and goes on with others. */
  partsAt(tokens: Uint32Array, namespace: string, length: number): boolean {
    for (const tip of this.#tips) {
      if (tip.namespace !== namespace || tip.tokens.length <= length) continue;
      if (commonPrefix(tip.tokens, tokens) === length) return true;
    }
    const isParting = this.#blocks.continuesDifferently(tokens, namespace);
    return isParting && this.#blocks.find(tokens, namespace).length === length;
  }

  /** Takes ownership of the KV. Tips that are a prefix of it go: it holds all they do. */
  keep(made: NewTip<Kv>): void {
    for (const tip of this.#tips) {
      const isPrefix = tip.namespace === made.namespace && tip.tokens.length <= made.tokens.length;
      if (!isPrefix || commonPrefix(tip.tokens, made.tokens) < tip.tokens.length || tip.holds > 0) continue;
      this.removeTip(tip);
      this.#kv.dispose(tip.kv);
    }
    const bytes = this.#kv.bytes(made.kv);
    const counters = { bytes, cost: made.tokens.length, lastUsed: ++this.#clock, priority: 0, holds: 0 };
    const tip: Tip<Kv> = { ...made, ...counters, kind: "tip" };
    this.policy.accessed(tip);
    this.#tips.add(tip);
    this.#candidates.add(tip);
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
    return unit.holds === 0 && this.#blocks.isLeaf(unit);
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
      if (victim.kind === "tip") this.#retire(victim, victim.bytes - over, canEvict);
      else this.#drop(victim);
    }
  }

  /** Cuts all of a tip into blocks. */
  retire(tip: Tip<Kv>): void {
    const found = this.#blocks.find(tip.tokens, tip.namespace);
    this.#cut(tip, found, blockSpans(found.length, tip.tokens.length));
  }

  clear(): void {
    for (const tip of [...this.#tips]) {
      this.removeTip(tip);
      this.#kv.dispose(tip.kv);
    }
    for (const { block } of this.#blocks.clear()) this.#kv.disposeBlock(block);
    this.evicted.clear();
  }

  #settle(unit: KeptUnit<Kv, Block>): void {
    if (unit.kind === "block") this.#blocks.settle(unit);
    else if (unit.holds === 0) this.#candidates.add(unit);
    else this.#candidates.delete(unit);
  }

  #drop(unit: KeptBlock<Block>): void {
    this.evicted.add(unit.namespace, this.#blocks.tokensOf(unit));
    this.#blocks.remove(unit);
    this.policy.evicted(unit);
    this.#kv.disposeBlock(unit.block);
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
    if (spans.length === 0) this.#kv.dispose(tip.kv);
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

  /** What a tip shares with others was used when the tip was. */
  #age({ path }: Path<Block>, tip: Tip<Kv>): void {
    for (const { block } of path) {
      if (block.value.lastUsed >= tip.lastUsed) continue;
      block.value.lastUsed = tip.lastUsed;
      block.value.priority = Math.max(block.value.priority, tip.priority);
    }
  }

  #insert(tip: Tip<Kv>, found: Path<Block>, spans: readonly TokenSpan[], cuts: readonly Block[]): void {
    const { namespace, promptTokens, lastUsed, uses, priority } = tip;
    let parent = found.path.at(-1)?.block ?? null;
    for (const [index, { start, end }] of spans.entries()) {
      const block = cuts[index];
      if (block === undefined) throw new Error("a retired tip gave too few blocks");
      const bytes = this.#kv.blockBytes(block);
      const made = { namespace, promptTokens, lastUsed, uses, priority, bytes, cost: end - start, block };
      parent = this.#blocks.insert(tip.tokens.subarray(0, end), start, parent, made);
    }
  }
}
