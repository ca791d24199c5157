// Tools in OpenAI's dialect: what reaches the engine, and what is refused or left out by name.
import { afterAll, describe, expect, test } from "bun:test";
import { parseChatRequest } from "../../src-bun/server/chat-request.ts";
import { Random } from "../support/random.ts";
import { chatClient, events, messages } from "./chat-client.ts";
import { runServer } from "./running-server.ts";

const server = runServer();
const { chat } = chatClient(server);
afterAll(() => server[Symbol.asyncDispose]());

const weather = {
  type: "function",
  function: {
    name: "weather",
    description: "Tells the weather.",
    parameters: {
      type: "object",
      properties: { city: { type: "string", enum: ["Rome", "Oslo"] }, days: { type: "integer", minimum: 1 } },
      required: ["city", "days"],
    },
  },
};
const clock = { type: "function", function: { name: "clock" } };

const parsed = (fields: object) => parseChatRequest(JSON.stringify({ messages, ...fields }));

const refusal = (fields: object): string => {
  try {
    parsed(fields);
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message : String(thrown);
  }
  return "accepted";
};

/** The same JSON with the keys of every object in a random order. */
const shuffled = (value: unknown, random: Random): unknown => {
  if (Array.isArray(value)) return value.map((inner) => shuffled(inner, random));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, inner]) => ({ key, inner, at: random.next() }));
  entries.sort((a, b) => a.at - b.at);
  return Object.fromEntries(entries.map(({ key, inner }) => [key, shuffled(inner, random)]));
};

describe("declared tools", () => {
  test("go on to the engine as they are, in the order they were declared", () => {
    expect(JSON.stringify(parsed({ tools: [weather, clock] }).request.tools)).toBe(JSON.stringify([weather, clock]));
    expect(JSON.stringify(parsed({ tools: [clock, weather] }).request.tools)).toBe(JSON.stringify([clock, weather]));
    expect(parsed({}).request).not.toHaveProperty("tools");
    expect(parsed({ tools: [] }).request).not.toHaveProperty("tools");
  });

  test("A3 are the same whatever order their keys come in", () => {
    const seed = crypto.getRandomValues(new Uint32Array(1))[0] ?? 0;
    console.log(`tools: seed ${seed}`);
    const random = new Random(seed);
    const expected = JSON.stringify(parsed({ tools: [weather, clock] }).request.tools);
    for (let round = 0; round < 50; round++) {
      const { tools } = parsed({ tools: shuffled([weather, clock], random) }).request;
      expect(JSON.stringify(tools)).toBe(expected);
    }
  });

  test("with any keys, those of prototypes too, lose none", () => {
    const parameters = JSON.parse('{"__proto__": {"a": 1}, "constructor": 2, "10": 3, "b": [{"d": 1, "c": 2}]}');
    const tool = { type: "function", function: { name: "odd", parameters } };
    expect(JSON.stringify(parsed({ tools: [tool] }).request.tools?.[0]?.["function"])).toBe(
      '{"name":"odd","parameters":{"10":3,"__proto__":{"a":1},"b":[{"c":2,"d":1}],"constructor":2}}',
    );
  });

  test("are not told to the model when none may be called", () => {
    expect(parsed({ tools: [weather], tool_choice: "none" }).request).not.toHaveProperty("tools");
    expect(parsed({ tools: [weather], tool_choice: "auto" }).request.tools).toHaveLength(1);
    expect(parsed({ tools: [weather], parallel_tool_calls: true }).request.tools).toHaveLength(1);
  });

  test("C32 of a kind that Keepwarm does not know are left out and named in a header", async () => {
    const tools = [{ type: "custom", custom: { name: "x" } }, weather, { type: "web\n_search" }, { type: "custom" }];
    for (const stream of [false, true]) {
      const answer = await chat({ tools, stream });
      expect(answer.status).toBe(200);
      expect(answer.headers.get("x-keepwarm-skipped-tools")).toBe("custom, web?_search");
      expect(server.engine.requests.at(-1)?.tools).toHaveLength(1);
      if (stream) expect((await events(answer)).at(-1)).toBe("[DONE]");
    }
    expect((await chat({ tools: [weather] })).headers.has("x-keepwarm-skipped-tools")).toBe(false);
  });

  const deep = (levels: number): unknown => (levels === 0 ? 1 : { a: deep(levels - 1) });

  test.each([
    [{ tools: 5 }, '"tools" must be a list of tools.'],
    [{ tools: [5] }, '"tools[0]" must be an object.'],
    [{ tools: [{}] }, '"tools[0].type" is missing.'],
    [{ tools: [{ type: "function" }] }, '"tools[0].function" is missing.'],
    [{ tools: [{ type: "function", function: {} }] }, '"tools[0].function.name" is missing.'],
    [{ tools: [{ type: "function", function: { name: "" } }] }, '"tools[0].function.name" must not be empty.'],
    [
      { tools: [{ type: "function", function: { name: "f", parameters: [] } }] },
      '"tools[0].function.parameters" must be an object.',
    ],
    [
      { tools: [clock, { type: "function", function: { name: "f", strict: true } }] },
      '"tools[1].function.strict" cannot be true; Keepwarm does not hold a model to a schema yet. Leave it out.',
    ],
    [
      { tools: [{ type: "function", function: { name: "f", parameters: { a: deep(100) } } }] },
      '"tools[0]" is nested more than 64 levels deep.',
    ],
    [{ tool_choice: "required" }, 'Keepwarm does not support "tool_choice" yet. Leave it out.'],
    [
      { tools: [clock], tool_choice: { type: "function", function: { name: "clock" } } },
      'Keepwarm does not support "tool_choice" yet. Leave it out.',
    ],
    [{ parallel_tool_calls: false }, 'Keepwarm does not support "parallel_tool_calls" yet. Leave it out.'],
  ])("%j is refused", (fields, words) => {
    expect(refusal(fields)).toBe(words);
  });
});

