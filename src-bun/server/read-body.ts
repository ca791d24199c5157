import { KeepwarmError } from "../base/errors.ts";

/** Room for pictures. */
const MAX_BODY_BYTES = 32 * 2 ** 20;
/**
 * Up to here a body that is too large is read all the same, and let go: an answer that comes before its end leaves some
 * clients with a connection that is of no use to their next request.
 */
const MAX_READ_BYTES = 2 * MAX_BODY_BYTES;

/**
 * Returns the whole body, whether or not its length was announced, in the pieces in which it came: joining 32 MiB would
 * stall the main thread. Throws "too-large".
 */
export const readBody = async (request: Request, maxBytes = MAX_BODY_BYTES): Promise<readonly Uint8Array[]> => {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of request.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes <= maxBytes) chunks.push(chunk);
    else chunks.length = 0;
    if (bytes > MAX_READ_BYTES) break;
  }
  if (bytes > maxBytes)
    throw new KeepwarmError("too-large", `The body is larger than ${maxBytes / 2 ** 20} MiB. Send less at once.`);
  return chunks;
};
