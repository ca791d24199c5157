import type { TokenizerDescription } from "./tokenizer-description.ts";

/** What a model's files say of its text, whichever format they have. */
export type ModelText = {
  readonly tokenizer: TokenizerDescription;
  /** Any of them ends an answer. */
  readonly endTokens: readonly number[];
  /** By the names that templates use: bos_token, eos_token, unk_token, pad_token. */
  readonly namedTokens: Readonly<Record<string, string>>;
  /** A prompt without a template begins with bos_token. */
  readonly beginsWithBos: boolean;
  /** Null where the model has none. */
  readonly template: string | null;
  /** The one for requests with tools, where the model has one apart. */
  readonly toolTemplate: string | null;
};
