// What may go wrong between messages and tokens, each with what to do.
import { KeepwarmError } from "../base/errors.ts";

/** A template is a program from a stranger: what it does wrong is told in its own words. */
export const templateFailed = (why: string): KeepwarmError =>
  new KeepwarmError("template-failed", `This model's template failed: ${why}. Choose another model or template.`);

export const tokenizerUnopened = (why: string): KeepwarmError =>
  new KeepwarmError("unsupported-model", `This model's tokenizer could not be opened: ${why}. Choose another model.`);

export const textUnencoded = (why: string): KeepwarmError =>
  new KeepwarmError("too-large", `The messages could not be made into tokens: ${why}. Send less at once.`);

/** The template would drop what it never looks for without a word. */
export const notShown = (field: string): KeepwarmError =>
  new KeepwarmError(
    "bad-request",
    `This model's template knows no "${field}", so the model would never see them. Leave them out, or choose a model that was made for tools.`,
  );
