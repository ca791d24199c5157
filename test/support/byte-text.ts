// A model's text with one token for each byte, so that what a template wrote can be read off the ids.
import type { ModelText } from "../../src-bun/model/model-text.ts";

export const BYTES = 256;
export const marks = ["<|im_start|>", "<|im_end|>", "<think>", "</think>", "<s>"];

/** One token for each byte, and the marks. */
export const byteText = (change: Partial<ModelText> = {}): ModelText => {
  const tokens = Array.from({ length: BYTES }, (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`);
  return {
    tokenizer: {
      style: "sentence-piece",
      library: {
        normalizer: null,
        pre_tokenizer: { type: "Split", pattern: { String: "\n" }, behavior: "Isolated", invert: false },
        post_processor: null,
        decoder: null,
        added_tokens: [],
        model: {
          type: "BPE",
          vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
          merges: [],
          byte_fallback: true,
        },
      },
      libraryInside: null,
      tokens,
      marks: marks.map((content, index) => ({
        id: BYTES + index,
        content,
        isControl: true,
        stripsLeft: content === "<s>",
        stripsRight: content === "<s>",
      })),
      stripsFirstBlank: false,
    },
    endTokens: [],
    namedTokens: { bos_token: "<s>" },
    beginsWithBos: false,
    template: "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>{% endfor %}",
    toolTemplate: null,
    ...change,
  };
};
