// OpenAI's chat request in the form that the engine takes.
import * as v from "valibot";
import { KeepwarmError } from "../base/errors.ts";
import type { GenerateRequest } from "../contract/engine.ts";
import { maxTokensField, modelField, stopList, stopString, topLogprobsField } from "./generate-fields.ts";
import { labelEntries, labelOf } from "./label-of.ts";
import { messageField } from "./message-field.ts";
import { parseJson, parseOutside } from "./parse-outside.ts";
import { samplingEntries, samplingOf } from "./sampling-fields.ts";
import { toolsField } from "./tools-field.ts";
import { refuseUnsupported } from "./unsupported.ts";

export type ChatCompletion = {
  readonly request: GenerateRequest;
  /** Kinds of tools that were left out, because Keepwarm does not know them. */
  readonly skippedTools: readonly string[];
  readonly stream: boolean;
  readonly includeUsage: boolean;
};

const flag = v.nullish(v.boolean("must be true or false"), false);

const stopOne = v.pipe(
  stopString,
  v.transform((text) => [text]),
);

const chatSchema = v.object({
  model: modelField,
  messages: v.pipe(
    v.array(messageField, "must be a list of messages"),
    v.minLength(1, "must hold at least one message"),
  ),
  tools: v.nullish(toolsField),
  /** What else it may be was refused before. */
  tool_choice: v.optional(v.unknown()),
  ...labelEntries,
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

/** With "none" the model is not even told of the tools: nothing else would keep it from calling one. */
const toolsOf = (chat: ChatFields): Pick<GenerateRequest, "tools"> => {
  const tools = chat.tool_choice === "none" ? [] : (chat.tools?.tools ?? []);
  return tools.length === 0 ? {} : { tools };
};

/** Throws a "bad-request" that names the field. */
export const parseChatRequest = (body: string): ChatCompletion => {
  const value = parseJson(body);
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new KeepwarmError("bad-request", "The body must be a JSON object.");
  refuseUnsupported(value);
  const chat = parseOutside(chatSchema, value);
  const label = labelOf(chat);
  return {
    request: {
      messages: chat.messages,
      ...toolsOf(chat),
      model: chat.model,
      maxTokens: chat.max_completion_tokens ?? chat.max_tokens,
      sampling: samplingOf(chat),
      ...toldOf(chat),
      ...(label === null ? {} : { keep: { label } }),
    },
    skippedTools: chat.tools?.skipped ?? [],
    stream: chat.stream,
    includeUsage: chat.stream_options?.include_usage ?? false,
  };
};
