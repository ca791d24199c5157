// A message of OpenAI's chat dialect, in the form that a chat template takes.
import * as v from "valibot";
import type { ChatMessage, JsonObject } from "../contract/engine.ts";
import { isNestedTooDeep, isObject } from "./json-tree.ts";

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
const content = v.lazy((input) => (Array.isArray(input) ? textParts : plainText));

const shortText = v.pipe(
  v.string("must be text"),
  v.minLength(1, "must not be empty"),
  v.maxLength(256, "must have at most 256 characters"),
);

/** Templates write an object as their model writes it; what is none goes on as it came. */
const argumentsOf = (text: string): JsonObject | string => {
  if (text === "") return {};
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) && !isNestedTooDeep(value) ? value : text;
  } catch (thrown) {
    // A model may write what is no JSON, and the client sends back what it wrote.
    if (thrown instanceof SyntaxError) return text;
    throw thrown;
  }
};

const toolCall = v.pipe(
  v.looseObject(
    {
      id: shortText,
      type: v.optional(v.literal("function", 'must be "function"; Keepwarm does not support others yet'), "function"),
      function: v.looseObject({ name: shortText, arguments: v.string("must be text") }, "must be an object"),
    },
    "must be an object",
  ),
  v.transform(({ id, type, function: called }) => ({
    id,
    type,
    function: { name: called.name, arguments: argumentsOf(called.arguments) },
  })),
);

const textMessage = v.pipe(
  v.looseObject(
    {
      role: v.picklist(
        ["system", "developer", "user", "assistant"],
        "must be system, developer, user, assistant or tool; Keepwarm does not support others yet",
      ),
      content,
    },
    "must be an object",
  ),
  v.transform(
    (message): ChatMessage => ({
      role: message.role === "developer" ? "system" : message.role,
      content: message.content,
    }),
  ),
);

const callingMessage = v.pipe(
  v.looseObject({ content: v.nullish(content, null), tool_calls: v.array(toolCall, "must be a list of calls") }),
  v.transform(
    (message): ChatMessage => ({ role: "assistant", content: message.content, tool_calls: message.tool_calls }),
  ),
);

const toolMessage = v.pipe(
  v.looseObject({ content, tool_call_id: shortText, name: v.exactOptional(shortText) }),
  v.transform(
    ({ content: text, tool_call_id, name }): ChatMessage => ({
      role: "tool",
      content: text,
      tool_call_id,
      ...(name === undefined ? {} : { name }),
    }),
  ),
);

const kindOf = (message: unknown): typeof textMessage | typeof callingMessage | typeof toolMessage => {
  if (!isObject(message)) return textMessage;
  if (message["role"] === "tool") return toolMessage;
  const calls = message["tool_calls"];
  const isCalling = calls !== undefined && calls !== null && !(Array.isArray(calls) && calls.length === 0);
  return message["role"] === "assistant" && isCalling ? callingMessage : textMessage;
};

export const messageField = v.lazy(kindOf);
