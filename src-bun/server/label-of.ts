import * as v from "valibot";

const MAX_CHARACTERS = 64;

const label = v.pipe(v.string("must be text"), v.maxLength(1024, "must have at most 1,024 characters"));

/** Fields by which a client may name itself; the first that it sends counts. */
export const labelEntries = {
  prompt_cache_key: v.nullish(label),
  user: v.nullish(label),
  metadata: v.nullish(v.looseObject({ user_id: v.optional(v.unknown()) }, "must be an object")),
};

const labelFields = v.object(labelEntries);

/** Null when the client did not name itself. Long names are cut: a label is for a person to read. */
export const labelOf = (fields: v.InferOutput<typeof labelFields>): string | null => {
  const userId = fields.metadata?.user_id;
  const named = fields.prompt_cache_key || fields.user || (typeof userId === "string" ? userId : "");
  return named === "" ? null : named.toWellFormed().slice(0, MAX_CHARACTERS).toWellFormed();
};
