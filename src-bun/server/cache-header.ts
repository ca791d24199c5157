// "x-keepwarm-cache": what is to become of a prompt, in a header, because no dialect has a field for it.
import { KeepwarmError } from "../base/errors.ts";
import type { KeepWish } from "../contract/engine.ts";

export const CACHE_HEADER = "x-keepwarm-cache";

/** 30 days: longer than anything stays. */
const MAX_TTL_SECONDS = 30 * 24 * 3600;

const refused = (): KeepwarmError =>
  new KeepwarmError(
    "bad-request",
    `The header "${CACHE_HEADER}" must be "no-store" or "ttl=SECONDS", with a whole number of seconds from 1 to ${MAX_TTL_SECONDS}.`,
  );

/** Strict: a client that asks for its prompt not to be kept must not be misread. Throws "bad-request". */
export const parseCacheHeader = (value: string | null): Pick<KeepWish, "noStore" | "ttlSeconds"> => {
  if (value === null) return {};
  if (value === "no-store") return { noStore: true };
  const ttlSeconds = Number(/^ttl=([1-9]\d{0,7})$/.exec(value)?.[1]);
  if (!(ttlSeconds <= MAX_TTL_SECONDS)) throw refused();
  return { ttlSeconds };
};
