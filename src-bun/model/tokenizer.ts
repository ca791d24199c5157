// Text to token ids and back, byte for byte as the model was trained.
import { Tokenizer } from "@huggingface/tokenizers";
import { tokenBytes } from "./token-bytes.ts";
import type { AddedToken, TokenizerDescription } from "./tokenizer-description.ts";

const open = (library: object): Tokenizer => new Tokenizer(library, { clean_up_tokenization_spaces: false });

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** Longest first, as the reference finds them; the first characters let most places be passed at once. */
const findAll = (marks: readonly AddedToken[]): RegExp | null => {
  if (marks.length === 0) return null;
  const longestFirst = marks.map(({ content }) => content).sort((a, b) => b.length - a.length);
  const firsts = new Set(longestFirst.map((content) => escaped(String.fromCodePoint(content.codePointAt(0) ?? 0))));
  return new RegExp(`(?=${[...firsts].join("|")})(?:${longestFirst.map(escaped).join("|")})`, "gu");
};

export class ModelTokenizer {
  /** Finds special tokens in text that a template wrote; null where the model has none. */
  readonly specialPattern: RegExp | null;
  readonly endTokens: ReadonlySet<number>;
  readonly #description: TokenizerDescription;
  /** Opened when text is first encoded: whoever only decodes needs neither. */
  #outside: Tokenizer | null = null;
  #inside: Tokenizer | null = null;
  readonly #marks: ReadonlyMap<string, AddedToken>;
  readonly #markIds: ReadonlyMap<number, AddedToken>;

  constructor({
    tokenizer: description,
    endTokens,
  }: {
    readonly tokenizer: TokenizerDescription;
    readonly endTokens: readonly number[];
  }) {
    this.#description = description;
    this.#marks = new Map(description.marks.map((mark) => [mark.content, mark]));
    this.#markIds = new Map(description.marks.map((mark) => [mark.id, mark]));
    this.specialPattern = findAll(description.marks);
    this.endTokens = new Set(endTokens);
  }

  /** Whether the first blank of an answer is the tokenizer's and no text. */
  get stripsFirstBlank(): boolean {
    return this.#description.stripsFirstBlank;
  }

  /** The special token written out so, such as "<|im_end|>". */
  special(content: string): AddedToken {
    const mark = this.#marks.get(content);
    if (mark === undefined) throw new RangeError(`"${content}" is no special token of this model`);
    return mark;
  }

  /** The id of a special token written out, such as "<|im_end|>". */
  specialId(content: string): number {
    return this.special(content).id;
  }

  /** Ids of text in which special-looking passages are ordinary text. `isInside`: a special token stands before it. */
  encodeText(text: string, isInside = false): number[] {
    if (text === "") return [];
    // A lone surrogate has no bytes; the replacement character is what any encoder writes for it.
    return this.#library(isInside).encode(text.toWellFormed(), { add_special_tokens: false }).ids;
  }

  /** The bytes a token stands for, none for an id without an entry; null for a control token, which is no text. */
  bytesOf(id: number): Uint8Array | null {
    const mark = this.#markIds.get(id);
    if (mark !== undefined) return mark.isControl ? null : new TextEncoder().encode(mark.content);
    return tokenBytes(this.#description.tokens[id] ?? "", this.#description.style);
  }

  /** Makes ready what encodes text. Throws what the library throws at a description that it does not take. */
  prepare(): void {
    for (const isInside of [false, true]) this.#library(isInside);
  }

  #library(isInside: boolean): Tokenizer {
    const { library, libraryInside } = this.#description;
    if (isInside && libraryInside !== null) {
      this.#inside ??= open(libraryInside);
      return this.#inside;
    }
    this.#outside ??= open(library);
    return this.#outside;
  }
}
