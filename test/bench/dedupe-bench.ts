// Bytes that 20 chats take which begin with the same 1,500 tokens, when their tips have retired, against the bytes of
// what is unique in them.
import type { LiveKv } from "../../src-bun/model/live-kv.ts";
import { retireTips } from "../support/retire-tips.ts";
import { Starter } from "../support/starter.ts";
import { type BenchResult, figure } from "./figure.ts";

const CHATS = 20;
const SHARED_TOKENS = 1500;
const OWN_TOKENS = 100;
const ROOM_AHEAD = 256;

const promptOf = (chat: number): Uint32Array =>
  Uint32Array.from({ length: SHARED_TOKENS + OWN_TOKENS }, (_, index) => (index < SHARED_TOKENS ? index : chat * 100));

export const dedupeBench = async (): Promise<BenchResult> => {
  using starter = await Starter.open();
  const before = starter.runtime.memory().activeBytes;
  const bytesPerToken = starter.kv.bytesOf(1);
  const cache = starter.promptCache();
  // What stands in the KV changes no size: it is not computed.
  const fill = (kv: LiveKv, tokens: number): void => starter.kv.publish(kv, tokens);
  for (let chat = 1; chat <= CHATS; chat++) {
    const prompt = promptOf(chat);
    const take = await cache.take(prompt, "bench", prompt.length + ROOM_AHEAD);
    fill(take.kv, prompt.length);
    cache.put(take, prompt, prompt.length);
    retireTips(cache, bytesPerToken);
  }
  const active = starter.runtime.memory().activeBytes - before;
  const unique = (SHARED_TOKENS + CHATS * OWN_TOKENS) * bytesPerToken;
  if (cache.blockBytes < unique) throw new Error("a chat was lost");
  cache.clear();
  return {
    figures: [figure("ram.vsUnique", "ratio", { atMost: 1.1 }, [active / unique])],
    context: { model: starter.model.id, chats: CHATS, sharedTokens: SHARED_TOKENS, ownTokens: OWN_TOKENS, unique },
  };
};
