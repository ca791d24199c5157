// The one place where Keepwarm's errors become HTTP: a status, and the body that OpenAI's clients know.
import { type ErrorCode, KeepwarmError, messageOf } from "../base/errors.ts";

/** Nobody reads it: the client is gone. Known from nginx. */
const CLIENT_CLOSED_REQUEST = 499;

const statuses: Partial<Record<ErrorCode, number>> = {
  "bad-request": 400,
  busy: 503,
  cancelled: CLIENT_CLOSED_REQUEST,
  "context-exceeded": 400,
  forbidden: 403,
  "not-found": 404,
  "not-ready": 503,
  "template-failed": 400,
  "too-large": 413,
  unauthorized: 401,
  "unknown-model": 404,
  "wrong-media-type": 415,
};

/** The codes that OpenAI's own clients look for. */
const openAiCodes: Partial<Record<ErrorCode, string>> = {
  "context-exceeded": "context_length_exceeded",
  unauthorized: "invalid_api_key",
  "unknown-model": "model_not_found",
};

const RETRY_AFTER_SECONDS = 2;

const statusOf = (thrown: unknown): number => (thrown instanceof KeepwarmError ? (statuses[thrown.code] ?? 500) : 500);

/** Returns whether Keepwarm is to blame, and somebody should read about it in the log. */
export const isFault = (thrown: unknown): boolean => statusOf(thrown) === 500;

export type OpenAiError = {
  readonly error: {
    readonly message: string;
    readonly type: "invalid_request_error" | "server_error";
    readonly param: null;
    readonly code: string;
  };
};

export const openAiError = (thrown: unknown): OpenAiError => ({
  error: {
    message: thrown instanceof KeepwarmError ? thrown.message : `Keepwarm made a mistake: ${messageOf(thrown)}`,
    type: statusOf(thrown) < 500 ? "invalid_request_error" : "server_error",
    param: null,
    code: thrown instanceof KeepwarmError ? (openAiCodes[thrown.code] ?? thrown.code) : "internal",
  },
});

export const errorResponse = (thrown: unknown): Response => {
  const status = statusOf(thrown);
  const headers: Record<string, string> = {};
  if (status === 503) headers["Retry-After"] = String(RETRY_AFTER_SECONDS);
  if (status === 401) headers["WWW-Authenticate"] = "Bearer";
  return Response.json(openAiError(thrown), { status, headers });
};
