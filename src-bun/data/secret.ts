import { createHash, randomBytes, timingSafeEqual } from "node:crypto";

/** 256 random bits that fit a header, a cookie and an address. */
export const makeSecret = (): string => randomBytes(32).toString("base64url");

/** What may be stored of a secret: nobody gets from it to the secret. */
export const hashSecret = (secret: string): string => createHash("sha256").update(secret).digest("hex");

/** Takes equally long wherever the two differ. */
export const isSameSecret = (left: string, right: string): boolean =>
  timingSafeEqual(createHash("sha256").update(left).digest(), createHash("sha256").update(right).digest());
