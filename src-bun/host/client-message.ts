import * as v from "valibot";
import type { ClientMessage } from "../contract/rpc.ts";
import { maxTokensField, modelField, seedField, temperatureField } from "../server/generate-fields.ts";
import { parseJson, parseOutside } from "../server/parse-outside.ts";

const id = v.pipe(v.string("must be text"), v.minLength(1, "must not be empty"), v.maxLength(128, "is too long"));

const message = v.object(
  {
    role: v.picklist(["system", "user", "assistant"], "must be system, user or assistant"),
    content: v.string("must be text"),
  },
  "must be an object",
);

const request = v.object(
  {
    messages: v.pipe(v.array(message, "must be a list of messages"), v.minLength(1, "must hold at least one message")),
    model: modelField,
    maxTokens: maxTokensField,
    temperature: temperatureField,
    seed: seedField,
  },
  "must be an object",
);

const schema = v.variant(
  "kind",
  [
    v.object({ kind: v.literal("generate"), id, request }),
    v.object({ kind: v.literal("cancel"), id }),
    v.object({ kind: v.literal("status"), id }),
    v.object({ kind: v.literal("open"), id }),
  ],
  "must be generate, cancel, status or open",
);

/** Throws a "bad-request" that names the field. */
export const parseClientMessage = (text: string): ClientMessage => parseOutside(schema, parseJson(text));
