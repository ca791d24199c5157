// A whole browser host on a free port, with a scripted engine behind it and a page of two files.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AppState } from "../../src-bun/contract/app-state.ts";
import type { EnginePort } from "../../src-bun/contract/engine.ts";
import { openApiToken } from "../../src-bun/data/api-token.ts";
import { openSessions } from "../../src-bun/data/sessions.ts";
import { type BrowserHost, startBrowserHost } from "../../src-bun/host/browser.ts";
import type { StateSource } from "../../src-bun/host/session.ts";
import type { View } from "../../src-bun/host/view-bundle.ts";
import { ScriptedEngine, starter } from "./scripted-engine.ts";

const view: View = {
  shell: { body: "<!doctype html><title>Keepwarm</title>", type: "text/html; charset=utf-8" },
  assets: new Map([["/assets/main-1.js", { body: "export {};", type: "text/javascript; charset=utf-8" }]]),
};

export const stateOf = (first: AppState) => {
  const listeners = new Set<(state: AppState) => void>();
  let state = first;
  const source: StateSource = {
    current: () => state,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const change = (next: AppState): void => {
    state = next;
    for (const listener of listeners) listener(next);
  };
  return { source, change, listeners };
};

export const ready: AppState = { kind: "ready", model: starter, ssdFault: null };

export type RunningServer = AsyncDisposable & {
  readonly host: BrowserHost;
  readonly engine: ScriptedEngine;
  readonly token: string;
  readonly state: ReturnType<typeof stateOf>;
  readonly faults: unknown[];
  /** The folder of the token and the sessions. */
  readonly folder: string;
  readonly url: string;
  /** The cookie of a page that was let in. */
  letIn(): Promise<string>;
  /** Replaces the host with a new one over the same folder and port. */
  restart(): Promise<void>;
};

export const runServer = (
  changes: { port?: number; engine?: () => EnginePort; keepAliveMs?: number } = {},
): RunningServer => {
  const folder = mkdtempSync(join(tmpdir(), "keepwarm-"));
  const engine = new ScriptedEngine();
  const state = stateOf(ready);
  const faults: unknown[] = [];
  const token = openApiToken(join(folder, "api-token"));
  const start = (port: number): BrowserHost =>
    startBrowserHost({
      engine: () => engine,
      state: state.source,
      view,
      apiToken: token,
      sessions: openSessions(join(folder, "sessions.json"), () => Date.now()),
      reportFault: (fault) => faults.push(fault),
      ...changes,
      port,
    });
  let host = start(changes.port ?? 0);
  const url = `http://127.0.0.1:${host.port}`;
  return {
    get host() {
      return host;
    },
    engine,
    token,
    state,
    faults,
    folder,
    url,
    async letIn() {
      const code = new URL(host.openPage()).hash.slice("#code=".length);
      const answer = await fetch(`${url}/session`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ code }),
      });
      return (answer.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
    },
    async restart() {
      await host.stop();
      host = start(host.port);
    },
    async [Symbol.asyncDispose]() {
      await host.stop();
      rmSync(folder, { recursive: true });
    },
  };
};
