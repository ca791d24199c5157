// What OpenAI's dialect has and Keepwarm does not do. It is refused by name, unless it asks for what is done anyway.
import { KeepwarmError } from "../base/errors.ts";

type Field = { readonly name: string; readonly isNeutral: (value: unknown) => boolean };

const oneOf =
  (...values: readonly unknown[]) =>
  (value: unknown): boolean =>
    values.includes(value);
const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;
const isPlainText = (value: unknown): boolean =>
  typeof value === "object" && value !== null && "type" in value && value.type === "text";
const never = (): boolean => false;

const requestFields: readonly Field[] = [
  { name: "audio", isNeutral: never },
  { name: "function_call", isNeutral: oneOf("none", "auto") },
  { name: "functions", isNeutral: isEmptyList },
  { name: "modalities", isNeutral: (value) => Array.isArray(value) && value.length === 1 && value[0] === "text" },
  { name: "n", isNeutral: oneOf(1) },
  { name: "parallel_tool_calls", isNeutral: oneOf(true) },
  { name: "prediction", isNeutral: never },
  { name: "response_format", isNeutral: isPlainText },
  { name: "tool_choice", isNeutral: oneOf("none", "auto") },
  { name: "web_search_options", isNeutral: never },
];

const messageFields: readonly Field[] = [
  { name: "audio", isNeutral: never },
  { name: "function_call", isNeutral: never },
];

const refuse = (holder: object, fields: readonly Field[], prefix: string): void => {
  const given: Readonly<Record<string, unknown>> = { ...holder };
  for (const { name, isNeutral } of fields) {
    const value = given[name];
    if (value === undefined || value === null || isNeutral(value)) continue;
    throw new KeepwarmError("bad-request", `Keepwarm does not support "${prefix}${name}" yet. Leave it out.`);
  }
};

/** Throws a "bad-request" that names the field. Accepts any shape; what else is wrong with it is for the schema. */
export const refuseUnsupported = (request: object): void => {
  refuse(request, requestFields, "");
  if (!("messages" in request) || !Array.isArray(request.messages)) return;
  for (const [at, message] of request.messages.entries())
    if (typeof message === "object" && message !== null) refuse(message, messageFields, `messages[${at}].`);
};
