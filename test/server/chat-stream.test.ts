import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { KeepwarmError } from "../../src-bun/base/errors.ts";
import { chatClient, events, parisInTheDialect, parisLogprob, usage } from "./chat-client.ts";
import { runServer } from "./running-server.ts";
import { resultOf, sayParis, waitForCancel } from "./scripted-engine.ts";

const server = runServer({ keepAliveMs: 20 });
const { chat } = chatClient(server);
afterAll(() => server[Symbol.asyncDispose]());
afterEach(() => {
  server.engine.script = sayParis;
  server.faults.length = 0;
});

describe("/v1/chat/completions, streamed", () => {
  const chunk = (choices: readonly object[], more: object = {}) => ({
    id: expect.stringMatching(/^chatcmpl-[0-9a-f]{24}$/),
    object: "chat.completion.chunk",
    created: expect.any(Number),
    model: "starter",
    choices,
    ...more,
  });
  const delta = (content: object, reason: string | null = null) => ({
    index: 0,
    delta: content,
    logprobs: null,
    finish_reason: reason,
  });

  test("sends the role, each piece, the reason to stop, and the end", async () => {
    const answer = await chat({ stream: true });
    expect(answer.headers.get("content-type")).toBe("text/event-stream");
    const sent = await events(answer);
    expect(sent.pop()).toBe("[DONE]");
    expect(sent.map((event) => JSON.parse(event))).toEqual([
      chunk([delta({ role: "assistant", content: "" })]),
      chunk([delta({ content: "Paris" })]),
      chunk([delta({ content: " is" })]),
      chunk([delta({ content: " warm." })]),
      chunk([delta({}, "stop")]),
    ]);
  });

  test("sends log-probabilities with the text they belong to", async () => {
    server.engine.script = async (_request, onProgress) => {
      onProgress({ kind: "text", text: "Paris", logprobs: [parisLogprob] });
      return resultOf({ logprobs: [parisLogprob] });
    };
    const sent = await events(await chat({ stream: true, logprobs: true, top_logprobs: 2 }));
    const chunks = sent.slice(0, -1).map((event) => JSON.parse(event));
    expect(chunks.map((one) => one.choices[0].logprobs)).toEqual([null, parisInTheDialect, null]);
  });

  test("C26 sends the usage last when asked, and null before", async () => {
    const sent = await events(await chat({ stream: true, stream_options: { include_usage: true } }));
    const chunks = sent.slice(0, -1).map((event) => JSON.parse(event));
    expect(chunks.at(-1)).toEqual(chunk([], { usage }));
    expect(chunks.slice(0, -1).every((one) => one.usage === null)).toBe(true);
  });

  test("C31 shows that it lives while a long prompt is computed", async () => {
    const first = Promise.withResolvers<void>();
    server.engine.script = async (_request, onProgress) => {
      onProgress({ kind: "prefill", doneTokens: 512, totalTokens: 1500, cachedTokens: { ram: 0, ssd: 0 } });
      await first.promise;
      return resultOf();
    };
    const reader = (await chat({ stream: true })).body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (!text.includes(": prompt: 512 of 1500 tokens\n\n")) text += (await reader?.read())?.value ?? "";
    first.resolve();
    for (let next = await reader?.read(); next && !next.done; next = await reader?.read()) text += next.value;
    expect(text).toEndWith("data: [DONE]\n\n");
  });

  test("C30 C31 a client that goes away stops the answer, before its first word and after", async () => {
    for (const words of [[], ["Paris"]]) {
      const waiting = waitForCancel();
      server.engine.script = (request, onProgress, signal) => {
        for (const text of words) onProgress({ kind: "text", text });
        return waiting.script(request, onProgress, signal);
      };
      const client = new AbortController();
      const answer = chat({ stream: true }, { signal: client.signal });
      await waiting.begun;
      if (words.length > 0) await (await answer).body?.getReader().read();
      client.abort();
      await answer.catch((error: unknown) => error);
      await waiting.ended;
    }
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
    expect(server.faults).toEqual([]);
  });

  test("tells what went wrong before the first word by the status, and later in the stream", async () => {
    const fault = new KeepwarmError("context-exceeded", "The prompt has 3,000 tokens; the model takes 2,048.");
    server.engine.script = () => Promise.reject(fault);
    const before = await chat({ stream: true });
    expect(before.status).toBe(400);
    expect(await before.json()).toHaveProperty("error.code", "context_length_exceeded");

    server.engine.script = (_request, onProgress) => {
      onProgress({ kind: "text", text: "Par" });
      return Promise.reject(new KeepwarmError("engine-exited", "The engine stopped. Start Keepwarm again."));
    };
    const later = await chat({ stream: true });
    expect(later.status).toBe(200);
    const sent = await events(later);
    expect(JSON.parse(sent.at(-1) ?? "")).toEqual({
      error: {
        message: "The engine stopped. Start Keepwarm again.",
        type: "server_error",
        param: null,
        code: "engine-exited",
      },
    });
  });

  test("an answer that the engine gave up does not end as if it were whole", async () => {
    server.engine.script = (_request, onProgress) => {
      onProgress({ kind: "text", text: "Par" });
      return Promise.resolve(resultOf({ finishReason: "cancelled" }));
    };
    expect((await events(await chat({ stream: true }))).at(-1)).toContain('"code":"cancelled"');
  });
});
