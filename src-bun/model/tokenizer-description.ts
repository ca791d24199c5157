/** An entry beside the vocabulary's pieces. */
export type AddedToken = {
  readonly id: number;
  readonly content: string;
  /** Control tokens are no text: an answer does not show them. */
  readonly isControl: boolean;
  /** Takes the blanks before it, or after it, into itself. */
  readonly stripsLeft: boolean;
  readonly stripsRight: boolean;
};

/** How a tokenizer writes bytes: GPT-2's printable characters, or SentencePiece's "▁" and "<0x0A>". */
export type TokenStyle = "byte-level" | "sentence-piece";

/** A tokenizer as its library takes it, with what the library cannot do taken out. */
export type TokenizerDescription = {
  readonly style: TokenStyle;
  /** The library's description; its added tokens are only those that are ordinary text. */
  readonly library: object;
  /** For text that follows a special token, where that makes a difference; null where it makes none. */
  readonly libraryInside: object | null;
  /** By id; a hole is an id that stands for nothing. */
  readonly tokens: readonly (string | undefined)[];
  /** Those that are marks and no text. */
  readonly marks: readonly AddedToken[];
  /** The first blank of a text was put there by the tokenizer. */
  readonly stripsFirstBlank: boolean;
};

const BLANKS = /^[\s▁]+$/u;

/** Gemma lists runs of blanks beside its vocabulary; they are text in anybody's message. */
export const isPlainText = (token: AddedToken): boolean => !token.isControl && BLANKS.test(token.content);

export const asLibraryToken = ({ id, content }: AddedToken): object => ({
  id,
  content,
  special: false,
  normalized: false,
  lstrip: false,
  rstrip: false,
  single_word: false,
});

/**
 * Whether no entry holds "▁" behind another character. Then no merge crosses such a place, and cutting there changes
 * no token; uncut, one merge queue would hold a whole message.
 */
export const mayCutBeforeBlanks = (tokens: Iterable<string | undefined>): boolean => {
  for (const token of tokens) if (token !== undefined && /[^▁]▁/u.test(token)) return false;
  return true;
};

export const cutBeforeBlanks = {
  type: "Split",
  pattern: { Regex: "▁*[^▁]+|▁+" },
  behavior: "Removed",
  invert: true,
} as const;
