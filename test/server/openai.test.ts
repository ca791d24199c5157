import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { KeepwarmError } from "../../src-bun/base/errors.ts";
import type { ChosenLogprob } from "../../src-bun/contract/engine.ts";
import { defaultSampling } from "../../src-bun/contract/sampling.ts";
import { runServer } from "./running-server.ts";
import { resultOf, sayParis, waitForCancel } from "./scripted-engine.ts";

const server = runServer({ keepAliveMs: 20 });
afterAll(() => server[Symbol.asyncDispose]());
afterEach(() => {
  server.engine.script = sayParis;
  server.faults.length = 0;
});

const send = (body: BodyInit, signal?: AbortSignal): Promise<Response> =>
  fetch(`${server.url}/v1/chat/completions`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${server.token}` },
    body,
    ...(signal ? { signal } : {}),
  });

const messages = [{ role: "user", content: "What is the capital of France?" }];
const chat = (fields: object = {}): Promise<Response> => send(JSON.stringify({ messages, ...fields }));

const bytes = [80, 97, 114, 105, 115];
const parisLogprob: ChosenLogprob = {
  token: "Paris",
  bytes,
  logprob: -0.25,
  top: [
    { token: "Paris", bytes, logprob: -0.25 },
    { token: "\ufffd", bytes: [0xc3], logprob: -3 },
  ],
};
const parisInTheDialect = {
  content: [
    {
      token: "Paris",
      logprob: -0.25,
      bytes,
      top_logprobs: [
        { token: "Paris", logprob: -0.25, bytes },
        { token: "\ufffd", logprob: -3, bytes: [0xc3] },
      ],
    },
  ],
  refusal: null,
};

const usage = {
  prompt_tokens: 40,
  completion_tokens: 5,
  total_tokens: 45,
  prompt_tokens_details: { cached_tokens: 36 },
};

describe("/v1/models", () => {
  test("lists the model that is loaded", async () => {
    const answer = await fetch(`${server.url}/v1/models`, { headers: { "x-api-key": server.token } });
    expect(await answer.json()).toEqual({
      object: "list",
      data: [{ id: "starter", object: "model", created: expect.any(Number), owned_by: "keepwarm" }],
    });
  });
});

describe("/v1/chat/completions, whole", () => {
  test("C26 answers in one object whose prompt total includes the cached part", async () => {
    const answer = await chat();
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({
      id: expect.stringMatching(/^chatcmpl-[0-9a-f]{24}$/),
      object: "chat.completion",
      created: expect.any(Number),
      model: "starter",
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: "Paris is warm.", refusal: null },
          logprobs: null,
          finish_reason: "stop",
        },
      ],
      usage,
    });
  });

  test("says when the length was the reason to stop", async () => {
    server.engine.script = () => Promise.resolve(resultOf({ finishReason: "length" }));
    expect(await (await chat()).json()).toHaveProperty("choices.0.finish_reason", "length");
  });

  test("gives each token's log-probability and its alternatives", async () => {
    server.engine.script = () => Promise.resolve(resultOf({ logprobs: [parisLogprob] }));
    const answer = await (await chat({ logprobs: true, top_logprobs: 2 })).json();
    expect(answer).toHaveProperty("choices.0.logprobs", parisInTheDialect);
  });

  test("gives the engine what was asked for", async () => {
    const parts = [
      { type: "text", text: "one " },
      { type: "text", text: "two" },
    ];
    await chat({
      model: "starter",
      messages: [
        { role: "developer", content: "Be brief." },
        { role: "user", content: parts, name: "somebody" },
      ],
      max_tokens: 7,
      max_completion_tokens: 9,
      temperature: 0,
      seed: 12,
      user: "somebody",
      stop: ["END", "\n"],
      top_p: 0.9,
      top_k: 40,
      min_p: 0.05,
      presence_penalty: 1,
      frequency_penalty: -0.5,
      repetition_penalty: 1.1,
      logit_bias: { "50": -100, "7": 2.5 },
      logprobs: true,
      top_logprobs: 3,
      n: 1,
      tools: [],
      response_format: { type: "text" },
    });
    expect(server.engine.requests.at(-1)).toEqual({
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "one two" },
      ],
      model: "starter",
      maxTokens: 9,
      sampling: {
        repetitionPenalty: 1.1,
        presencePenalty: 1,
        frequencyPenalty: -0.5,
        logitBias: [
          [7, 2.5],
          [50, -100],
        ],
        temperature: 0,
        topK: 40,
        topP: 0.9,
        minP: 0.05,
        seed: 12,
      },
      stop: ["END", "\n"],
      topLogprobs: 3,
    });
    await chat({ temperature: null, stop: "END", logprobs: true, top_k: -1 });
    expect(server.engine.requests.at(-1)).toEqual({
      messages: [{ role: "user", content: "What is the capital of France?" }],
      model: null,
      maxTokens: null,
      sampling: defaultSampling,
      stop: ["END"],
      topLogprobs: 0,
    });
  });

  test("C30 a client that goes away stops the answer", async () => {
    const { script, begun, ended } = waitForCancel();
    server.engine.script = script;
    const client = new AbortController();
    const answer = send(JSON.stringify({ messages }), client.signal);
    expect((await begun).aborted).toBe(false);
    client.abort();
    await expect(answer).rejects.toThrow();
    await ended;
  });
});

describe("/v1/chat/completions, streamed", () => {
  const events = async (answer: Response): Promise<string[]> =>
    (await answer.text())
      .split("\n\n")
      .filter((event) => event.startsWith("data: "))
      .map((event) => event.slice("data: ".length));

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
      const answer = send(JSON.stringify({ messages, stream: true }), client.signal);
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

describe("what goes wrong", () => {
  test.each([
    ["busy", 503, "busy"],
    ["not-ready", 503, "not-ready"],
    ["unknown-model", 404, "model_not_found"],
    ["bad-request", 400, "bad-request"],
    ["template-failed", 400, "template-failed"],
    ["engine-exited", 500, "engine-exited"],
  ] as const)("%s is answered with %d", async (code, status, shown) => {
    server.engine.script = () => Promise.reject(new KeepwarmError(code, "In words."));
    const answer = await chat();
    expect(answer.status).toBe(status);
    expect(await answer.json()).toMatchObject({ error: { message: "In words.", code: shown } });
    expect(answer.headers.has("retry-after")).toBe(status === 503);
    expect(server.faults.length).toBe(status === 500 ? 1 : 0);
  });

  test("a mistake of ours is answered and reported, and the server goes on", async () => {
    server.engine.script = () => Promise.reject(new Error("boom"));
    const answer = await chat();
    expect(answer.status).toBe(500);
    expect(await answer.json()).toHaveProperty("error.code", "internal");
    expect(server.faults).toEqual([new Error("boom")]);
    server.engine.script = sayParis;
    expect((await chat()).status).toBe(200);
  });

  test("while no model is loaded it says so", async () => {
    await using early = runServer({
      engine: () => {
        throw new KeepwarmError("not-ready", "The model is being loaded. Try again in a moment.");
      },
    });
    const answer = await fetch(`${early.url}/v1/models`, { headers: { "x-api-key": early.token } });
    expect(answer.status).toBe(503);
    expect(answer.headers.get("retry-after")).toBe("2");
  });
});
