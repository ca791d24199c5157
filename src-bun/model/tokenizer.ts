// Text to token ids and back, byte for byte as the model was trained.
import { Tokenizer } from "@huggingface/tokenizers";
import { KeepwarmError } from "../base/errors.ts";
import type { GgufVocabulary } from "./gguf-metadata.ts";
import { tokenBytes } from "./token-bytes.ts";

/** GGUF's token types (gguf specification, "tokenizer.ggml.token_type"). */
const CONTROL = 3;
const USER_DEFINED = 4;

// The library's "Digits" splits ASCII digits only, the reference every Unicode number: this pattern does that.
const preTokenizers: Readonly<Record<string, object>> = {
  smollm: {
    type: "Sequence",
    pretokenizers: [
      { type: "Split", pattern: { Regex: "\\p{N}" }, behavior: "Isolated", invert: false },
      { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: true },
    ],
  },
};

type AddedToken = { readonly id: number; readonly content: string; readonly special: boolean };

const addedTokens = (vocabulary: GgufVocabulary): AddedToken[] =>
  vocabulary.tokens.flatMap((content, id) => {
    const type = vocabulary.tokenTypes[id];
    return type === CONTROL || type === USER_DEFINED ? [{ id, content, special: type === CONTROL }] : [];
  });

const build = (vocabulary: GgufVocabulary): Tokenizer => {
  const preTokenizer = preTokenizers[vocabulary.preTokenizer];
  if (preTokenizer === undefined) {
    throw new KeepwarmError(
      "unsupported-model",
      `The model's pre-tokenizer "${vocabulary.preTokenizer}" is not one that Keepwarm knows.`,
    );
  }
  return new Tokenizer(
    {
      version: "1.0",
      normalizer: null,
      pre_tokenizer: preTokenizer,
      post_processor: null,
      decoder: { type: "ByteLevel", add_prefix_space: true, trim_offsets: true, use_regex: true },
      added_tokens: [],
      model: {
        type: "BPE",
        vocab: Object.fromEntries(vocabulary.tokens.map((token, id) => [token, id])),
        merges: vocabulary.merges,
      },
    },
    { clean_up_tokenization_spaces: false },
  );
};

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

export class ModelTokenizer {
  readonly endTokens: ReadonlySet<number>;
  /** Finds special tokens in text that a template produced; longest first, null where the model has none. */
  readonly specialPattern: RegExp | null;
  readonly #tokenizer: Tokenizer;
  readonly #vocabulary: GgufVocabulary;
  readonly #specialIds: ReadonlyMap<string, number>;
  readonly #controlIds: ReadonlySet<number>;

  constructor(vocabulary: GgufVocabulary) {
    const added = addedTokens(vocabulary);
    this.#vocabulary = vocabulary;
    this.#tokenizer = build(vocabulary);
    this.#specialIds = new Map(added.map(({ content, id }) => [content, id]));
    this.#controlIds = new Set(added.filter(({ special }) => special).map(({ id }) => id));
    this.endTokens = new Set(vocabulary.endTokens);
    const longestFirst = added.map(({ content }) => content).sort((a, b) => b.length - a.length);
    this.specialPattern = longestFirst.length === 0 ? null : new RegExp(longestFirst.map(escaped).join("|"), "gu");
  }

  /** The id of a special token written out, such as "<|im_end|>". */
  specialId(token: string): number {
    const id = this.#specialIds.get(token);
    if (id === undefined) throw new RangeError(`"${token}" is no special token of this model`);
    return id;
  }

  /** Ids of text in which special-looking passages are ordinary text. */
  encodeText(text: string): number[] {
    if (text === "") return [];
    // A lone surrogate has no bytes; the replacement character is what any encoder writes for it.
    return this.#tokenizer.encode(text.toWellFormed(), { add_special_tokens: false }).ids;
  }

  /** The bytes a token stands for; null for a control token, which is no text. */
  bytesOf(id: number): Uint8Array | null {
    if (this.#controlIds.has(id)) return null;
    const token = this.#vocabulary.tokens[id];
    if (token === undefined) throw new RangeError(`token ${id} is beyond the vocabulary`);
    return this.#specialIds.has(token) ? new TextEncoder().encode(token) : tokenBytes(token);
  }
}
