// The limits of a request to generate, the same for every dialect and for the page.
import * as v from "valibot";

const maxTokensText = "must be a whole number from 1 on";
const temperatureText = "must be a number from 0 to 2";
const seedText = "must be a whole number from 0 to 2^44 - 1";

export const modelField = v.nullish(
  v.pipe(v.string("must be text"), v.maxLength(256, "must have at most 256 characters")),
  null,
);

export const maxTokensField = v.nullish(
  v.pipe(v.number(maxTokensText), v.safeInteger(maxTokensText), v.minValue(1, maxTokensText)),
  null,
);

export const temperatureField = v.pipe(
  v.number(temperatureText),
  v.minValue(0, temperatureText),
  v.maxValue(2, temperatureText),
);

/** The sampler keeps 20 bits of its 64-bit key for the token's place. */
export const seedField = v.nullish(
  v.pipe(v.number(seedText), v.safeInteger(seedText), v.minValue(0, seedText), v.maxValue(2 ** 44 - 1, seedText)),
  null,
);
