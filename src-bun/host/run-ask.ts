// Carries `ask` out: by the running app when one listens on the socket, else by this process, which then is the app.

import { KeepwarmError } from "../base/errors.ts";
import type { GenerateProgress, GenerateRequest, GenerateResult } from "../contract/engine.ts";
import { connectSocket } from "./connect-socket.ts";
import type { LocalApp } from "./local-app.ts";
import type { RunningHost } from "./running-host.ts";
import { setupReport } from "./setup-report.ts";

/** A single question has nothing else to hurry for. */
const FLUSH_MS = 30_000;

export type RunAskOptions = {
  readonly request: GenerateRequest;
  readonly local: LocalApp;
  readonly socketPath: string;
  readonly onText: (text: string) => void;
  /** For what is not the answer: set-up, loading, what was lost. */
  readonly writeError: (line: string) => void;
  readonly signal: AbortSignal;
};

/** Resolves when the running app can answer; rejects when it says that it will not. */
const untilReady = (host: RunningHost, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const look = (): boolean => {
      const state = host.state.current();
      if (state.kind === "ready") resolve();
      else if (state.kind === "failed") reject(new KeepwarmError("not-ready", state.error.message));
      else return false;
      return true;
    };
    if (look()) return;
    const unsubscribe = host.state.subscribe(() => {
      if (look()) unsubscribe();
    });
    const cancel = (): void => reject(new KeepwarmError("cancelled", "Cancelled."));
    if (signal.aborted) cancel();
    else signal.addEventListener("abort", cancel, { once: true });
  });

const askRunning = async (host: RunningHost, options: RunAskOptions): Promise<GenerateResult> => {
  const report = setupReport(options.writeError);
  const unsubscribe = host.state.subscribe(report);
  await untilReady(host, options.signal);
  unsubscribe();
  return host.generate(options.request, textOf(options), options.signal);
};

const askAlone = async (options: RunAskOptions): Promise<GenerateResult> => {
  const { local, request, signal, writeError } = options;
  local.own();
  local.state.subscribe(setupReport(writeError));
  const stop = (): void => {
    if (local.state.current().kind !== "ready") void local.close(FLUSH_MS);
  };
  signal.addEventListener("abort", stop, { once: true });
  try {
    if (signal.aborted) throw new KeepwarmError("cancelled", "Cancelled.");
    await local.start();
    return await local.engine().generate(request, textOf(options), signal);
  } finally {
    const { droppedJobs } = await local.close(FLUSH_MS);
    if (droppedJobs > 0) writeError("The prompt was dropped before it was durable: it will be computed again.");
  }
};

const textOf =
  ({ onText }: RunAskOptions) =>
  (progress: GenerateProgress): void => {
    if (progress.kind === "text") onText(progress.text);
  };

export const runAsk = async (options: RunAskOptions): Promise<GenerateResult> => {
  using running = await connectSocket(options.socketPath);
  return running === null ? await askAlone(options) : await askRunning(running, options);
};
