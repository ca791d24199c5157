// The routes of OpenAI's dialect.
import { randomBytes } from "node:crypto";
import { Hono } from "hono";
import type { EnginePort } from "../contract/engine.ts";
import type { ChatCompletion } from "./chat-request.ts";
import { completion } from "./chat-shapes.ts";
import { finished, streamChat } from "./chat-stream.ts";
import { readBody } from "./read-body.ts";

export type OpenAiOptions = {
  /** Throws "not-ready" while no model can answer. */
  readonly engine: () => EnginePort;
  readonly parseChat: (body: readonly Uint8Array[]) => Promise<ChatCompletion>;
  /** Lets a request stay silent for as long as its prompt takes. */
  readonly keepOpen: (request: Request) => void;
  readonly reportFault: (thrown: unknown) => void;
  readonly keepAliveMs: number;
  readonly nowMs: () => number;
};

const toSeconds = (ms: number): number => Math.floor(ms / 1000);

const answerChat = async (request: Request, options: OpenAiOptions): Promise<Response> => {
  const body = await readBody(request);
  options.keepOpen(request);
  const chat = await options.parseChat(body);
  const engine = options.engine();
  const identity = {
    id: `chatcmpl-${randomBytes(12).toString("hex")}`,
    created: toSeconds(options.nowMs()),
    model: chat.request.model ?? (await engine.status()).model?.id ?? "",
  };
  const { keepAliveMs, reportFault } = options;
  if (chat.stream) return streamChat({ engine, chat, identity, signal: request.signal, keepAliveMs, reportFault });
  const result = await engine.generate(chat.request, () => undefined, request.signal);
  return Response.json(completion(identity, finished(result)));
};

export const openAiRoutes = (options: OpenAiOptions): Hono => {
  const startedAt = toSeconds(options.nowMs());
  return new Hono()
    .get("/v1/models", async (c) => {
      const { model } = await options.engine().status();
      const models =
        model === null ? [] : [{ id: model.id, object: "model", created: startedAt, owned_by: "keepwarm" }];
      return c.json({ object: "list", data: models });
    })
    .post("/v1/chat/completions", (c) => answerChat(c.req.raw, options));
};
