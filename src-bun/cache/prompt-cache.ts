// Live KV that earlier requests left behind (tips), and the longest prefix of a new prompt among them and the second
// tier. Lives on the engine thread. The rules it follows are numbered in RULES.md.
import type { MissReason } from "../contract/engine.ts";
import type { ColdTier } from "./cold-tier.ts";
import { commonPrefix } from "./common-prefix.ts";
import type { KvBlocks } from "./kv-blocks.ts";

/** What a request computes on. It ends with exactly one of `put` and `release`. */
export type Take<Kv> = {
  readonly namespace: string;
  readonly kv: Kv;
  readonly cachedTokens: { readonly ram: number; readonly ssd: number };
  /** Why not more of the prompt was warm; null when all that is kept of it was used. */
  readonly reason: MissReason | null;
};

type Tip<Kv> = {
  readonly namespace: string;
  readonly tokens: Uint32Array;
  /** Length of the prompt whose answer ended here: a next turn shares at least this much. */
  readonly promptTokens: number;
  readonly kv: Kv;
};

type Found<Kv> = { readonly tip: Tip<Kv> | null; readonly length: number };

export class PromptCache<Kv, Block> {
  /** Budget in bytes for the tips. */
  maxBytes: number;
  readonly #kv: KvBlocks<Kv, Block>;
  readonly #cold: ColdTier | null;
  /** Least recently used first. */
  readonly #tips: Tip<Kv>[] = [];
  readonly #open = new Set<Take<Kv>>();

  constructor(options: { maxBytes: number; kv: KvBlocks<Kv, Block>; cold: ColdTier | null }) {
    this.maxBytes = options.maxBytes;
    this.#kv = options.kv;
    this.#cold = options.cold;
  }

  get tips(): number {
    return this.#tips.length;
  }

  get tipBytes(): number {
    return this.#tips.reduce((sum, { kv }) => sum + this.#kv.bytes(kv), 0);
  }

  /** The longest usable prefix of the prompt, at most all but its last token, with room for `capacity` tokens. */
  async take(tokens: Uint32Array, namespace: string, capacity: number): Promise<Take<Kv>> {
    const limit = Math.max(0, tokens.length - 1);
    let damage: string | null = null;
    // A damaged block leaves the second tier's look-up, so the second round asks for the good tokens before it.
    for (let round = 0; round < 2; round++) {
      const durable = Math.min(limit, this.#cold?.longestDurablePrefix(tokens, namespace) ?? 0);
      if (durable <= this.#longestTip(tokens, namespace, limit).length) break;
      const restored = await this.#restore(tokens, namespace, durable, capacity);
      if (restored.kind === "hit") {
        const reason = this.#reason(tokens, namespace, durable, damage);
        return this.#opened({ namespace, kv: restored.kv, cachedTokens: { ram: 0, ssd: durable }, reason });
      }
      damage = restored.message;
    }
    const found = this.#longestTip(tokens, namespace, limit);
    const reason = this.#reason(tokens, namespace, found.length, damage);
    return this.#opened({ ...this.#continue(found, namespace, capacity), reason });
  }

  /** Ends a take: the KV, whose positions are `tokens`, becomes the chat's tip. Requires at least one token. */
  put(take: Take<Kv>, tokens: Uint32Array, promptTokens: number): void {
    if (tokens.length === 0) throw new RangeError("an empty sequence cannot be kept");
    this.#close(take);
    this.#kv.truncate(take.kv, tokens.length);
    this.#tips.push({ namespace: take.namespace, tokens, promptTokens, kv: take.kv });
    this.evictToBudget();
  }

  /** Ends a take of which nothing is to be kept. */
  release(take: Take<Kv>): void {
    this.#close(take);
    this.#kv.dispose(take.kv);
  }

  /** Lets the least recently used tips go until the rest fits the budget. */
  evictToBudget(): void {
    let bytes = this.tipBytes;
    while (bytes > this.maxBytes) {
      const oldest = this.#tips.shift();
      if (oldest === undefined) return;
      bytes -= this.#kv.bytes(oldest.kv);
      this.#kv.dispose(oldest.kv);
    }
  }

  clear(): void {
    for (const { kv } of this.#tips.splice(0)) this.#kv.dispose(kv);
  }

  #opened(take: Take<Kv>): Take<Kv> {
    this.#open.add(take);
    return take;
  }

  #close(take: Take<Kv>): void {
    if (!this.#open.delete(take)) throw new Error("a take was ended twice");
  }

  #longestTip(tokens: Uint32Array, namespace: string, limit: number): Found<Kv> {
    let best: Found<Kv> = { tip: null, length: 0 };
    for (const tip of this.#tips) {
      if (tip.namespace !== namespace) continue;
      const length = Math.min(limit, commonPrefix(tip.tokens, tokens));
      // Of equals the most recent: it is the one whose chat goes on.
      if (length > 0 && length >= best.length) best = { tip, length };
    }
    return best;
  }

  #continue({ tip, length }: Found<Kv>, namespace: string, capacity: number): Omit<Take<Kv>, "reason"> {
    const cachedTokens = { ram: length, ssd: 0 };
    if (tip === null) return { namespace, kv: this.#kv.allocate(capacity), cachedTokens };
    if (!isNextTurn(tip, length)) return { namespace, kv: this.#kv.clone(tip.kv, length, capacity), cachedTokens };
    this.#tips.splice(this.#tips.indexOf(tip), 1);
    this.#kv.truncate(tip.kv, length);
    return { namespace, kv: tip.kv, cachedTokens };
  }

  async #restore(
    tokens: Uint32Array,
    namespace: string,
    length: number,
    capacity: number,
  ): Promise<{ kind: "hit"; kv: Kv } | { kind: "miss"; message: string }> {
    const kv = this.#kv.allocate(Math.max(capacity, length));
    try {
      const result = await this.#cold?.restore(namespace, tokens, length, (slots) =>
        this.#kv.destinations(kv, slots, length),
      );
      if (result?.kind === "hit") {
        this.#kv.publish(kv, length);
        return { kind: "hit", kv };
      }
      this.#kv.dispose(kv);
      return { kind: "miss", message: result?.reason ?? "the SSD tier is off" };
    } catch (thrown) {
      this.#kv.dispose(kv);
      throw thrown;
    }
  }

  #reason(tokens: Uint32Array, namespace: string, length: number, damage: string | null): MissReason | null {
    if (damage !== null) return { kind: "damaged-block", message: damage };
    const kept = this.#longestTip(tokens, namespace, tokens.length).tip;
    if (kept !== null && kept.tokens.length > length && length < tokens.length - 1) {
      return { kind: "diverged", atToken: length };
    }
    return length === 0 ? { kind: "cold" } : null;
  }
}

/** A chat's next turn shares the whole prompt before it, so that at most the tail of an answer is given up. */
const isNextTurn = <Kv>(tip: Tip<Kv>, length: number): boolean => length >= tip.promptTokens - 1;
