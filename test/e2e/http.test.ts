import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { TemporaryFolder } from "../support/temporary-folder.ts";
import { letIn, PageSession } from "./page-session.ts";
import { RunningApp } from "./running-app.ts";

type Completion = {
  readonly choices: readonly { readonly message: { readonly content: string }; readonly finish_reason: string }[];
  readonly usage: {
    readonly prompt_tokens: number;
    readonly completion_tokens: number;
    readonly total_tokens: number;
    readonly prompt_tokens_details: { readonly cached_tokens: number };
  };
};
type Logprob = { readonly token: string; readonly logprob: number; readonly bytes: readonly number[] | null };
type Told = Completion & {
  readonly choices: readonly {
    readonly logprobs: { readonly content: readonly (Logprob & { readonly top_logprobs: Logprob[] })[] } | null;
  }[];
};
type Chunk = {
  readonly choices: readonly { readonly delta: { readonly content?: string }; readonly finish_reason: string | null }[];
};

/** Two thousand tokens take more than three minutes; who waits for them waits longer than this. */
const BEFORE_THE_STORY_ENDS_MS = 60_000;

let folder: TemporaryFolder;
let app: RunningApp;

beforeAll(async () => {
  folder = new TemporaryFolder();
  app = await RunningApp.start({ home: folder.path });
});

afterAll(async () => {
  await app[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

const request = (path: string, init: RequestInit = {}): Promise<Response> =>
  fetch(`${app.url}${path}`, { ...init, headers: { authorization: `Bearer ${app.token}`, ...init.headers } });

const chat = (question: string, fields: object = {}, init: RequestInit = {}): Promise<Response> =>
  request("/v1/chat/completions", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      messages: [{ role: "user", content: question }],
      temperature: 0,
      max_tokens: 16,
      ...fields,
    }),
    ...init,
  });

const complete = async (question: string): Promise<Completion> => (await chat(question)).json();

const textOf = ({ choices }: Completion): string => choices[0]?.message.content ?? "";

/** The data of each event, comments left out. */
const eventsOf = async (response: Response): Promise<string[]> => {
  const events = (await response.text()).split("\n\n").filter((event) => event !== "" && !event.startsWith(":"));
  for (const event of events) expect(event).toStartWith("data: ");
  return events.map((event) => event.slice("data: ".length));
};

test("whether it lives is free to ask, all else needs the token", async () => {
  const health = await fetch(`${app.url}/health`);
  expect(await health.json()).toEqual({ status: "ok" });
  for (const path of ["/v1/models", "/v1/chat/completions"]) {
    const answer = await fetch(`${app.url}${path}`, { method: path.endsWith("models") ? "GET" : "POST" });
    expect(answer.status).toBe(401);
    expect(await answer.text()).toContain("API token");
  }
});

test("the loaded model is listed", async () => {
  const { data } = (await (await request("/v1/models")).json()) as { data: { id: string; object: string }[] };
  expect(data).toMatchObject([{ id: expect.stringContaining("SmolLM2"), object: "model" }]);
});

