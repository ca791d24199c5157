// Peak memory while a take of 4,000 warm tokens is served under a tight budget, less the weights, against the live KV
// it gives and the shared blocks that stay.
import type { PromptCache } from "../../src-bun/cache/prompt-cache.ts";
import type { KvBlock } from "../../src-bun/engine/kv-blocks.ts";
import type { LiveKv } from "../../src-bun/model/live-kv.ts";
import { retireTips } from "../support/retire-tips.ts";
import { Starter } from "../support/starter.ts";
import { type BenchResult, figure } from "./figure.ts";

const WARM_TOKENS = 4000;
const NEW_TOKENS = 32;
const ROOM_AHEAD = 256;

const prompt = (warm: number): Uint32Array =>
  Uint32Array.from({ length: warm + NEW_TOKENS }, (_, index) => (index < warm ? index : 7));

type Case = {
  readonly name: string;
  readonly isRetired: boolean;
  /** How much of what is warm the next prompt shares. */
  readonly shared: number;
  /** Room behind the warm tokens. */
  readonly roomAhead: number;
};

const cases: readonly Case[] = [
  { name: "nextTurnFromBlocks", isRetired: true, shared: WARM_TOKENS, roomAhead: ROOM_AHEAD },
  { name: "forkFromBlocks", isRetired: true, shared: WARM_TOKENS - 100, roomAhead: ROOM_AHEAD },
  { name: "forkFromTip", isRetired: false, shared: WARM_TOKENS - 100, roomAhead: ROOM_AHEAD },
  { name: "nextTurnOfFullTip", isRetired: false, shared: WARM_TOKENS, roomAhead: 0 },
];

const warm = async (starter: Starter, cache: PromptCache<LiveKv, KvBlock>, roomAhead: number): Promise<void> => {
  const tokens = prompt(WARM_TOKENS).slice(0, WARM_TOKENS);
  const take = await cache.take(tokens, "bench", WARM_TOKENS + roomAhead);
  // What stands in the KV changes no size: it is not computed.
  starter.kv.publish(take.kv, WARM_TOKENS);
  cache.put(take, tokens, WARM_TOKENS);
};

const peakVsLive = async (starter: Starter, one: Case): Promise<number> => {
  const { runtime } = starter;
  const before = runtime.memory().activeBytes;
  const cache = starter.promptCache();
  await warm(starter, cache, one.roomAhead);
  if (one.isRetired) retireTips(cache, starter.kv.bytesOf(1));
  const next = prompt(one.shared);
  cache.maxBytes = starter.kv.liveBytesOf(next.length + ROOM_AHEAD);
  runtime.resetPeakMemory();
  const take = await cache.take(next, "bench", next.length + ROOM_AHEAD);
  const peak = runtime.memory().peakBytes - before;
  if (take.cachedTokens.ram !== one.shared) throw new Error(`${take.cachedTokens.ram} tokens were warm`);
  const live = starter.kv.bytes(take.kv) + cache.heldBytes;
  cache.release(take);
  cache.clear();
  return peak / live;
};

export const memoryBench = async (): Promise<BenchResult> => {
  using starter = await Starter.open();
  const ratios: Record<string, number> = {};
  for (const one of cases) ratios[one.name] = await peakVsLive(starter, one);
  const worst = Math.max(...Object.values(ratios));
  return {
    figures: [figure("take.peakVsLive", "ratio", { atMost: 1.25 }, Object.values(ratios), worst)],
    context: { model: starter.model.id, warmTokens: WARM_TOKENS, ratios },
  };
};
