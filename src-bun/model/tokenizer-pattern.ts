// The patterns that cut text before merging, as each family was trained with (their tokenizer.json files).
const letters = "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+";
const contractions = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const rest = " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
const upper = "\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}";
const lower = "\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}";
const ending = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?";

export const patterns = {
  llama3: `${contractions}|${letters}|\\p{N}{1,3}|${rest}`,
  qwen2: `${contractions}|${letters}|\\p{N}|${rest}`,
  o200k: [
    `[^\\r\\n\\p{L}\\p{N}]?[${upper}]*[${lower}]+${ending}`,
    `[^\\r\\n\\p{L}\\p{N}]?[${upper}]+[${lower}]*${ending}`,
    "\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
  ].join("|"),
} as const;

const byteLevel = { type: "ByteLevel", add_prefix_space: false, trim_offsets: true } as const;

export const gpt2 = { ...byteLevel, use_regex: true } as const;

/** Cuts by a pattern, then writes bytes. */
export const cutBy = (pattern: string): object => ({
  type: "Sequence",
  pretokenizers: [
    { type: "Split", pattern: { Regex: pattern }, behavior: "Isolated", invert: false },
    { ...byteLevel, use_regex: false },
  ],
});

// The library's "Digits" cuts ASCII digits only, the reference every Unicode number: these patterns do that.
export const cutDigits = (oneByOne: boolean): object => ({
  type: "Split",
  pattern: { Regex: oneByOne ? "\\p{N}" : "\\p{N}+" },
  behavior: "Isolated",
  invert: false,
});
