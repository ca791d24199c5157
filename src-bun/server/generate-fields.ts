// The limits of a request to generate, the same for every dialect and for the page.
import * as v from "valibot";

const within = (least: number, most: number) => {
  const text = `must be a number from ${least} to ${most}`;
  return v.pipe(v.number(text), v.minValue(least, text), v.maxValue(most, text));
};

const maxTokensText = "must be a whole number from 1 on";
const seedText = "must be a whole number between -2^53 and 2^53";
const topKText = "must be a whole number from 0 on";
const topLogprobsText = "must be a whole number from 0 to 20";

export const modelField = v.nullish(
  v.pipe(v.string("must be text"), v.maxLength(256, "must have at most 256 characters")),
  null,
);

export const maxTokensField = v.nullish(
  v.pipe(v.number(maxTokensText), v.safeInteger(maxTokensText), v.minValue(1, maxTokensText)),
  null,
);

export const temperatureField = within(0, 2);
/** For the presence and the frequency penalty. */
export const penaltyField = within(-2, 2);
export const repetitionPenaltyField = within(0.1, 10);
export const biasField = within(-100, 100);
/** For top-p and min-p. */
export const shareField = within(0, 1);
export const topKField = v.pipe(v.number(topKText), v.safeInteger(topKText), v.minValue(0, topKText));
export const topLogprobsField = v.pipe(
  v.number(topLogprobsText),
  v.safeInteger(topLogprobsText),
  v.minValue(0, topLogprobsText),
  v.maxValue(20, topLogprobsText),
);

export const seedField = v.nullish(v.pipe(v.number(seedText), v.safeInteger(seedText)), null);

/** A lone surrogate is no character; text of the model never holds one. */
export const stopString = v.pipe(
  v.string("must be text"),
  v.minLength(1, "must not be empty"),
  v.maxLength(1024, "must have at most 1,024 characters"),
  v.transform((text) => text.toWellFormed()),
);
export const stopList = v.pipe(
  v.array(stopString, "must be a list of texts"),
  v.maxLength(4, "must hold at most 4 texts"),
);

/** Each entry costs time at every token. */
export const MAX_BIASES = 1024;
export const MAX_BIASES_TEXT = "must have at most 1,024 entries";
