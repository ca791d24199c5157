// The routes of OpenAI's dialect.
import { randomBytes } from "node:crypto";
import { Hono } from "hono";
import type { EnginePort, KeepWish } from "../contract/engine.ts";
import { CACHE_HEADER, parseCacheHeader } from "./cache-header.ts";
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

/** Names the kinds of tools that Keepwarm does not know and left out. */
const SKIPPED_TOOLS_HEADER = "x-keepwarm-skipped-tools";

const toSeconds = (ms: number): number => Math.floor(ms / 1000);

const withWish = (chat: ChatCompletion, wish: KeepWish): ChatCompletion =>
  Object.keys(wish).length === 0
    ? chat
    : { ...chat, request: { ...chat.request, keep: { ...chat.request.keep, ...wish } } };

/** A header takes only some characters, and no client needs more than this of a name. */
const inHeader = (kind: string): string => kind.replace(/[^\w.:-]/g, "?").slice(0, 64);

const tellSkipped = (response: Response, { skippedTools }: ChatCompletion): Response => {
  if (skippedTools.length > 0) response.headers.set(SKIPPED_TOOLS_HEADER, skippedTools.map(inHeader).join(", "));
  return response;
};

const answerChat = async (request: Request, options: OpenAiOptions): Promise<Response> => {
  const wish = parseCacheHeader(request.headers.get(CACHE_HEADER));
  const body = await readBody(request);
  options.keepOpen(request);
  const chat = withWish(await options.parseChat(body), wish);
  const engine = options.engine();
  const identity = {
    id: `chatcmpl-${randomBytes(12).toString("hex")}`,
    created: toSeconds(options.nowMs()),
    model: chat.request.model ?? (await engine.status()).model?.id ?? "",
  };
  const { keepAliveMs, reportFault } = options;
  if (chat.stream) {
    const run = { engine, chat, identity, signal: request.signal, keepAliveMs, reportFault };
    return tellSkipped(await streamChat(run), chat);
  }
  const result = await engine.generate(chat.request, () => undefined, request.signal);
  return tellSkipped(Response.json(completion(identity, finished(result))), chat);
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
