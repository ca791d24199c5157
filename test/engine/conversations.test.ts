// Conversations with forks, edits and cancelled prompts, under a budget that makes tips retire: every answer is held
// against the one that a computation from nothing gives.
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { PromptCache } from "../../src-bun/cache/prompt-cache.ts";
import type { KvBlock } from "../../src-bun/engine/kv-blocks.ts";
import type { LiveKv } from "../../src-bun/model/live-kv.ts";
import { largestDifference, marginOf, roundingBound } from "../support/logits.ts";
import { Random } from "../support/random.ts";
import { isSizeRelease } from "../support/size.ts";
import { Starter } from "../support/starter.ts";

const CONVERSATIONS = isSizeRelease ? 25 : 4;
const TURNS = 6;
const STEPS = 5;
const MAX_PROMPT = 200;
/** Room for two short tips, or for one and some blocks. */
const BUDGET_TOKENS = 600;
const WORDS = ["a kitchen", "the sea", "seven coins", "an old map", "rain", "my sister", "the moon", "bread"];

type Told = { steps: number; partings: number; close: number; difference: number; ram: number; joins: number };

let starter: Starter;

beforeAll(async () => {
  starter = await Starter.open();
}, 60_000);

afterAll(() => starter[Symbol.dispose]());

const answer = (prompt: Uint32Array, kv: LiveKv) =>
  starter.greedy(starter.prefill(prompt.slice(kv.length), kv), kv, STEPS);

const joined = (a: Uint32Array, b: Iterable<number>): Uint32Array => Uint32Array.from([...a, ...b]);

const sentence = (random: Random): Uint32Array => {
  const words = Array.from({ length: 4 + random.below(25) }, () => WORDS[random.below(WORDS.length)] ?? "");
  return Uint32Array.from(starter.model.tokenizer.encodeText(`${words.join(" and ")}.\n`));
};

class Conversation {
  readonly #random: Random;
  readonly #told: Told;
  readonly #cache: PromptCache<LiveKv, KvBlock>;
  readonly #known: Uint32Array[] = [];

  constructor(random: Random, told: Told) {
    this.#random = random;
    this.#told = told;
    this.#cache = starter.promptCache(null, starter.kv.bytesOf(BUDGET_TOKENS));
  }

  async turn(): Promise<void> {
    const prompt = this.#prompt();
    const blocks = this.#cache.blocks;
    const take = await this.#cache.take(prompt, starter.model.namespace, prompt.length + STEPS);
    this.#told.ram += take.cachedTokens.ram;
    if (this.#cache.heldBytes > 0 || this.#cache.blocks < blocks) this.#told.joins++;
    const isCancelled = this.#random.below(5) === 0 && take.kv.length < prompt.length - 1;
    if (isCancelled) {
      const end = take.kv.length + 1 + this.#random.below(prompt.length - 1 - take.kv.length);
      starter.prefill(prompt.slice(take.kv.length, end), take.kv)[Symbol.dispose]();
      this.#cache.put(take, prompt.slice(0, end), end);
      this.#known.push(prompt.slice(0, end));
      return;
    }
    const warm = answer(prompt, take.kv);
    const all = joined(prompt, warm.ids.slice(0, STEPS - 1));
    this.#cache.put(take, all, prompt.length);
    this.#known.push(all);
    this.#compare(prompt, warm);
  }

  end(): void {
    this.#cache.clear();
  }

  /** The next turn, a fork or an edit of an earlier one. */
  #prompt(): Uint32Array {
    const last = this.#known.at(-1) ?? new Uint32Array(0);
    const base = this.#random.below(2) === 0 ? last : (this.#known[this.#random.below(this.#known.length)] ?? last);
    const kept = this.#random.below(2) === 0 ? base.length : this.#random.below(base.length + 1);
    return joined(base.subarray(0, Math.min(kept, MAX_PROMPT)), sentence(this.#random));
  }

  #compare(prompt: Uint32Array, warm: ReturnType<typeof answer>): void {
    using kv = starter.kv.allocate(prompt.length + STEPS);
    const cold = answer(prompt, kv);
    const bound = roundingBound(starter.model.llama.config, cold.logits[0] ?? new Float32Array(1));
    const parting = cold.ids.findIndex((id, step) => id !== warm.ids[step]);
    const compared = parting < 0 ? STEPS : parting + 1;
    const difference = largestDifference(cold.logits.slice(0, compared), warm.logits.slice(0, compared));
    expect(difference).toBeLessThanOrEqual(bound);
    if (parting >= 0) {
      this.#told.partings++;
      expect(marginOf(cold.logits[parting] ?? new Float32Array(1))).toBeLessThan(bound);
    }
    this.#told.steps += compared;
    this.#told.close += cold.logits.slice(0, compared).filter((logits) => marginOf(logits) < bound).length;
    this.#told.difference = Math.max(this.#told.difference, difference / bound);
  }
}

test("R16 R23 conversations with forks, edits and cancelled prompts give the answers of a cold start", async () => {
  const seed = crypto.getRandomValues(new Uint32Array(1))[0] ?? 0;
  const told: Told = { steps: 0, partings: 0, close: 0, difference: 0, ram: 0, joins: 0 };
  const handles = starter.runtime.library.liveHandles;
  console.log(`conversations: seed ${seed}`);
  for (let index = 0; index < CONVERSATIONS; index++) {
    const conversation = new Conversation(new Random((seed + index) >>> 0), told);
    for (let turn = 0; turn < TURNS; turn++) await conversation.turn();
    conversation.end();
  }
  console.log(
    `conversations: ${told.steps} steps compared, ${told.partings} other tokens, ${told.close} closer than rounding, largest difference ${told.difference.toFixed(3)} of the bound, ${told.ram} tokens warm, ${told.joins} takes from blocks`,
  );
  expect(told.partings).toBeLessThanOrEqual(Math.ceil(told.steps / 1000));
  expect(starter.runtime.library.liveHandles).toBe(handles);
}, 300_000);
