import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { KeepwarmError } from "../../src-bun/base/errors.ts";
import { ChatTemplate } from "../../src-bun/model/chat-template.ts";
import { ggufText } from "../../src-bun/model/gguf-text.ts";
import { readGgufVocabulary } from "../../src-bun/model/gguf-vocabulary.ts";
import type { ModelText } from "../../src-bun/model/model-text.ts";
import { openLlama } from "../../src-bun/model/open-llama.ts";
import type { TemplateThread } from "../../src-bun/model/template-thread.ts";
import { TextStream } from "../../src-bun/model/text-stream.ts";
import { ModelTokenizer } from "../../src-bun/model/tokenizer.ts";
import type { TokenizerDescription } from "../../src-bun/model/tokenizer-description.ts";
import { readTokenizerJson } from "../../src-bun/model/tokenizer-json.ts";
import golden from "../golden/tokenizer-kinds.json";
import { templateThread } from "../support/template-worker.ts";
import { testSetup } from "../support/test-setup.ts";

type Encoded = readonly [kind: string, text: string, ids: number[]];
type TokenizerFile = { readonly model: object; readonly decoder: { readonly type: string } };

const files = golden.files as unknown as [string, TokenizerFile][];
const [pieces = []] = golden.tokens as [string[]];
const [merges = []] = golden.merges as [string[][]];
const byId = (tokens: readonly string[]): Record<string, number> =>
  Object.fromEntries(tokens.map((token, id) => [token, id]));

let starter: Record<string, unknown>;
let thread: TemplateThread;

beforeAll(async () => {
  const { metadata, source } = openLlama((await testSetup()).starterModel);
  source[Symbol.dispose]();
  starter = Object.fromEntries(metadata ?? []);
  thread = await templateThread();
});

afterAll(() => thread.close());

const scored = (): ModelText =>
  ggufText(
    readGgufVocabulary(
      {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": pieces,
        "tokenizer.ggml.scores": pieces.map((_, id) => -id),
        // 2: unknown, 3: control, 6: byte, 1: a piece.
        "tokenizer.ggml.token_type": pieces.map((token, id) =>
          id === 0 ? 2 : id < 5 ? 3 : /^<0x/.test(token) ? 6 : 1,
        ),
        "tokenizer.ggml.unknown_token_id": 0,
      },
      "tiny.gguf",
    ),
  );

const describeKind = (kind: string): TokenizerDescription => {
  if (kind === "scores") return scored().tokenizer;
  const file = files.find(([name]) => name === kind)?.[1];
  if (file === undefined) throw new Error(`no golden for ${kind}`);
  const vocabulary =
    file.decoder.type === "ByteLevel"
      ? { vocab: byId(starter["tokenizer.ggml.tokens"] as string[]), merges: starter["tokenizer.ggml.merges"] }
      : { vocab: byId(pieces), merges };
  return readTokenizerJson("tokenizer.json", { ...file, model: { ...file.model, ...vocabulary } }).description;
};

const rowsOf = (rows: unknown, kind: string): Encoded[] => (rows as Encoded[]).filter(([name]) => name === kind);

const streamed = (tokenizer: ModelTokenizer, ids: readonly number[]): string => {
  const stream = new TextStream(tokenizer);
  return ids.map((id) => stream.push(id)).join("") + stream.end();
};

describe.each(files.map(([kind]) => kind))("a tokenizer of the kind %s equals the reference", (kind) => {
  let description: TokenizerDescription;
  let tokenizer: ModelTokenizer;

  beforeAll(() => {
    description = describeKind(kind);
    tokenizer = new ModelTokenizer({ tokenizer: description, endTokens: [] });
  });

  test("text, in which special-looking passages stay text", () => {
    const rows = rowsOf(golden.plain, kind);
    expect(rows.length).toBeGreaterThan(50);
    for (const [, text, ids] of rows) expect([text, tokenizer.encodeText(text)]).toEqual([text, ids]);
  });

  test("special tokens that a template wrote", async () => {
    for (const [, text, ids] of rowsOf(golden.marked, kind)) {
      const template = new ChatTemplate(
        {
          tokenizer: description,
          endTokens: [],
          namedTokens: { written: text },
          beginsWithBos: false,
          template: "{{ written }}",
          toolTemplate: null,
        },
        thread,
      );
      const encoded = await template.encode({ messages: [] }, new AbortController().signal);
      expect([text, [...encoded]]).toEqual([text, ids]);
    }
  });

  test("decoding token by token", () => {
    const different = golden.decoded as unknown as [string, number[], string][];
    for (const [, text, ids] of rowsOf(golden.plain, kind)) {
      const other = different.find(([name, otherIds]) => name === kind && Bun.deepEquals(otherIds, ids));
      expect(streamed(tokenizer, ids)).toBe(other?.[2] ?? text);
    }
  });
});

describe("GGUF pre-tokenizers", () => {
  test.each([
    ["gpt-2", "gpt2"],
    ["llama-bpe", "llama3"],
    ["gpt-4o", "o200k"],
  ])("%s is the kind %s", (pre, kind) => {
    const text = ggufText(readGgufVocabulary({ ...starter, "tokenizer.ggml.pre": pre }, "starter.gguf"));
    const tokenizer = new ModelTokenizer(text);
    for (const [, written, ids] of rowsOf(golden.plain, kind)) expect(tokenizer.encodeText(written)).toEqual(ids);
  });
});

describe("what is not known is refused by name", () => {
  const refusal = (read: () => unknown): string => {
    try {
      read();
    } catch (thrown) {
      if (thrown instanceof KeepwarmError) return `${thrown.code}: ${thrown.message}`;
      throw thrown;
    }
    return "nothing was thrown";
  };
  const changed = (change: object): string =>
    refusal(() => readTokenizerJson("tokenizer.json", { ...files[0]?.[1], ...change }));

  test.each([
    ["model", { model: { type: "Unigram", vocab: [] } }],
    ["BertNormalizer", { normalizer: { type: "BertNormalizer" } }],
    ["Whitespace", { pre_tokenizer: { type: "Whitespace" } }],
    ["MergedWithNext", { pre_tokenizer: { type: "Split", pattern: { Regex: "x" }, behavior: "MergedWithNext" } }],
    ["WordPiece", { decoder: { type: "WordPiece" } }],
    ["decoder", { decoder: null }],
    ["one direction", { pre_tokenizer: null }],
  ])("in a tokenizer.json: %s", (name, change) => {
    expect(changed(change)).toStartWith("unsupported-model: ");
    expect(changed(change)).toContain(name);
  });

  test("in a GGUF: its tokenizer and its pre-tokenizer", () => {
    const of = (change: object): string =>
      refusal(() => ggufText(readGgufVocabulary({ ...starter, ...change }, "starter.gguf")));
    expect(of({ "tokenizer.ggml.model": "bert" })).toContain('unsupported-model: The model\'s tokenizer "bert"');
    expect(of({ "tokenizer.ggml.pre": "constructor" })).toContain('pre-tokenizer "constructor"');
    expect(of({ "tokenizer.ggml.eos_token_id": 1e6 })).toContain("damaged-file");
    expect(of({ "tokenizer.ggml.tokens": [1] })).toContain("damaged-file");
  });
});
