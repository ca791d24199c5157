import { afterEach, beforeEach, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { folderText } from "../../src-bun/model/folder-text.ts";
import { TemporaryFolder } from "../support/temporary-folder.ts";

let folder: TemporaryFolder;

const write = (name: string, value: unknown): void =>
  writeFileSync(join(folder.path, name), typeof value === "string" ? value : JSON.stringify(value));

const tokenizerFile = {
  version: "1.0",
  added_tokens: [
    { id: 2, content: "<s>", special: true },
    { id: 3, content: "</s>", special: true },
  ],
  normalizer: null,
  pre_tokenizer: { type: "ByteLevel", add_prefix_space: false, use_regex: true },
  post_processor: null,
  decoder: { type: "ByteLevel" },
  model: { type: "BPE", vocab: { a: 0, b: 1 }, merges: [] },
};

beforeEach(() => {
  folder = new TemporaryFolder();
  write("tokenizer.json", tokenizerFile);
});

afterEach(() => folder[Symbol.dispose]());

test("tokenizer.json alone is enough", () => {
  expect(folderText(folder.path)).toMatchObject({
    endTokens: [],
    namedTokens: {},
    beginsWithBos: false,
    template: null,
    toolTemplate: null,
  });
});

test("every end token that a file names ends an answer", () => {
  write("config.json", { model_type: "llama", eos_token_id: 7 });
  write("generation_config.json", { eos_token_id: [8, 7, 9] });
  write("tokenizer_config.json", { eos_token: { content: "</s>" } });
  expect(folderText(folder.path).endTokens).toEqual([7, 8, 9, 3]);
});

test("named tokens are texts or objects; null is none", () => {
  write("tokenizer_config.json", { bos_token: "<s>", eos_token: { content: "</s>", lstrip: false }, pad_token: null });
  expect(folderText(folder.path).namedTokens).toEqual({ bos_token: "<s>", eos_token: "</s>" });
});

test("a text begins with bos_token where the configuration or the tokenizer's own template says so", () => {
  const first = [{ SpecialToken: { id: "<s>", type_id: 0 } }, { Sequence: { id: "A", type_id: 0 } }];
  const processor = { type: "TemplateProcessing", single: first, pair: [] };
  write("tokenizer.json", { ...tokenizerFile, post_processor: { type: "Sequence", processors: [processor] } });
  write("tokenizer_config.json", { bos_token: "<s>" });
  expect(folderText(folder.path).beginsWithBos).toBe(true);
  write("tokenizer_config.json", { bos_token: "<s>", add_bos_token: false });
  expect(folderText(folder.path).beginsWithBos).toBe(false);
});

test("chat_template.jinja goes before chat_template.json, and that before the configuration", () => {
  const template = (): string | null => folderText(folder.path).template;
  write("tokenizer_config.json", { chat_template: "of the configuration" });
  expect(template()).toBe("of the configuration");
  write("chat_template.json", { chat_template: "of the JSON" });
  expect(template()).toBe("of the JSON");
  write("chat_template.jinja", "of its own\n");
  expect(template()).toBe("of its own\n");
});

test("of several named templates, default and tool_use count", () => {
  const named = ["rag", "default", "tool_use"].map((name) => ({ name, template: `for ${name}` }));
  write("tokenizer_config.json", { chat_template: named });
  expect(folderText(folder.path)).toMatchObject({ template: "for default", toolTemplate: "for tool_use" });
});

test("a file that is damaged is named", () => {
  write("tokenizer_config.json", { chat_template: 7 });
  expect(() => folderText(folder.path)).toThrow("tokenizer_config.json");
  write("tokenizer_config.json", "{");
  expect(() => folderText(folder.path)).toThrow("its JSON is not sound");
  write("tokenizer.json", { ...tokenizerFile, model: { ...tokenizerFile.model, vocab: { a: -1 } } });
  expect(() => folderText(folder.path)).toThrow("tokenizer.json");
});
