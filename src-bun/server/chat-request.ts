// OpenAI's chat request in the form that the engine takes.
import * as v from "valibot";
import { KeepwarmError } from "../base/errors.ts";
import type { GenerateRequest } from "../contract/engine.ts";
import { maxTokensField, modelField, seedField, temperatureField } from "./generate-fields.ts";
import { parseJson, parseOutside } from "./parse-outside.ts";
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

const chatSchema = v.object({
  model: modelField,
  messages: v.pipe(
    v.array(messageSchema, "must be a list of messages"),
    v.minLength(1, "must hold at least one message"),
  ),
  max_tokens: maxTokensField,
  max_completion_tokens: maxTokensField,
  temperature: v.nullish(temperatureField, 1),
  seed: seedField,
  stream: flag,
  stream_options: v.nullish(v.looseObject({ include_usage: flag }, "must be an object")),
});

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
      temperature: chat.temperature,
      seed: chat.seed,
    },
    stream: chat.stream,
    includeUsage: chat.stream_options?.include_usage ?? false,
  };
};
