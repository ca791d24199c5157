// Random requests against a prompt cache, and what a scan of everything alive says it must answer.
import { commonPrefix } from "../../src-bun/base/common-prefix.ts";
import { LruRetention } from "../../src-bun/cache/lru-retention.ts";
import { PromptCache, type Take } from "../../src-bun/cache/prompt-cache.ts";
import type { RetentionPolicy } from "../../src-bun/cache/retention-policy.ts";
import type { Random } from "../support/random.ts";
import { type FakeBlock, type FakeKv, FakeKvBlocks, joined } from "./fake-kv-blocks.ts";

type Open = { readonly take: Take<FakeKv>; readonly prompt: Uint32Array };

const NAMESPACES = ["a", "b"];
const MAX_TOKENS = 900;
const KNOWN = 12;

const fail = (what: string, found: unknown, expected: unknown): never => {
  throw new Error(`${what}: ${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`);
};

const same = (what: string, found: unknown, expected: unknown): void => {
  if (JSON.stringify(found) !== JSON.stringify(expected)) fail(what, found, expected);
};

export class KeptPromptsModel {
  readonly #random: Random;
  readonly #kv = new FakeKvBlocks();
  readonly #cache: PromptCache<FakeKv, FakeBlock>;
  readonly #open: Open[] = [];
  readonly #known: Uint32Array[] = [];
  #nowMs = 0;
  readonly #everKept: { readonly namespace: string; readonly tokens: Uint32Array }[] = [];