describe("one question, three times", () => {
  const question = "What is the capital of France?";
  let cold: Completion;

  beforeAll(async () => {
    cold = await complete(question);
  });

  test("the first answer counts its tokens", () => {
    expect(textOf(cold)).toContain("Paris");
    const { prompt_tokens, completion_tokens, total_tokens } = cold.usage;
    expect(total_tokens).toBe(prompt_tokens + completion_tokens);
    expect(cold.choices[0]?.finish_reason).toBe("stop");
  });

  test("the second finds its prompt warm, and says the same", async () => {
    const warm = await complete(question);
    expect(warm.usage.prompt_tokens_details.cached_tokens).toBe(cold.usage.prompt_tokens - 1);
    expect(textOf(warm)).toBe(textOf(cold));
  });

  test("a stream carries the same text in pieces, and ends with [DONE]", async () => {
    const response = await chat(question, { stream: true });
    expect(response.headers.get("content-type")).toStartWith("text/event-stream");
    const events = await eventsOf(response);
    expect(events.pop()).toBe("[DONE]");
    const choices = events.flatMap((event) => (JSON.parse(event) as Chunk).choices);
    const pieces = choices.map(({ delta }) => delta.content ?? "").filter((piece) => piece !== "");
    expect(pieces.length).toBeGreaterThan(2);
    expect(pieces.join("")).toBe(textOf(cold));
    expect(choices.at(-1)?.finish_reason).toBe("stop");
  });

  test("a stop string ends it sooner, and each token's probability is told, streamed or whole", async () => {
    const fields = { stop: " Paris", logprobs: true, top_logprobs: 2 };
    const whole = (await (await chat(question, fields)).json()) as Told;
    expect(textOf(whole)).toBe(textOf(cold).slice(0, textOf(cold).indexOf(" Paris")));
    const told = whole.choices[0]?.logprobs?.content ?? [];
    expect(told.map(({ token }) => token).join("")).toStartWith(textOf(whole));
    for (const { top_logprobs, ...chosen } of told) expect(top_logprobs[0]).toEqual(chosen);
    const events = await eventsOf(await chat(question, { ...fields, stream: true }));
    const choices = events.slice(0, -1).flatMap((event) => (JSON.parse(event) as Told).choices);
    expect(choices.flatMap(({ logprobs }) => logprobs?.content ?? [])).toEqual([...told]);
  });
});

test("the next turn of a chat finds at least its whole previous prompt warm", async () => {
  const question = { role: "user", content: "Name a fruit." };
  const first = await complete(question.content);
  const messages = [
    question,
    { role: "assistant", content: textOf(first) },
    { role: "user", content: "Which colour has it?" },
  ];
  const next = (await (await chat("", { messages })).json()) as Completion;
  expect(next.usage.prompt_tokens_details.cached_tokens).toBeGreaterThanOrEqual(first.usage.prompt_tokens);
});

const refusals = [
  { what: "a list of no messages", fields: { messages: [] }, status: 400, words: /at least one message/ },
  { what: "a model that is not here", fields: { model: "other" }, status: 404, words: /no model "other" here/ },
  {
    what: "a prompt beyond the context",
    fields: { messages: [{ role: "user", content: "plum ".repeat(9000) }] },
    status: 400,
    words: /reads at most 8191/,
  },
];

test.each(refusals)("$what is refused in words", async ({ fields, status, words }) => {
  const answer = await chat("Never asked", fields);
  expect(answer.status).toBe(status);
  expect(((await answer.json()) as { error: { message: string } }).error.message).toMatch(words);
});

test(
  "a client that goes away in the middle of a stream gives the engine back",
  async () => {
    const leave = new AbortController();
    const long = { stream: true, max_tokens: 2000 };
    const response = await chat("Write a long story about the sea.", long, { signal: leave.signal });
    const reader = response.body?.getReader();
    await reader?.read();
    leave.abort();
    const { usage } = await complete("What is the capital of Italy?");
    expect(usage.completion_tokens).toBeGreaterThan(0);
  },
  BEFORE_THE_STORY_ENDS_MS,
);

test("two tabs and five clients at once each get the answer to their own question", async () => {
  const [firstOfTab, secondOfTab] = ["What is the capital of Spain?", "What is 7 plus 5?"];
  const ofClients = [
    "What is the capital of Japan?",
    "What is 20 minus 4?",
    "What is the capital of Egypt?",
    "What is 3 times 6?",
    "What is the colour of grass?",
  ];
  const cookie = await letIn(app);
  using first = await PageSession.open(app, cookie);
  using second = await PageSession.open(app, cookie);
  const together: string[] = await Promise.all([
    first.ask(firstOfTab).then(({ text }) => text),
    second.ask(secondOfTab).then(({ text }) => text),
    ...ofClients.map(async (question) => textOf(await complete(question))),
  ]);
  const alone: string[] = [];
  for (const question of [firstOfTab, secondOfTab, ...ofClients]) alone.push(textOf(await complete(question)));
  expect(together).toEqual(alone);
  expect(new Set(alone).size).toBe(alone.length);
});
