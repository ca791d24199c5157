// Serves the page and the HTTP API to this computer, and to no other.
import { join } from "node:path";
import type { Server, ServerWebSocket } from "bun";
import type { Hono } from "hono";
import { KeepwarmError } from "../base/errors.ts";
import type { EnginePort } from "../contract/engine.ts";
import type { Sessions } from "../data/sessions.ts";
import { createServer } from "../server/server.ts";
import { bundleWorker } from "../setup/bundle-workers.ts";
import { openPageCodes } from "./page-codes.ts";
import { pageRoutes } from "./page-routes.ts";
import { RequestParser } from "./request-parser.ts";
import { MAX_MESSAGE_BYTES, openSession, type Session, type StateSource } from "./session.ts";
import type { View } from "./view-bundle.ts";

export type BrowserHostOptions = {
  /** 0 takes a free one. */
  readonly port: number;
  /** Throws "not-ready" while no model can answer. */
  readonly engine: () => EnginePort;
  readonly state: StateSource;
  readonly view: View;
  readonly apiToken: string;
  readonly sessions: Sessions;
  /** Hears of faults of ours; it is never given what a client sent. */
  readonly reportFault: (thrown: unknown) => void;
  /** A silent stream shows this often that it lives. */
  readonly keepAliveMs?: number;
};

export type BrowserHost = {
  readonly port: number;
  /** An address that lets one browser in, once, within ten minutes. */
  openPage(): string;
  /** All routes, so that a test can try each. */
  readonly routes: Hono["routes"];
  /** Ends all connections and cancels what runs for them. */
  stop(): Promise<void>;
};

type Connection = { session: Session | null };

const ADDRESS = "127.0.0.1";
/** Clients commonly give up after 5 to 60 silent seconds. */
const KEEP_ALIVE_MS = 3000;
/** For a request that is slow to arrive; answers may take as long as they need. */
const IDLE_SECONDS = 30;
/** Beyond this the connection is cut; between the two limits the client is told. */
const FRAME_CUT_BYTES = 2 * MAX_MESSAGE_BYTES;
/** Beyond this Bun itself refuses; ours, which says so in words, comes before. */
const BODY_CUT_BYTES = 128 * 2 ** 20;

const portInUse = (port: number, cause: unknown): KeepwarmError =>
  new KeepwarmError(
    "port-in-use",
    `Port ${port} on ${ADDRESS} is in use by another program. Close that program, or start Keepwarm on another port: "npm start -- --port N", or KEEPWARM_PORT=N.`,
    { cause },
  );

const listen = (
  port: number,
  fetch: (request: Request) => Response | Promise<Response>,
  sockets: Bun.WebSocketHandler<Connection>,
) => {
  try {
    return Bun.serve<Connection>({
      hostname: ADDRESS,
      port,
      fetch,
      websocket: sockets,
      idleTimeout: IDLE_SECONDS,
      maxRequestBodySize: BODY_CUT_BYTES,
    });
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "EADDRINUSE") throw portInUse(port, cause);
    throw new KeepwarmError("io-failed", `Keepwarm could not listen on ${ADDRESS}:${port}.`, { cause });
  }
};

const socketHandlers = (options: BrowserHostOptions, parser: RequestParser): Bun.WebSocketHandler<Connection> => ({
  maxPayloadLength: FRAME_CUT_BYTES,
  open(socket: ServerWebSocket<Connection>) {
    socket.data.session = openSession({
      engine: options.engine,
      state: options.state,
      parse: (text) => parser.message(text),
      send: (message) => socket.send(JSON.stringify(message)),
      reportFault: options.reportFault,
    });
  },
  message({ data: { session } }, frame) {
    if (typeof frame !== "string") session?.refuse("Messages are text, not bytes.");
    else if (Buffer.byteLength(frame) > MAX_MESSAGE_BYTES) session?.refuse("The message is larger than 8 MiB.");
    else session?.receive(frame);
  },
  close({ data: { session } }) {
    session?.close();
  },
});

export const startBrowserHost = (options: BrowserHostOptions): BrowserHost => {
  const parser = new RequestParser(() => bundleWorker(join(import.meta.dir, "request-parser.worker.ts")));
  const codes = openPageCodes(() => performance.now());
  const server: Server<Connection> = listen(
    options.port,
    (request) => app.fetch(request),
    socketHandlers(options, parser),
  );
  const port = server.port ?? options.port;
  const upgrade = (request: Request): boolean => server.upgrade(request, { data: { session: null } });
  const app = createServer({
    port,
    apiToken: options.apiToken,
    hasSession: (secret) => options.sessions.has(secret),
    engine: options.engine,
    parseChat: (body) => parser.chat(body),
    keepOpen: (request) => server.timeout(request, 0),
    reportFault: options.reportFault,
    keepAliveMs: options.keepAliveMs ?? KEEP_ALIVE_MS,
    nowMs: () => Date.now(),
    page: pageRoutes({ port, view: options.view, sessions: options.sessions, codes, upgrade }),
  });
  return {
    port,
    openPage: () => `http://${ADDRESS}:${port}/#code=${codes.create()}`,
    routes: app.routes,
    async stop() {
      await server.stop(true);
      parser[Symbol.dispose]();
    },
  };
};
