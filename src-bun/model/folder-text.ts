// What a model folder says of its text: tokenizer.json, tokenizer_config.json, the configs' end tokens, the templates.
import { existsSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { messageOf } from "../base/errors.ts";
import { damagedModel } from "./model-faults.ts";
import { ModelFile } from "./model-file.ts";
import type { ModelText } from "./model-text.ts";
import { readTokenizerJson } from "./tokenizer-json.ts";

/** Several times the largest that are known. */
const MAX_TOKENIZER_BYTES = 128 << 20;
const MAX_TEXT_BYTES = 8 << 20;

const readText = (path: string, maxBytes: number): string => {
  using file = ModelFile.open(path);
  if (file.sizeBytes > maxBytes) {
    throw damagedModel(path, `it has ${file.sizeBytes} bytes, and no such file needs more than ${maxBytes}`);
  }
  const bytes = new Uint8Array(file.sizeBytes);
  file.read(bytes, 0);
  return new TextDecoder().decode(bytes);
};

const readJson = (path: string, maxBytes: number): unknown => {
  const text = readText(path, maxBytes);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw damagedModel(path, `its JSON is not sound (${messageOf(cause)})`, cause);
  }
};

const readIfThere = <Schema extends v.GenericSchema>(path: string, schema: Schema): v.InferOutput<Schema> | null => {
  if (!existsSync(path)) return null;
  const parsed = v.safeParse(schema, readJson(path, MAX_TEXT_BYTES));
  if (parsed.success) return parsed.output;
  const [issue] = parsed.issues;
  throw damagedModel(path, `"${v.getDotPath(issue) ?? "its content"}" is wrong (${issue.message})`);
};

const named = v.nullish(
  v.union([
    v.string(),
    v.pipe(
      v.object({ content: v.string() }),
      v.transform((one) => one.content),
    ),
  ]),
);
const template = v.nullish(v.union([v.string(), v.array(v.object({ name: v.string(), template: v.string() }))]));

const configSchema = v.object({
  add_bos_token: v.nullish(v.boolean()),
  bos_token: named,
  eos_token: named,
  unk_token: named,
  pad_token: named,
  chat_template: template,
});
const templateFileSchema = v.object({ chat_template: template });

const id = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const endsSchema = v.object({ eos_token_id: v.nullish(v.union([id, v.array(id)])) });

type Templates = { readonly template: string | null; readonly toolTemplate: string | null };

const none: Templates = { template: null, toolTemplate: null };

const choose = (given: v.InferOutput<typeof template>): Templates => {
  if (typeof given === "string") return { template: given, toolTemplate: null };
  const find = (name: string): string | null => given?.find((one) => one.name === name)?.template ?? null;
  return { template: find("default"), toolTemplate: find("tool_use") };
};

/** A file of its own goes before what the configuration holds. */
const readTemplates = (folder: string, config: v.InferOutput<typeof configSchema> | null): Templates => {
  const path = join(folder, "chat_template.jinja");
  if (existsSync(path)) return { ...none, template: readText(path, MAX_TEXT_BYTES) };
  const file = readIfThere(join(folder, "chat_template.json"), templateFileSchema);
  return choose(file?.chat_template ?? config?.chat_template);
};

const endTokens = (folder: string, eos: number | undefined): number[] => {
  const files = ["config.json", "generation_config.json"].map((name) => readIfThere(join(folder, name), endsSchema));
  const ids = files.flatMap((file) => file?.eos_token_id ?? []);
  return [...new Set(eos === undefined ? ids : [...ids, eos])];
};

/** Throws "damaged-file" or "unsupported-model" with the file and the reason. */
export const folderText = (folder: string): ModelText => {
  const path = join(folder, "tokenizer.json");
  const { description, firstToken } = readTokenizerJson(path, readJson(path, MAX_TOKENIZER_BYTES));
  const config = readIfThere(join(folder, "tokenizer_config.json"), configSchema);
  const { bos_token: bos, eos_token: eos, unk_token: unk, pad_token: pad } = config ?? {};
  const all = { bos_token: bos, eos_token: eos, unk_token: unk, pad_token: pad };
  const namedTokens = Object.entries(all).filter((pair): pair is [string, string] => typeof pair[1] === "string");
  return {
    tokenizer: description,
    endTokens: endTokens(folder, description.marks.find(({ content }) => content === eos)?.id),
    namedTokens: Object.fromEntries(namedTokens),
    beginsWithBos: config?.add_bos_token ?? (firstToken !== null && firstToken === bos),
    ...readTemplates(folder, config),
  };
};
