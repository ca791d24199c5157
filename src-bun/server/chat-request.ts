// OpenAI's chat request in the form that the engine takes.
import * as v from "valibot";
import { KeepwarmError } from "../base/errors.ts";
import type { GenerateRequest } from "../contract/engine.ts";
import { maxTokensField, modelField, stopList, stopString, topLogprobsField } from "./generate-fields.ts";
import { parseJson, parseOutside } from "./parse-outside.ts";
import { samplingEntries, samplingOf } from "./sampling-fields.ts";
import { refuseUnsupported } from "./unsupported.ts";

export type ChatCompletion = {
  readonly request: GenerateRequest;
  readonly stream: boolean;
  readonly includeUsage: boolean;
};

const textPart = v.pipe(
  v.looseObject(
    { type: v.string("must be text"), text: v.optional(v.string("must be text"), "") },
    "must be an object",
  ),
  v.check((part) => part.type === "text", "is not text; Keepwarm does not support other content yet"),
);

const textParts = v.pipe(
  v.array(textPart),
  v.transform((parts) => parts.map((part) => part.text).join("")),
);
const plainText = v.string("must be text or a list of text parts");

const messageSchema = v.pipe(
  v.looseObject(
    {
      role: v.picklist(
        ["system", "developer", "user", "assistant"],
        "must be system, developer, user or assistant; Keepwarm does not support others yet",
      ),
      content: v.lazy((input) => (Array.isArray(input) ? textParts : plainText)),
    },
    "must be an object",
  ),
  v.transform(({ role, content }) => ({
    role: role === "developer" ? ("system" as const) : role,
    content,
  })),
);

const flag = v.nullish(v.boolean("must be true or false"), false);

const stopOne = v.pipe(
  stopString,
  v.transform((text) => [text]),
);

const chatSchema = v.object({
  model: modelField,
  messages: v.pipe(
    v.array(messageSchema, "must be a list of messages"),
    v.minLength(1, "must hold at least one message"),
  ),
  max_tokens: maxTokensField,
  max_completion_tokens: maxTokensField,
  ...samplingEntries,
  stop: v.nullish(v.lazy((input) => (Array.isArray(input) ? stopList : stopOne))),
  logprobs: flag,
  top_logprobs: v.nullish(topLogprobsField, 0),
  stream: flag,
  stream_options: v.nullish(v.looseObject({ include_usage: flag }, "must be an object")),
});

type ChatFields = v.InferOutput<typeof chatSchema>;

const toldOf = (chat: ChatFields): Pick<GenerateRequest, "stop" | "topLogprobs"> => {
  if (chat.top_logprobs > 0 && !chat.logprobs)
    throw new KeepwarmError("bad-request", '"top_logprobs" needs "logprobs": true.');
  return {
    ...(chat.stop == null || chat.stop.length === 0 ? {} : { stop: chat.stop }),
    ...(chat.logprobs ? { topLogprobs: chat.top_logprobs } : {}),
  };
};

/** Throws a "bad-request" that names the field. */
export const parseChatRequest = (body: string): ChatCompletion => {
  const value = parseJson(body);
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new KeepwarmError("bad-request", "The body must be a JSON object.");
  refuseUnsupported(value);
  const chat = parseOutside(chatSchema, value);
  return {
    request: {
      messages: chat.messages,
      model: chat.model,
      maxTokens: chat.max_completion_tokens ?? chat.max_tokens,
      sampling: samplingOf(chat),
      ...toldOf(chat),
    },
    stream: chat.stream,
    includeUsage: chat.stream_options?.include_usage ?? false,
  };
};
