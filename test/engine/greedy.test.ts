import { afterAll, beforeAll, expect, test } from "bun:test";
import type { ChatMessage } from "../../src-bun/contract/engine.ts";
import golden from "../golden/starter-greedy.json";
import { Starter } from "../support/starter.ts";

let starter: Starter;

beforeAll(async () => {
  starter = await Starter.open();
});

afterAll(() => starter[Symbol.dispose]());

for (const [index, prompt] of golden.prompts.entries()) {
  test(`64 greedy tokens equal mlx-lm's on prompt ${index + 1} of ${prompt.promptIds.length} tokens`, async () => {
    const ids = await starter.encodeChat(prompt.messages as ChatMessage[]);
    expect([...ids]).toEqual(prompt.promptIds);
    using kv = starter.kv.allocate(ids.length + 64);
    const { ids: chosen } = starter.greedy(starter.prefill(ids, kv), kv, 64);
    expect(chosen).toEqual(prompt.greedyIds);
  });
}
