// The one gate in front of every route. What it lets pass comes from this computer, from a page of ours or from no page
// at all, and holds what the route asks for. A route that is not named here asks for the API token.
import type { MiddlewareHandler } from "hono";
import { KeepwarmError } from "../base/errors.ts";
import { isSameSecret } from "../data/secret.ts";

/** "session": the cookie of a page that was let in. */
export type Access = "free" | "session" | "token";

export type GuardOptions = {
  readonly port: number;
  readonly apiToken: string;
  readonly hasSession: (secret: string) => boolean;
};

/** Cookies know no ports: the name keeps two copies of Keepwarm apart. */
export const sessionCookie = (port: number): string => `keepwarm_${port}`;

const exceptions: Readonly<Record<string, Access>> = {
  "GET /": "free",
  "GET /health": "free",
  "POST /session": "free",
  "GET /session": "session",
  "GET /ws": "session",
};

export const accessOf = (method: string, path: string): Access => {
  const verb = method === "HEAD" ? "GET" : method;
  if (verb === "GET" && path.startsWith("/assets/")) return "free";
  return exceptions[`${verb} ${path}`] ?? "token";
};

/** The names under which this computer, and no other, reaches the server. */
const ownHosts = (port: number): readonly string[] => [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`];

const checkOrigin = (headers: Headers, port: number): void => {
  const hosts = ownHosts(port);
  if (!hosts.includes(headers.get("host") ?? ""))
    throw new KeepwarmError("forbidden", `Keepwarm answers only to its own address, http://${hosts[0]}.`);
  const origin = headers.get("origin");
  const isForeign = origin !== null && !hosts.some((host) => origin === `http://${host}`);
  if (isForeign || headers.get("sec-fetch-site") === "cross-site")
    throw new KeepwarmError(
      "forbidden",
      "Pages of other sites may not use Keepwarm. Open its own page, or call it from a program.",
    );
};

const presentedToken = (headers: Headers): string | null => {
  const authorization = headers.get("authorization");
  if (authorization === null) return headers.get("x-api-key");
  return /^Bearer +(\S+)$/i.exec(authorization)?.[1] ?? null;
};

const presentedSession = (headers: Headers, port: number): string | null => {
  const prefix = `${sessionCookie(port)}=`;
  const pairs = (headers.get("cookie") ?? "").split(";").map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(prefix))?.slice(prefix.length) ?? null;
};

const checkAccess = (access: Access, headers: Headers, options: GuardOptions): void => {
  if (access === "token") {
    const token = presentedToken(headers);
    if (token !== null && isSameSecret(token, options.apiToken)) return;
    throw new KeepwarmError(
      "unauthorized",
      `${token === null ? "This address needs Keepwarm's API token" : "This is not Keepwarm's API token"}. Send it as "Authorization: Bearer …" or "x-api-key: …".`,
    );
  }
  if (access === "session") {
    const session = presentedSession(headers, options.port);
    if (session !== null && options.hasSession(session)) return;
    throw new KeepwarmError("unauthorized", "This page needs a fresh link. Run: npm run -s keepwarm -- open");
  }
};

const checkMediaType = (headers: Headers): void => {
  // A type that a form can send would spare a foreign page the preflight.
  const type = (headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json")
    throw new KeepwarmError("wrong-media-type", 'Send the body as JSON, with "Content-Type: application/json".');
};

export const createGuard =
  (options: GuardOptions): MiddlewareHandler =>
  (c, next) => {
    const { headers, method } = c.req.raw;
    checkOrigin(headers, options.port);
    // Only a page of another origin asks before it sends; a page of ours has no need to.
    if (method === "OPTIONS") throw new KeepwarmError("forbidden", "Keepwarm grants no page of another site anything.");
    checkAccess(accessOf(method, c.req.path), headers, options);
    if (method !== "GET" && method !== "HEAD") checkMediaType(headers);
    return next();
  };
