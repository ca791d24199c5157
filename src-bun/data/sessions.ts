// The browsers that were let in, by the hash of their cookie; they stay in over a restart of the host.
import * as v from "valibot";
import { KeepwarmError } from "../base/errors.ts";
import { findPrivateText, putPrivateText } from "./private-file.ts";
import { hashSecret, makeSecret } from "./secret.ts";

export const SESSION_LIFETIME_MS = 90 * 24 * 60 * 60 * 1000;
/** More browsers than one person has; the oldest leaves first. */
const MAX_SESSIONS = 32;

const fileSchema = v.object({
  version: v.literal(1),
  sessions: v.array(v.object({ hash: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)), expiresAtMs: v.number() })),
});
type Stored = v.InferOutput<typeof fileSchema>["sessions"];

const readSessions = (path: string): Stored => {
  const text = findPrivateText(path);
  if (text === null) return [];
  try {
    return v.parse(fileSchema, JSON.parse(text)).sessions;
  } catch (cause) {
    throw new KeepwarmError(
      "damaged-file",
      `${path} is damaged. Delete it and start Keepwarm again; open pages then need a fresh link.`,
      { cause },
    );
  }
};

export type Sessions = {
  /** Returns the secret for a new browser's cookie; only its hash is kept. */
  create(): string;
  has(secret: string): boolean;
};

/** `nowMs` is the wall clock, because a session outlives the process. */
export const openSessions = (path: string, nowMs: () => number): Sessions => {
  let sessions = readSessions(path);
  return {
    create() {
      const secret = makeSecret();
      const living = sessions.filter((session) => session.expiresAtMs > nowMs()).slice(1 - MAX_SESSIONS);
      const next = [...living, { hash: hashSecret(secret), expiresAtMs: nowMs() + SESSION_LIFETIME_MS }];
      putPrivateText(path, `${JSON.stringify({ version: 1, sessions: next })}\n`);
      sessions = next;
      return secret;
    },
    has(secret) {
      const hash = hashSecret(secret);
      return sessions.some((session) => session.hash === hash && session.expiresAtMs > nowMs());
    },
  };
};
