// What a GGUF says of its text, as the tokenizer's library and the templates take it.
import { KeepwarmError } from "../base/errors.ts";
import type { GgufVocabulary } from "./gguf-vocabulary.ts";
import type { ModelText } from "./model-text.ts";
import { mergesByScore } from "./sentence-piece-merges.ts";
import {
  type AddedToken,
  asLibraryToken,
  cutBeforeBlanks,
  isPlainText,
  mayCutBeforeBlanks,
  type TokenizerDescription,
} from "./tokenizer-description.ts";
import { cutBy, cutDigits, gpt2, patterns } from "./tokenizer-pattern.ts";

/** GGUF's token types (gguf specification, "tokenizer.ggml.token_type"). */
const tokenTypes = { unknown: 2, control: 3, userDefined: 4, byte: 6 } as const;
const neverMerged: readonly (number | undefined)[] = [tokenTypes.unknown, tokenTypes.control, tokenTypes.byte];

/** By "tokenizer.ggml.pre". */
const preTokenizers: Readonly<Record<string, object>> = {
  "gpt-2": gpt2,
  smollm: { type: "Sequence", pretokenizers: [cutDigits(true), gpt2] },
  "llama-bpe": cutBy(patterns.llama3),
  qwen2: cutBy(patterns.qwen2),
  "gpt-4o": cutBy(patterns.o200k),
};

const unsupported = (what: string): KeepwarmError =>
  new KeepwarmError("unsupported-model", `The model's ${what} is not one that Keepwarm knows.`);

const addedTokens = (vocabulary: GgufVocabulary): AddedToken[] =>
  vocabulary["tokenizer.ggml.tokens"].flatMap((content, id) => {
    const type = vocabulary["tokenizer.ggml.token_type"][id];
    if (content === "" || (type !== tokenTypes.control && type !== tokenTypes.userDefined)) return [];
    return [{ id, content, isControl: type === tokenTypes.control, stripsLeft: false, stripsRight: false }];
  });

const vocabularyOf = (tokens: readonly string[]): Record<string, number> =>
  Object.fromEntries(tokens.map((token, id) => [token, id]));

const byteLevel = (vocabulary: GgufVocabulary): Pick<TokenizerDescription, "library" | "style"> => {
  const name = vocabulary["tokenizer.ggml.pre"] ?? "";
  const preTokenizer = Object.hasOwn(preTokenizers, name) ? preTokenizers[name] : undefined;
  if (preTokenizer === undefined) throw unsupported(`pre-tokenizer "${name}"`);
  return {
    style: "byte-level",
    library: {
      normalizer: null,
      pre_tokenizer: preTokenizer,
      model: {
        type: "BPE",
        vocab: vocabularyOf(vocabulary["tokenizer.ggml.tokens"]),
        merges: vocabulary["tokenizer.ggml.merges"] ?? [],
        ignore_merges: name === "llama-bpe",
      },
    },
  };
};

const scoredPieces = (vocabulary: GgufVocabulary): ReadonlyMap<string, number> => {
  const { "tokenizer.ggml.scores": scores, "tokenizer.ggml.token_type": types } = vocabulary;
  if (scores === undefined) throw unsupported("vocabulary, which has no scores,");
  const pieces = vocabulary["tokenizer.ggml.tokens"].map((piece, id) => ({ piece, id }));
  return new Map(
    pieces.filter(({ id }) => !neverMerged.includes(types[id])).map(({ piece, id }) => [piece, scores[id] ?? 0]),
  );
};

const sentencePiece = (vocabulary: GgufVocabulary): Pick<TokenizerDescription, "library" | "style"> => {
  const tokens = vocabulary["tokenizer.ggml.tokens"];
  const unknown = vocabulary["tokenizer.ggml.unknown_token_id"];
  const blanks = { type: "Replace", pattern: { String: " " }, content: "▁" };
  const prefix = vocabulary["tokenizer.ggml.add_space_prefix"] ?? true;
  return {
    style: "sentence-piece",
    library: {
      normalizer: prefix ? { type: "Sequence", normalizers: [{ type: "Prepend", prepend: "▁" }, blanks] } : blanks,
      pre_tokenizer: mayCutBeforeBlanks(tokens) ? cutBeforeBlanks : null,
      model: {
        type: "BPE",
        vocab: vocabularyOf(tokens),
        merges: mergesByScore(scoredPieces(vocabulary)),
        byte_fallback: true,
        unk_token: unknown === undefined ? null : tokens[unknown],
        fuse_unk: true,
      },
    },
  };
};

const style = (vocabulary: GgufVocabulary): Pick<TokenizerDescription, "library" | "style"> => {
  const model = vocabulary["tokenizer.ggml.model"];
  if (model === "gpt2") return byteLevel(vocabulary);
  if (model === "llama") return sentencePiece(vocabulary);
  throw unsupported(`tokenizer "${model}"`);
};

const describeTokenizer = (vocabulary: GgufVocabulary): TokenizerDescription => {
  const added = addedTokens(vocabulary);
  const { library, style: tokenStyle } = style(vocabulary);
  return {
    style: tokenStyle,
    library: {
      version: "1.0",
      ...library,
      added_tokens: added.filter(isPlainText).map(asLibraryToken),
      post_processor: null,
      decoder: null,
    },
    libraryInside: null,
    tokens: vocabulary["tokenizer.ggml.tokens"],
    marks: added.filter((token) => !isPlainText(token)),
    stripsFirstBlank: tokenStyle === "sentence-piece" && (vocabulary["tokenizer.ggml.add_space_prefix"] ?? true),
  };
};

/** Throws "unsupported-model" with the name of what is not known. */
export const ggufText = (vocabulary: GgufVocabulary): ModelText => {
  const ends = (["eos", "eot", "eom"] as const).map((name) => vocabulary[`tokenizer.ggml.${name}_token_id`]);
  const named = { bos: "bos", eos: "eos", unk: "unknown", pad: "padding" } as const;
  const namedTokens: Record<string, string> = {};
  for (const [short, long] of Object.entries(named) as [string, (typeof named)[keyof typeof named]][]) {
    const content = vocabulary["tokenizer.ggml.tokens"][vocabulary[`tokenizer.ggml.${long}_token_id`] ?? -1];
    if (content !== undefined) namedTokens[`${short}_token`] = content;
  }
  return {
    tokenizer: describeTokenizer(vocabulary),
    endTokens: ends.filter((end) => end !== undefined),
    namedTokens,
    beginsWithBos: vocabulary["tokenizer.ggml.add_bos_token"] ?? vocabulary["tokenizer.ggml.model"] === "llama",
    template: vocabulary["tokenizer.chat_template"] ?? null,
    toolTemplate: vocabulary["tokenizer.chat_template.tool_use"] ?? null,
  };
};
