import { expect, test } from "bun:test";
import { join } from "node:path";
import { RequestParser } from "../../src-bun/host/request-parser.ts";
import { bundleWorker } from "../../src-bun/setup/bundle-workers.ts";

const source = (): Promise<string> =>
  bundleWorker(join(import.meta.dir, "../../src-bun/host/request-parser.worker.ts"));

/** A body in pieces, which cut a character of two bytes. */
const bodyOf = (content: string): Uint8Array[] => {
  const bytes = Buffer.from(JSON.stringify({ messages: [{ role: "user", content }] }));
  return [new Uint8Array(bytes.subarray(0, 50)), bytes.subarray(50, 51), new Uint8Array(bytes.subarray(51))];
};

test("a large text comes out as a small one does, and only it asks for the thread", async () => {
  let asked = 0;
  using parser = new RequestParser(() => {
    asked += 1;
    return source();
  });
  expect((await parser.chat(bodyOf("\u00e9".repeat(100)))).request.messages[0]?.content).toBe("\u00e9".repeat(100));
  await expect(parser.chat([Buffer.from("{}")])).rejects.toMatchObject({ code: "bad-request" });
  expect(asked).toBe(0);

  const long = "\u00e9".repeat(200_000);
  const results = await Promise.all([parser.chat(bodyOf(long)), parser.chat(bodyOf(`${long}!`))]);
  expect(results.map(({ request }) => request.messages[0]?.content?.length)).toEqual([200_000, 200_001]);
  await expect(parser.message(JSON.stringify({ kind: "evict", text: long }))).rejects.toMatchObject({
    code: "bad-request",
    message: '"kind" must be generate, cancel, status or open.',
  });
  expect(asked).toBe(1);
});

test("a thread that dies ends what waits for it, and the next text starts another", async () => {
  const sources = ["process.exit(1)", "throw new Error('no')"];
  using parser = new RequestParser(() => {
    const next = sources.shift();
    return next === undefined ? source() : Promise.resolve(next);
  });
  const large = "x".repeat(300_000);
  for (let at = 0; at < 2; at++) await expect(parser.chat(bodyOf(large))).rejects.toThrow(/has ended/);
  expect((await parser.chat(bodyOf(large))).request.messages[0]?.content).toBe(large);
});
