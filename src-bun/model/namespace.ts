import { createReadStream } from "node:fs";

/** Rises when the meaning of kept KV changes without a change of the weights: rounding order, layout, rotary form. */
const COMPUTATION_VERSION = 1;

/**
 * Identifies everything that must be equal for kept KV to be interchangeable: every byte of the model file (weights,
 * tokenizer and settings), the element type of the KV and the version of the computation. 64 hex digits.
 */
export const namespaceOf = async (modelPath: string, kvDtype: string): Promise<string> => {
  const hash = new Bun.CryptoHasher("sha256");
  hash.update(`keepwarm computation ${COMPUTATION_VERSION} ${kvDtype}\n`);
  for await (const chunk of createReadStream(modelPath, { highWaterMark: 1 << 20 })) hash.update(chunk);
  return hash.digest("hex");
};
