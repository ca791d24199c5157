// All routes behind one gate. The only place where an error becomes an answer over HTTP.
import { Hono } from "hono";
import { KeepwarmError } from "../base/errors.ts";
import { createGuard, type GuardOptions } from "./guard.ts";
import { errorResponse, isFault } from "./http-error.ts";
import { type OpenAiOptions, openAiRoutes } from "./openai.ts";

export type ServerOptions = GuardOptions &
  OpenAiOptions & {
    /** The page's own routes, behind the same gate. */
    readonly page: Hono;
  };

export const createServer = (options: ServerOptions): Hono => {
  const app = new Hono();
  app.use(async (c, next) => {
    await next();
    c.res.headers.set("X-Content-Type-Options", "nosniff");
    c.res.headers.set("Referrer-Policy", "no-referrer");
    c.res.headers.set("Cross-Origin-Resource-Policy", "same-origin");
    if (!c.res.headers.has("Cache-Control")) c.res.headers.set("Cache-Control", "no-store");
  });
  app.use(createGuard(options));
  app.get("/health", (c) => c.json({ status: "ok" }));
  app.route("/", openAiRoutes(options));
  app.route("/", options.page);
  app.notFound((c) => errorResponse(new KeepwarmError("not-found", `Keepwarm has no ${c.req.method} ${c.req.path}.`)));
  app.onError((thrown) => {
    if (isFault(thrown)) options.reportFault(thrown);
    return errorResponse(thrown);
  });
  return app;
};
