// What the page is made of and how it gets in. The gate in front decides who reaches these.
import { Hono } from "hono";
import * as v from "valibot";
import { KeepwarmError } from "../base/errors.ts";
import { SESSION_LIFETIME_MS, type Sessions } from "../data/sessions.ts";
import { sessionCookie } from "../server/guard.ts";
import { parseJson, parseOutside } from "../server/parse-outside.ts";
import { readBody } from "../server/read-body.ts";
import type { PageCodes } from "./page-codes.ts";
import type { View, ViewFile } from "./view-bundle.ts";

export type PageOptions = {
  readonly port: number;
  readonly view: View;
  readonly sessions: Sessions;
  readonly codes: PageCodes;
  /** Makes the connection a WebSocket; false when it does not ask to be one. */
  readonly upgrade: (request: Request) => boolean;
};

/** A code is short, anybody may send one, and the main thread parses it itself. */
const MAX_CODE_BODY_BYTES = 2 ** 18;

const codeSchema = v.object({ code: v.string("must be text") }, "must be an object");

const contentSecurityPolicy = (port: number): string =>
  [
    "default-src 'self'",
    // WebKit does not count ws: as 'self'.
    `connect-src 'self' ws://127.0.0.1:${port} ws://localhost:${port}`,
    "img-src 'self' data:",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");

const fileResponse = (file: ViewFile, headers: Record<string, string>): Response =>
  new Response(file.body, { headers: { "Content-Type": file.type, ...headers } });

const exchangeCode = async (request: Request, { port, sessions, codes }: PageOptions): Promise<Response> => {
  const body = Buffer.concat(await readBody(request, MAX_CODE_BODY_BYTES));
  const { code } = parseOutside(codeSchema, parseJson(body.toString("utf8")));
  if (!codes.redeem(code))
    throw new KeepwarmError("unauthorized", "This link was used or is too old. Run: npm run -s keepwarm -- open");
  const cookie = [
    `${sessionCookie(port)}=${sessions.create()}`,
    "HttpOnly",
    "SameSite=Strict",
    "Path=/",
    `Max-Age=${SESSION_LIFETIME_MS / 1000}`,
  ].join("; ");
  return new Response(null, { status: 204, headers: { "Set-Cookie": cookie } });
};

export const pageRoutes = (options: PageOptions): Hono => {
  const shellHeaders = {
    "Content-Security-Policy": contentSecurityPolicy(options.port),
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Frame-Options": "DENY",
  };
  return new Hono()
    .get("/", () => fileResponse(options.view.shell, shellHeaders))
    .get("/assets/*", (c) => {
      const file = options.view.assets.get(c.req.path);
      if (file === undefined) return c.notFound();
      // A file's name changes with its content.
      return fileResponse(file, { "Cache-Control": "public, max-age=31536000, immutable" });
    })
    .post("/session", (c) => exchangeCode(c.req.raw, options))
    .get("/session", (c) => c.body(null, 204))
    .get("/ws", (c) => {
      if (options.upgrade(c.req.raw)) return new Response(null);
      throw new KeepwarmError("bad-request", "This address speaks WebSocket only.");
    });
};