  constructor(random: Random) {
    this.#random = random;
    const maxBytes = 300 + random.below(4000);
    this.#cache = new PromptCache<FakeKv, FakeBlock>({
      maxBytes,
      policy: this.#policy(),
      kv: this.#kv,
      cold: null,
      now: () => this.#nowMs,
    });
  }

  async step(): Promise<void> {
    const dice = this.#random.below(100);
    if (dice < 60) await this.#whole();
    else if (dice < 70 && this.#open.length < 3) this.#open.push(await this.#begin());
    else if (dice < 80) this.#progress();
    else if (dice < 94) this.#endOne();
    else if (dice < 97) this.#cache.maxBytes = this.#random.below(4000);
    else if (dice < 99) this.#cache.policy = this.#policy();
    else this.#clear();
    this.#checkBytes();
  }

  /** Ends what is open and clears: nothing may be left. */
  finish(): void {
    for (const { take } of this.#open.splice(0)) this.#cache.release(take);
    this.#cache.clear();
    same("bytes left at the end", [this.#kv.bytesAlive, this.#kv.live.size, this.#kv.blocks.size], [0, 0, 0]);
  }

  async #whole(): Promise<void> {
    const open = await this.#begin();
    const answer = this.#ids(this.#random.below(120));
    this.#put(open, joined(open.prompt, answer));
  }

  async #begin(): Promise<Open> {
    const prompt = this.#prompt();
    const namespace = this.#pick(NAMESPACES);
    const wanted = prompt.subarray(0, prompt.length - 1);
    const length = this.#scan(wanted, namespace);
    const reason = this.#reason(wanted, namespace, length);
    const take = await this.#cache.take(prompt, namespace, prompt.length + this.#random.below(300));
    same("cached tokens", take.cachedTokens, { ram: length, ssd: 0 });
    same("tokens in what was taken", take.kv.content.length, length);
    same("tokens in it that are the prompt's", commonPrefix(take.kv.content, prompt), length);
    if (length > 0) same("whose it was", take.kv.namespace, namespace);
    if (take.reason?.kind === "evicted") this.#checkEvicted(wanted, namespace, length);
    else same("reason", take.reason, reason);
    take.kv.namespace = namespace;
    this.#checkBudget();
    return { take, prompt };
  }

  #progress(): void {
    const open = this.#open[this.#random.below(Math.max(1, this.#open.length))];
    if (open === undefined) return;
    const { kv } = open.take;
    const left = open.prompt.length - kv.content.length;
    if (left > 0) this.#kv.compute(kv, open.prompt.slice(0, kv.content.length + this.#random.below(left + 1)));
  }

  #endOne(): void {
    const [open] = this.#open.splice(this.#random.below(Math.max(1, this.#open.length)), 1);
    if (open === undefined) return;
    const { kv } = open.take;
    const isCancelled = this.#random.below(2) === 0 && kv.content.length > 0;
    if (isCancelled) this.#put(open, kv.content.slice());
    else if (this.#random.below(4) === 0) this.#cache.release(open.take);
    else this.#put(open, joined(open.prompt, this.#ids(this.#random.below(300))));
  }

  #put({ take, prompt }: Open, all: Uint32Array): void {
    this.#kv.compute(take.kv, all);
    this.#cache.put(take, all, Math.min(prompt.length, all.length));
    this.#everKept.push({ namespace: take.namespace, tokens: all });
    this.#known.push(all);
    if (this.#known.length > KNOWN) this.#known.splice(this.#random.below(KNOWN), 1);
    this.#checkBudget();
  }

  #clear(): void {
    this.#cache.clear();
    this.#everKept.length = 0;
  }

  /** Another turn, a fork, an edit, a repeat or something new. */
  #prompt(): Uint32Array {
    const base = this.#known.length > 0 ? this.#pick(this.#known) : this.#ids(1);
    const from = this.#random.below(3) === 0 ? this.#random.below(base.length + 1) : base.length;
    const prompt = joined(base.subarray(0, Math.min(from, MAX_TOKENS)), this.#ids(this.#random.below(250)));
    return prompt.length === 0 ? this.#ids(1) : prompt;
  }

  #ids(length: number): Uint32Array {
    return Uint32Array.from({ length }, () => this.#random.below(3));
  }

  #pick<One>(list: readonly One[]): One {
    return list[this.#random.below(list.length)] ?? fail("a pick from none", 0, 1);
  }

  #policy(): RetentionPolicy {
    if (this.#random.below(2) === 0) return new LruRetention();
    return {
      name: "any",
      accessed: () => undefined,
      victim: (entries) => this.#pick(entries),
      evicted: () => undefined,
    };
  }

  /** Everything alive that the cache can know: all of a tip, of a running request only its prompt. */
  #alive(namespace: string): Uint32Array[] {
    const prompts = new Map(this.#open.map(({ take, prompt }) => [take.kv, prompt.length]));
    return [...this.#kv.live]
      .filter((kv) => kv.namespace === namespace)
      .map((kv) => kv.content.subarray(0, prompts.get(kv) ?? kv.content.length));
  }

  #scan(wanted: Uint32Array, namespace: string): number {
    const covered = new Uint8Array(wanted.length + 1);
    for (const { start, prefix, namespace: own } of this.#kv.blocks) {
      if (own === namespace) covered.fill(1, start, Math.max(start, commonPrefix(prefix, wanted)));
    }
    return Math.max(covered.indexOf(0), ...this.#alive(namespace).map((content) => commonPrefix(content, wanted)));
  }

  #reason(wanted: Uint32Array, namespace: string, length: number): unknown {
    if (length > 0 && length === wanted.length) return null;
    if (length === 0) return { kind: "cold" };
    const own = [...this.#kv.blocks].filter((block) => block.namespace === namespace).map(({ prefix }) => prefix);
    const isParting = [...own, ...this.#alive(namespace)].some(
      (kept) => kept.length > length && commonPrefix(kept, wanted) === length,
    );
    return isParting ? { kind: "diverged", atToken: length } : null;
  }

  #checkEvicted(wanted: Uint32Array, namespace: string, length: number): void {
    const isTrue = this.#everKept.some(
      (kept) => kept.namespace === namespace && commonPrefix(kept.tokens, wanted) > length,
    );
    if (!isTrue) fail("evicted", "never kept", "kept before");
  }

  #checkBytes(): void {
    const { tipBytes, blockBytes, liveBytes } = this.#cache;
    same("bytes counted", tipBytes + blockBytes + liveBytes, this.#kv.bytesAlive);
  }

  #checkBudget(): void {
    this.#checkBytes();
    const { maxBytes, liveBytes, heldBytes } = this.#cache;
    const allowed = Math.max(maxBytes, liveBytes + heldBytes);
    if (this.#kv.bytesAlive > allowed) fail("bytes alive", this.#kv.bytesAlive, `at most ${allowed}`);
  }
}
