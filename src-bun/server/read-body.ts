import { KeepwarmError } from "../base/errors.ts";

/** Room for pictures. */
export const MAX_BODY_BYTES = 32 * 2 ** 20;

/** Reads a body whose length nobody announced, or announced wrongly, and stops where it grows too large. */
export const readBody = async (request: Request): Promise<Uint8Array> => {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of request.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > MAX_BODY_BYTES)
      throw new KeepwarmError(
        "too-large",
        `The body is larger than ${MAX_BODY_BYTES / 2 ** 20} MiB. Send less at once.`,
      );
    chunks.push(chunk);
  }
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
};
