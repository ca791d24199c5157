// The tools that a client declares. Their keys may come in any order; the template gets them in one.
import * as v from "valibot";
import type { JsonObject } from "../contract/engine.ts";
import { inOneOrder, isNestedTooDeep, isObject, MAX_LEVELS } from "./json-tree.ts";

const declaration = v.looseObject(
  {
    name: v.pipe(v.string("must be text"), v.minLength(1, "must not be empty")),
    description: v.nullish(v.string("must be text")),
    parameters: v.nullish(v.custom<JsonObject>(isObject, "must be an object")),
    strict: v.nullish(v.literal(false, "cannot be true; Keepwarm does not hold a model to a schema yet. Leave it out")),
  },
  "must be an object",
);

const functionTool = v.looseObject({ type: v.literal("function"), function: declaration });
const otherTool = v.looseObject({ type: v.string("must be text") }, "must be an object");

const tool = v.pipe(
  v.lazy((input) => (isObject(input) && input["type"] === "function" ? functionTool : otherTool)),
  v.check((input) => !isNestedTooDeep(input), `is nested more than ${MAX_LEVELS} levels deep`),
  v.transform((input) => inOneOrder(input) as JsonObject & { readonly type: string }),
);

/** Kinds that Keepwarm does not know are left out of `tools` and named in `skipped`. */
export const toolsField = v.pipe(
  v.array(tool, "must be a list of tools"),
  v.transform((all) => ({
    tools: all.filter(({ type }) => type === "function"),
    skipped: [...new Set(all.map(({ type }) => type).filter((type) => type !== "function"))],
  })),
);
