// What OpenAI's dialect says about sampling, with the fields that other local servers add to it.
import * as v from "valibot";
import { defaultSampling, type Sampling } from "../contract/sampling.ts";
import {
  biasField,
  MAX_BIASES,
  MAX_BIASES_TEXT,
  penaltyField,
  repetitionPenaltyField,
  seedField,
  shareField,
  temperatureField,
  topKField,
} from "./generate-fields.ts";

const biasesText = "must be an object of token numbers and biases";

const biasMap = v.pipe(
  v.custom<object>((value) => typeof value === "object" && value !== null && !Array.isArray(value), biasesText),
  v.record(v.pipe(v.string(), v.regex(/^(?:0|[1-9]\d{0,8})$/, "must be a token's number")), biasField, biasesText),
  v.check((biases) => Object.keys(biases).length <= MAX_BIASES, MAX_BIASES_TEXT),
  v.transform((biases) => Object.entries(biases).map(([id, bias]): readonly [number, number] => [Number(id), bias])),
);

/** Some servers write -1 for all. */
const topKOrAll = v.pipe(
  v.unknown(),
  v.transform((value) => (value === -1 ? 0 : value)),
  topKField,
);

export const samplingEntries = {
  temperature: v.nullish(temperatureField, defaultSampling.temperature),
  top_p: v.nullish(shareField, defaultSampling.topP),
  top_k: v.nullish(topKOrAll, defaultSampling.topK),
  min_p: v.nullish(shareField, defaultSampling.minP),
  presence_penalty: v.nullish(penaltyField, defaultSampling.presencePenalty),
  frequency_penalty: v.nullish(penaltyField, defaultSampling.frequencyPenalty),
  repetition_penalty: v.nullish(repetitionPenaltyField, defaultSampling.repetitionPenalty),
  logit_bias: v.nullish(biasMap),
  seed: seedField,
};

const samplingObject = v.object(samplingEntries);

export const samplingOf = (fields: v.InferOutput<typeof samplingObject>): Sampling => ({
  repetitionPenalty: fields.repetition_penalty,
  presencePenalty: fields.presence_penalty,
  frequencyPenalty: fields.frequency_penalty,
  logitBias: fields.logit_bias ?? defaultSampling.logitBias,
  temperature: fields.temperature,
  topK: fields.top_k,
  topP: fields.top_p,
  minP: fields.min_p,
  seed: fields.seed,
});
