import { folderText } from "./folder-text.ts";
import { ggufText } from "./gguf-text.ts";
import { readGgufVocabulary } from "./gguf-vocabulary.ts";
import { damagedModel } from "./model-faults.ts";
import type { ModelText } from "./model-text.ts";
import type { OpenedLlama } from "./open-llama.ts";

/** A token without a row in the embedding must never reach it: marks beyond are forgotten, a piece beyond is a fault. */
const fitted = (text: ModelText, vocabularySize: number, path: string): ModelText => {
  const { tokens, marks } = text.tokenizer;
  if (tokens.length > vocabularySize) {
    throw damagedModel(path, `its tokenizer has ${tokens.length} tokens, but its weights know ${vocabularySize}`);
  }
  return {
    ...text,
    tokenizer: { ...text.tokenizer, marks: marks.filter(({ id }) => id < vocabularySize) },
    endTokens: text.endTokens.filter((id) => id < vocabularySize),
  };
};

/**
 * What an opened model's files say of its text. Throws "damaged-file" or "unsupported-model" with the file and the
 * reason.
 */
export const openText = ({ config, metadata }: OpenedLlama, path: string): ModelText => {
  const text = metadata === null ? folderText(path) : ggufText(readGgufVocabulary(Object.fromEntries(metadata), path));
  return fitted(text, config.vocabularySize, path);
};
