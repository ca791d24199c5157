// A tokenizer.json (the format of `tokenizers`), checked part by part: what its library would do otherwise than the
// reference is rewritten, and what neither can be, refused by name.
import * as v from "valibot";
import { unsupportedModel } from "./model-faults.ts";
import {
  type AddedToken,
  asLibraryToken,
  cutBeforeBlanks,
  isPlainText,
  mayCutBeforeBlanks,
  type TokenizerDescription,
} from "./tokenizer-description.ts";
import { type Decoding, readDecoder } from "./tokenizer-json-decoder.ts";
import { readNormalizer, readPreTokenizer } from "./tokenizer-json-steps.ts";

const id = v.pipe(v.number(), v.safeInteger(), v.minValue(0), v.maxValue(1 << 24));
const flag = v.optional(v.boolean(), false);

const addedSchema = v.object({
  id,
  content: v.pipe(v.string(), v.minLength(1)),
  special: flag,
  lstrip: flag,
  rstrip: flag,
  single_word: flag,
});

const modelSchema = v.object({
  type: v.optional(v.literal("BPE"), "BPE"),
  vocab: v.custom<Record<string, number>>(
    (value) =>
      typeof value === "object" &&
      value !== null &&
      Object.values(value).every((one) => Number.isSafeInteger(one) && one >= 0 && one <= 1 << 24),
    "the vocabulary is no list of ids",
  ),
  merges: v.custom<readonly (string | readonly [string, string])[]>(
    (value) =>
      Array.isArray(value) &&
      value.every((one) => (Array.isArray(one) ? one.length === 2 : typeof one === "string" && one.includes(" "))),
    "the merges are no pairs",
  ),
  dropout: v.nullish(v.literal(0)),
  unk_token: v.nullish(v.string(), null),
  continuing_subword_prefix: v.nullish(v.literal("")),
  end_of_word_suffix: v.nullish(v.literal("")),
  fuse_unk: flag,
  byte_fallback: flag,
  ignore_merges: flag,
});

const fileSchema = v.object({
  added_tokens: v.optional(v.array(addedSchema), []),
  normalizer: v.nullish(v.unknown(), null),
  pre_tokenizer: v.nullish(v.unknown(), null),
  post_processor: v.nullish(v.unknown(), null),
  decoder: v.nullish(v.unknown(), null),
  model: modelSchema,
});

type TokenizerFile = v.InferOutput<typeof fileSchema>;

export type TokenizerJson = {
  readonly description: TokenizerDescription;
  /** The first token that the file's own template puts before a text; null where it puts none. */
  readonly firstToken: string | null;
};

const tokensOf = (vocab: Record<string, number>, added: readonly AddedToken[]): (string | undefined)[] => {
  const tokens: (string | undefined)[] = [];
  for (const { id: index, content } of added.filter(isPlainText)) tokens[index] = content;
  for (const [token, index] of Object.entries(vocab)) tokens[index] = token;
  return tokens;
};

const readAdded = (path: string, file: TokenizerFile): AddedToken[] =>
  file.added_tokens.map(({ id: index, content, special, lstrip, rstrip, single_word: isWord }) => {
    if (isWord) throw unsupportedModel(path, `its token "${content}" must stand alone as a word`);
    return { id: index, content, isControl: special, stripsLeft: lstrip, stripsRight: rstrip };
  });

const describe = (path: string, file: TokenizerFile, decoding: Decoding): TokenizerDescription => {
  const { style } = decoding;
  const added = readAdded(path, file);
  const tokens = tokensOf(file.model.vocab, added);
  const normalizer = readNormalizer(path, file.normalizer);
  const cut = style === "sentence-piece" && mayCutBeforeBlanks(tokens) ? cutBeforeBlanks : null;
  const step = readPreTokenizer(path, file.pre_tokenizer);
  if ((style === "byte-level") !== step.writesBytes) {
    throw unsupportedModel(path, "it writes bytes in one direction only");
  }
  const build = (preTokenizer: object | null): object => ({
    version: "1.0",
    normalizer,
    pre_tokenizer: join(preTokenizer, cut),
    post_processor: null,
    decoder: null,
    added_tokens: added.filter(isPlainText).map(asLibraryToken),
    model: file.model,
  });
  return {
    style,
    library: build(step.first),
    libraryInside: step.inside === step.first ? null : build(step.inside),
    tokens,
    marks: added.filter((token) => !isPlainText(token)),
    stripsFirstBlank: decoding.stripsFirstBlank,
  };
};

const join = (step: object | null, cut: object | null): object | null =>
  step === null || cut === null ? (step ?? cut) : { type: "Sequence", pretokenizers: [step, cut] };

const firstTokenSchema = v.object({
  type: v.literal("TemplateProcessing"),
  single: v.looseTuple([v.object({ SpecialToken: v.object({ id: v.string() }) })]),
});
const sequenceSchema = v.object({ type: v.literal("Sequence"), processors: v.array(v.unknown()) });

const firstTokenOf = (processor: unknown): string | null => {
  const sequence = v.safeParse(sequenceSchema, processor);
  if (sequence.success) return sequence.output.processors.map(firstTokenOf).find((token) => token !== null) ?? null;
  const parsed = v.safeParse(firstTokenSchema, processor);
  return parsed.success ? parsed.output.single[0].SpecialToken.id : null;
};

/** Throws "unsupported-model" with the name of the part that cannot be done. */
export const readTokenizerJson = (path: string, value: unknown): TokenizerJson => {
  const parsed = v.safeParse(fileSchema, value);
  if (!parsed.success) {
    const [issue] = parsed.issues;
    throw unsupportedModel(path, `its "${v.getDotPath(issue) ?? "content"}" is not known here (${issue.message})`);
  }
  const decoding = readDecoder(path, parsed.output.decoder);
  return {
    description: describe(path, parsed.output, decoding),
    firstToken: firstTokenOf(parsed.output.post_processor),
  };
};
