import { describe, expect, test } from "bun:test";
import { KeepwarmError } from "../../src-bun/base/errors.ts";
import { defaultSampling } from "../../src-bun/contract/sampling.ts";
import { parseChatRequest } from "../../src-bun/server/chat-request.ts";

const messages = [{ role: "user", content: "Hello" }];

/** The words with which a body is refused. */
const refusal = (body: unknown): string => {
  try {
    parseChatRequest(typeof body === "string" ? body : JSON.stringify(body));
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(KeepwarmError);
    expect(thrown).toHaveProperty("code", "bad-request");
    return (thrown as KeepwarmError).message;
  }
  throw new Error("not refused");
};

describe("a body of the wrong shape is refused in words that name the field", () => {
  test.each([
    ["", "What was sent is not valid JSON."],
    ["{", "What was sent is not valid JSON."],
    ["[]", "The body must be a JSON object."],
    ["null", "The body must be a JSON object."],
    ["{}", '"messages" is missing.'],
    [{ messages: "Hello" }, '"messages" must be a list of messages.'],
    [{ messages: [] }, '"messages" must hold at least one message.'],
    [{ messages: [null] }, '"messages[0]" must be an object.'],
    [{ messages: [{ role: "user" }] }, '"messages[0].content" is missing.'],
    [{ messages: [{ role: "user", content: 5 }] }, '"messages[0].content" must be text or a list of text parts.'],
    [
      { messages: [{ role: "function", content: "" }] },
      '"messages[0].role" must be system, developer, user, assistant or tool; Keepwarm does not support others yet.',
    ],
    [
      { messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: "secret" } }] }] },
      '"messages[0].content[0]" is not text; Keepwarm does not support other content yet.',
    ],
    [{ messages, temperature: "hot" }, '"temperature" must be a number from 0 to 2.'],
    [{ messages, temperature: 2.5 }, '"temperature" must be a number from 0 to 2.'],
    [{ messages, max_tokens: 0 }, '"max_tokens" must be a whole number from 1 on.'],
    [{ messages, max_tokens: 1.5 }, '"max_tokens" must be a whole number from 1 on.'],
    [{ messages, seed: 2 ** 53 }, '"seed" must be a whole number between -2^53 and 2^53.'],
    [{ messages, top_p: 1.1 }, '"top_p" must be a number from 0 to 1.'],
    [{ messages, min_p: -0.1 }, '"min_p" must be a number from 0 to 1.'],
    [{ messages, top_k: -2 }, '"top_k" must be a whole number from 0 on.'],
    [{ messages, top_k: "many" }, '"top_k" must be a whole number from 0 on.'],
    [{ messages, presence_penalty: 3 }, '"presence_penalty" must be a number from -2 to 2.'],
    [{ messages, frequency_penalty: "low" }, '"frequency_penalty" must be a number from -2 to 2.'],
    [{ messages, repetition_penalty: 0 }, '"repetition_penalty" must be a number from 0.1 to 10.'],
    [{ messages, logit_bias: { word: 1 } }, '"logit_bias.word" must be a token\'s number.'],
    [{ messages, logit_bias: { "-1": 1 } }, '"logit_bias.-1" must be a token\'s number.'],
    [{ messages, logit_bias: { "5": 101 } }, '"logit_bias.5" must be a number from -100 to 100.'],
    [{ messages, logit_bias: [1] }, '"logit_bias" must be an object of token numbers and biases.'],
    [{ messages, stop: 5 }, '"stop" must be text.'],
    [{ messages, stop: "" }, '"stop" must not be empty.'],
    [{ messages, stop: ["a", ""] }, '"stop[1]" must not be empty.'],
    [{ messages, stop: ["a", "b", "c", "d", "e"] }, '"stop" must hold at most 4 texts.'],
    [{ messages, stop: "a".repeat(1025) }, '"stop" must have at most 1,024 characters.'],
    [{ messages, logprobs: 3 }, '"logprobs" must be true or false.'],
    [{ messages, logprobs: true, top_logprobs: 21 }, '"top_logprobs" must be a whole number from 0 to 20.'],
    [{ messages, top_logprobs: 2 }, '"top_logprobs" needs "logprobs": true.'],
    [{ messages, stream: "yes" }, '"stream" must be true or false.'],
    [{ messages, stream_options: "usage" }, '"stream_options" must be an object.'],
    [{ messages, model: 5 }, '"model" must be text.'],
  ])("%p", (body, words) => {
    expect(refusal(body)).toBe(words);
  });

  test("a deeply nested body", () => {
    const deep = "[".repeat(100_000) + "]".repeat(100_000);
    expect(refusal(`{"messages": ${deep}}`)).toBe('"messages[0].role" is missing.');
    expect(parseChatRequest(`{"messages": ${JSON.stringify(messages)}, "unheard_of": ${deep}}`).stream).toBe(false);
  });
});

test("a bias for more tokens than a request may name", () => {
  const biases = Object.fromEntries(Array.from({ length: 1025 }, (_, id) => [id, 1]));
  expect(refusal({ messages, logit_bias: biases })).toBe('"logit_bias" must have at most 1,024 entries.');
});

test("a lone surrogate in a stop string is what text has in its place", () => {
  expect(parseChatRequest(JSON.stringify({ messages, stop: "\ud83d" })).request.stop).toEqual(["\ufffd"]);
});

describe("what Keepwarm does not do is refused by name", () => {
  test.each([
    ["tool_choice", "required"],
    ["functions", [{}]],
    ["n", 2],
    ["response_format", { type: "json_object" }],
    ["modalities", ["text", "audio"]],
  ])("%s: %p", (name, value) => {
    expect(refusal({ messages, [name]: value })).toBe(`Keepwarm does not support "${name}" yet. Leave it out.`);
  });

  test("in a message too", () => {
    const called = [...messages, { role: "assistant", content: "", function_call: { name: "f" } }];
    expect(refusal({ messages: called })).toBe(
      'Keepwarm does not support "messages[1].function_call" yet. Leave it out.',
    );
  });
});

test("what changes nothing is accepted", () => {
  const neutral = {
    stop: null,
    tools: [],
    tool_choice: "auto",
    n: 1,
    top_p: 1,
    frequency_penalty: 0,
    logit_bias: {},
    logprobs: false,
    response_format: { type: "text" },
    user: "somebody",
    store: false,
    metadata: { run: "1" },
    unheard_of: 1,
  };
  expect(parseChatRequest(JSON.stringify({ messages, ...neutral })).request).toEqual({
    messages: [{ role: "user", content: "Hello" }],
    model: null,
    maxTokens: null,
    sampling: defaultSampling,
    keep: { label: "somebody" },
  });
});
