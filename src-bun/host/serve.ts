// `serve`: Keepwarm with its page in the browser, its HTTP API and its socket, until it is told to stop.
import { join } from "node:path";
import { messageOf } from "../base/errors.ts";
import { openApiToken } from "../data/api-token.ts";
import { openSessions } from "../data/sessions.ts";
import { bundleWorker } from "../setup/bundle-workers.ts";
import { startBrowserHost } from "./browser.ts";
import { connectSocket } from "./connect-socket.ts";
import type { LocalApp } from "./local-app.ts";
import { RequestParser } from "./request-parser.ts";
import { setupReport } from "./setup-report.ts";
import { startSocketHost } from "./socket.ts";
import { buildView } from "./view-bundle.ts";

/** A person waits for this when quitting. */
const FLUSH_MS = 2000;

export type ServeOptions = {
  readonly local: LocalApp;
  readonly dataFolder: string;
  readonly socketPath: string;
  readonly port: number;
  readonly write: (line: string) => void;
  readonly writeError: (line: string) => void;
  /** Resolves when the app should end. */
  readonly stopped: Promise<void>;
};

/** Returns the process's exit code. */
export const serve = async (options: ServeOptions): Promise<number> => {
  const { local, dataFolder, write, writeError } = options;
  using running = await connectSocket(options.socketPath);
  if (running !== null) {
    write(`Keepwarm is already running. Open ${await running.openPage()}`);
    return 0;
  }
  local.own();
  const view = await buildView(join(import.meta.dir, "../../src-view"));
  const reportFault = (thrown: unknown): void => writeError(`Keepwarm met a fault of its own: ${messageOf(thrown)}`);
  const host = startBrowserHost({
    port: options.port,
    engine: () => local.engine(),
    state: local.state,
    view,
    apiToken: openApiToken(join(dataFolder, "api-token")),
    sessions: openSessions(join(dataFolder, "sessions.json"), Date.now),
    reportFault,
  });
  using parser = new RequestParser(() => bundleWorker(join(import.meta.dir, "request-parser.worker.ts")));
  const socket = startSocketHost({
    path: options.socketPath,
    engine: () => local.engine(),
    state: local.state,
    parse: (text) => parser.message(text),
    openPage: () => host.openPage(),
    reportFault,
  });
  if (socket === "busy") throw new Error("the socket is taken although the data folder is ours");
  write(`Keepwarm is at http://127.0.0.1:${host.port}`);
  write(`Open ${host.openPage()} (works once, within ten minutes)`);
  local.state.subscribe(setupReport(write));
  const started = local.start().then(
    () => write("Ready."),
    // The page says it too, and stays up to say it. An interrupted start is no failure.
    (thrown: unknown) => {
      if (local.state.current().kind === "failed") writeError(messageOf(thrown));
    },
  );
  await options.stopped;
  write("Stopping.");
  socket.stop();
  await host.stop();
  const { droppedJobs } = await local.close(FLUSH_MS);
  await started;
  if (droppedJobs > 0) writeError(`${droppedJobs} prompts were dropped before they were durable.`);
  return 0;
};
