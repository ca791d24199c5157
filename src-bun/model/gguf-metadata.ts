// What a GGUF file says of its model, for whoever needs no weights.
import type { GgufMetadata } from "./gguf-header.ts";
import { ggufText } from "./gguf-text.ts";
import { readGgufVocabulary } from "./gguf-vocabulary.ts";
import type { LlamaConfig } from "./llama-config.ts";
import { unsupportedModel } from "./model-faults.ts";
import type { ModelText } from "./model-text.ts";
import { openLlama } from "./open-llama.ts";

export type GgufModel = {
  readonly config: LlamaConfig;
  readonly text: ModelText;
};

/** Throws "unsupported-model" for a tokenizer that Keepwarm does not know. */
export const readGgufText = (metadata: GgufMetadata | null, path: string): ModelText => {
  if (metadata === null) throw unsupportedModel(path, "it is a folder, and its tokenizer is not read");
  return ggufText(readGgufVocabulary(Object.fromEntries(metadata), path));
};

/** Throws "damaged-file" for what is no whole GGUF, "unsupported-model" for another architecture or tokenizer. */
export const readGgufModel = (path: string): GgufModel => {
  const { config, metadata, source } = openLlama(path);
  using _files = source;
  return { config, text: readGgufText(metadata, path) };
};
