// JSON from outside, made into exact types or refused in words that name the field.
import * as v from "valibot";
import { KeepwarmError } from "../base/errors.ts";

export const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new KeepwarmError("bad-request", "What was sent is not valid JSON.", { cause });
  }
};

const fieldOf = (issue: v.BaseIssue<unknown>): string =>
  (issue.path ?? [])
    .map(({ key }, at) => (typeof key === "number" ? `[${key}]` : `${at === 0 ? "" : "."}${String(key)}`))
    .join("");

/** The schema's own messages go on after the field's name: "must be text". They never repeat what was sent. */
export const parseOutside = <Schema extends v.GenericSchema>(schema: Schema, value: unknown): v.InferOutput<Schema> => {
  const result = v.safeParse(schema, value, { abortEarly: true });
  if (result.success) return result.output;
  const [issue] = result.issues;
  throw new KeepwarmError(
    "bad-request",
    `"${fieldOf(issue)}" ${issue.received === "undefined" ? "is missing" : issue.message}.`,
  );
};
