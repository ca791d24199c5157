// The tokenizer and the templates in a GGUF's metadata (gguf specification, "tokenizer.ggml.*").
import * as v from "valibot";
import { KeepwarmError } from "../base/errors.ts";

const id = v.pipe(v.union([v.number(), v.bigint()]), v.transform(Number), v.number(), v.safeInteger(), v.minValue(0));

const schema = v.object({
  "tokenizer.ggml.model": v.string(),
  "tokenizer.ggml.pre": v.optional(v.string()),
  "tokenizer.ggml.tokens": v.pipe(v.array(v.string()), v.minLength(1)),
  "tokenizer.ggml.token_type": v.array(v.number()),
  "tokenizer.ggml.merges": v.optional(v.array(v.string())),
  "tokenizer.ggml.scores": v.optional(v.array(v.number())),
  "tokenizer.ggml.bos_token_id": v.optional(id),
  "tokenizer.ggml.eos_token_id": v.optional(id),
  "tokenizer.ggml.eot_token_id": v.optional(id),
  "tokenizer.ggml.eom_token_id": v.optional(id),
  "tokenizer.ggml.unknown_token_id": v.optional(id),
  "tokenizer.ggml.padding_token_id": v.optional(id),
  "tokenizer.ggml.add_bos_token": v.optional(v.boolean()),
  "tokenizer.ggml.add_space_prefix": v.optional(v.boolean()),
  "tokenizer.chat_template": v.optional(v.string()),
  "tokenizer.chat_template.tool_use": v.optional(v.string()),
});

export type GgufVocabulary = v.InferOutput<typeof schema>;

const damaged = (path: string, why: string): KeepwarmError =>
  new KeepwarmError("damaged-file", `The model file ${path} cannot be used: ${why}. Download it again.`);

/** Throws "damaged-file" with the key that is wrong. */
export const readGgufVocabulary = (metadata: Readonly<Record<string, unknown>>, path: string): GgufVocabulary => {
  const parsed = v.safeParse(schema, metadata);
  if (!parsed.success) {
    const [issue] = parsed.issues;
    throw damaged(path, `"${v.getDotPath(issue) ?? "its metadata"}" is wrong (${issue.message})`);
  }
  const vocabulary = parsed.output;
  const size = vocabulary["tokenizer.ggml.tokens"].length;
  for (const [key, value] of Object.entries(vocabulary)) {
    if (key.endsWith("_token_id") && typeof value === "number" && value >= size) {
      throw damaged(path, `"${key}" is not a token`);
    }
  }
  for (const key of ["tokenizer.ggml.token_type", "tokenizer.ggml.scores"] as const) {
    const list = vocabulary[key];
    if (list !== undefined && list.length !== size) throw damaged(path, `"${key}" does not fit its tokens`);
  }
  return vocabulary;
};
