// What a client says of the keeping of its prompt, and the name it gives itself.
import { afterAll, describe, expect, test } from "bun:test";
import { chatClient } from "./chat-client.ts";
import { runServer } from "./running-server.ts";

const server = runServer();
const { chat } = chatClient(server);
afterAll(() => server[Symbol.asyncDispose]());

const keepOf = async (fields: object, header?: string) => {
  const answer = await chat(fields, header === undefined ? {} : { headers: { "x-keepwarm-cache": header } });
  expect(answer.status).toBe(200);
  return server.engine.requests.at(-1)?.keep;
};

describe("the header", () => {
  test("asks for a prompt not to be kept, or for how long", async () => {
    expect(await keepOf({})).toBeUndefined();
    expect(await keepOf({}, "no-store")).toEqual({ noStore: true });
    expect(await keepOf({}, "ttl=3600")).toEqual({ ttlSeconds: 3600 });
    expect(await keepOf({ user: "me" }, "ttl=1")).toEqual({ label: "me", ttlSeconds: 1 });
  });

  test.each(["", "No-Store", "no-store, ttl=5", "ttl", "ttl=", "ttl=0", "ttl=-1", "ttl=1.5", "ttl=2592001", "pin"])(
    "%p is refused with what it may be",
    async (header) => {
      const answered = server.engine.requests.length;
      const answer = await chat({}, { headers: { "x-keepwarm-cache": header } });
      expect(answer.status).toBe(400);
      const { error } = (await answer.json()) as { error: { message: string } };
      expect(error.message).toBe(
        'The header "x-keepwarm-cache" must be "no-store" or "ttl=SECONDS", with a whole number of seconds from 1 to 2592000.',
      );
      expect(server.engine.requests).toHaveLength(answered);
    },
  );
});

describe("the label", () => {
  test("is the cache key, else the user, else who the metadata name", async () => {
    const metadata = { user_id: "third", more: 1 };
    expect(await keepOf({ prompt_cache_key: "first", user: "second", metadata })).toEqual({ label: "first" });
    expect(await keepOf({ user: "second", metadata })).toEqual({ label: "second" });
    expect(await keepOf({ metadata })).toEqual({ label: "third" });
    expect(await keepOf({ prompt_cache_key: "", metadata: { run: "1", user_id: 5 } })).toBeUndefined();
  });

  test("is cut where it is long, and holds whole characters", async () => {
    expect(await keepOf({ user: "a".repeat(65) })).toEqual({ label: "a".repeat(64) });
    expect(await keepOf({ user: `${"a".repeat(63)}👋` })).toEqual({ label: `${"a".repeat(63)}\ufffd` });
  });

  test.each([
    [{ user: 5 }, '"user" must be text.'],
    [{ prompt_cache_key: "a".repeat(1025) }, '"prompt_cache_key" must have at most 1,024 characters.'],
    [{ metadata: "me" }, '"metadata" must be an object.'],
  ])("%p is refused", async (fields, words) => {
    const answer = await chat(fields);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toHaveProperty("error.message", words);
  });
});
