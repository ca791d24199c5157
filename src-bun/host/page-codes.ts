// The single-use codes that let a browser in. They live in memory: a restart ends them.
import { hashSecret, makeSecret } from "../data/secret.ts";

export const CODE_LIFETIME_MS = 10 * 60 * 1000;

export type PageCodes = {
  create(): string;
  /** Returns whether it was good; it is not good a second time. */
  redeem(code: string): boolean;
};

/** `nowMs` never jumps back. */
export const openPageCodes = (nowMs: () => number): PageCodes => {
  const expiresAtMs = new Map<string, number>();
  const forgetExpired = (): void => {
    for (const [hash, at] of expiresAtMs) if (at <= nowMs()) expiresAtMs.delete(hash);
  };
  return {
    create() {
      forgetExpired();
      const code = makeSecret();
      expiresAtMs.set(hashSecret(code), nowMs() + CODE_LIFETIME_MS);
      return code;
    },
    redeem(code) {
      forgetExpired();
      return expiresAtMs.delete(hashSecret(code));
    },
  };
};
