import type { LlamaConfig } from "./llama-config.ts";
import type { TokenizerDescription } from "./tokenizer-description.ts";

/** Rises when the meaning of kept KV changes without a change of the weights: rounding order, layout, rotary form. */
const COMPUTATION_VERSION = 2;

/** Everything that must be equal for kept KV to be interchangeable. */
export type Computation = {
  /** Of the weights, by `tensorFingerprint`. */
  readonly fingerprint: string;
  readonly tokenizer: TokenizerDescription;
  readonly config: LlamaConfig;
  /** How the format orders the rows that turn together: rotary embeddings then pair other elements. */
  readonly format: "gguf" | "folder";
  /** Products with quantised weights round otherwise than those with weights widened before. */
  readonly keepsQuantized: boolean;
  readonly kvDtype: string;
};

const sorted = (value: unknown): unknown => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, sorted(inner)]),
  );
};

/** 64 hex digits. */
export const namespaceOf = ({ tokenizer, ...rest }: Computation): string => {
  const hash = new Bun.CryptoHasher("sha256");
  hash.update(JSON.stringify([COMPUTATION_VERSION, sorted(rest)]));
  hash.update(JSON.stringify(tokenizer));
  return hash.digest("hex");
};
