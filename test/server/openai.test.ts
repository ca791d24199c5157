import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { defaultSampling } from "../../src-bun/contract/sampling.ts";
import { chatClient, parisInTheDialect, parisLogprob, usage } from "./chat-client.ts";
import { runServer } from "./running-server.ts";
import { resultOf, sayParis, waitForCancel } from "./scripted-engine.ts";

const server = runServer();
const { chat } = chatClient(server);
afterAll(() => server[Symbol.asyncDispose]());
afterEach(() => {
  server.engine.script = sayParis;
  server.faults.length = 0;
});

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
      keep: { label: "somebody" },
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
    const answer = chat({}, { signal: client.signal });
    expect((await begun).aborted).toBe(false);
    client.abort();
    await expect(answer).rejects.toThrow();
    await ended;
  });
});
