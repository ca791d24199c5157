// Chats with a running server in OpenAI's dialect, and what its clients are told in it.
import type { ChosenLogprob } from "../../src-bun/contract/engine.ts";
import type { RunningServer } from "./running-server.ts";

export const messages = [{ role: "user", content: "What is the capital of France?" }];

type Extras = { readonly signal?: AbortSignal; readonly headers?: Readonly<Record<string, string>> };

export const chatClient = (server: RunningServer) => {
  const send = (body: BodyInit, { signal, headers }: Extras = {}): Promise<Response> =>
    fetch(`${server.url}/v1/chat/completions`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Authorization: `Bearer ${server.token}`, ...headers },
      body,
      ...(signal ? { signal } : {}),
    });
  const chat = (fields: object = {}, extras?: Extras): Promise<Response> =>
    send(JSON.stringify({ messages, ...fields }), extras);
  return { send, chat };
};

/** What the events of a stream hold. */
export const events = async (answer: Response): Promise<string[]> =>
  (await answer.text())
    .split("\n\n")
    .filter((event) => event.startsWith("data: "))
    .map((event) => event.slice("data: ".length));

const bytes = [80, 97, 114, 105, 115];

export const parisLogprob: ChosenLogprob = {
  token: "Paris",
  bytes,
  logprob: -0.25,
  top: [
    { token: "Paris", bytes, logprob: -0.25 },
    { token: "\ufffd", bytes: [0xc3], logprob: -3 },
  ],
};

export const parisInTheDialect = {
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

/** Of `resultOf`, in the dialect. */
export const usage = {
  prompt_tokens: 40,
  completion_tokens: 5,
  total_tokens: 45,
  prompt_tokens_details: { cached_tokens: 36 },
};
