import * as v from "valibot";
import type { ClientMessage } from "../contract/rpc.ts";
import {
  biasField,
  MAX_BIASES,
  MAX_BIASES_TEXT,
  maxTokensField,
  modelField,
  penaltyField,
  repetitionPenaltyField,
  seedField,
  shareField,
  stopList,
  temperatureField,
  topKField,
  topLogprobsField,
} from "../server/generate-fields.ts";
import { parseJson, parseOutside } from "../server/parse-outside.ts";

const id = v.pipe(v.string("must be text"), v.minLength(1, "must not be empty"), v.maxLength(128, "is too long"));

const message = v.object(
  {
    role: v.picklist(["system", "user", "assistant"], "must be system, user or assistant"),
    content: v.string("must be text"),
  },
  "must be an object",
);

const tokenIdText = "must be a token's number";
const tokenId = v.pipe(v.number(tokenIdText), v.safeInteger(tokenIdText), v.minValue(0, tokenIdText));

const sampling = v.object(
  {
    repetitionPenalty: v.exactOptional(repetitionPenaltyField),
    presencePenalty: v.exactOptional(penaltyField),
    frequencyPenalty: v.exactOptional(penaltyField),
    logitBias: v.exactOptional(
      v.pipe(
        v.array(v.tuple([tokenId, biasField], "must be a pair"), "must be a list of pairs"),
        v.maxLength(MAX_BIASES, MAX_BIASES_TEXT),
      ),
    ),
    temperature: v.exactOptional(temperatureField),
    topK: v.exactOptional(topKField),
    topP: v.exactOptional(shareField),
    minP: v.exactOptional(shareField),
    seed: v.exactOptional(seedField),
  },
  "must be an object",
);

const request = v.object(
  {
    messages: v.pipe(v.array(message, "must be a list of messages"), v.minLength(1, "must hold at least one message")),
    model: modelField,
    maxTokens: maxTokensField,
    sampling,
    stop: v.exactOptional(stopList),
    topLogprobs: v.exactOptional(topLogprobsField),
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