describe("calls and what they gave", () => {
  const call = (text: string) => ({ id: "call_1", type: "function", function: { name: "weather", arguments: text } });
  const calling = (text: string) => [...messages, { role: "assistant", content: null, tool_calls: [call(text)] }];

  test("go on to the template as it reads them", () => {
    const told = [
      ...calling('{"days": 2, "city": "Rome"}'),
      { role: "tool", tool_call_id: "call_1", name: "weather", content: [{ type: "text", text: "Rain" }] },
      { role: "tool", tool_call_id: "call_2", content: "Sun" },
      { role: "assistant", content: "Rain.", tool_calls: [] },
    ];
    expect(parsed({ messages: told }).request.messages.slice(1)).toEqual([
      {
        role: "assistant",
        content: null,
        tool_calls: [
          { id: "call_1", type: "function", function: { name: "weather", arguments: { days: 2, city: "Rome" } } },
        ],
      },
      { role: "tool", tool_call_id: "call_1", name: "weather", content: "Rain" },
      { role: "tool", tool_call_id: "call_2", content: "Sun" },
      { role: "assistant", content: "Rain." },
    ]);
  });

  const nested = `{"a": ${"[".repeat(5000)}${"]".repeat(5000)}}`;

  test.each([
    ["none", "", {}],
    ["an empty object", "{}", {}],
    ["a list", "[1]", "[1]"],
    ["half an object", '{"city": "Ro', '{"city": "Ro'],
    ["an object that is nested too deep", nested, nested],
  ])("arguments that are no object stay the text they are: %s", (_name, text, expected) => {
    const [, called] = parsed({ messages: calling(text) }).request.messages;
    expect(called).toHaveProperty("tool_calls.0.function.arguments", expected);
  });

  test.each([
    [[{ role: "tool", content: "x" }], '"messages[0].tool_call_id" is missing.'],
    [[{ role: "tool", tool_call_id: "1" }], '"messages[0].content" is missing.'],
    [[{ role: "assistant", content: null }], '"messages[0].content" must be text or a list of text parts.'],
    [[{ role: "assistant", tool_calls: 5 }], '"messages[0].tool_calls" must be a list of calls.'],
    [[{ role: "assistant", tool_calls: [{ id: "1" }] }], '"messages[0].tool_calls[0].function" is missing.'],
    [
      [{ role: "assistant", tool_calls: [{ ...call("{}"), type: "custom" }] }],
      '"messages[0].tool_calls[0].type" must be "function"; Keepwarm does not support others yet.',
    ],
    [
      [{ role: "assistant", tool_calls: [{ id: "1", function: { name: "f", arguments: {} } }] }],
      '"messages[0].tool_calls[0].function.arguments" must be text.',
    ],
  ])("%j is refused", (wrong, words) => {
    expect(refusal({ messages: wrong })).toBe(words);
  });
});
