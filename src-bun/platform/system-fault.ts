import { type ErrorCode, KeepwarmError, messageOf } from "../base/errors.ts";

const codes: Record<string, ErrorCode> = {
  ENOSPC: "no-space",
  EDQUOT: "no-space",
  EFBIG: "no-space",
  EROFS: "read-only",
  EACCES: "read-only",
  EPERM: "read-only",
  ENOENT: "invalid-reference",
  ELOOP: "invalid-reference",
};

const errnoOf = (thrown: unknown): string =>
  thrown instanceof Error && "code" in thrown && typeof thrown.code === "string" ? thrown.code : "";

/** A failed file call under the name Keepwarm has for it. */
export const systemFault = (what: string, cause: unknown, otherwise: ErrorCode = "io-failed"): KeepwarmError =>
  cause instanceof KeepwarmError
    ? cause
    : new KeepwarmError(codes[errnoOf(cause)] ?? otherwise, `${what}: ${messageOf(cause)}`, { cause });
