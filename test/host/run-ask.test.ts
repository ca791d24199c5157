import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import type { AppState } from "../../src-bun/contract/app-state.ts";
import { parseClientMessage } from "../../src-bun/host/client-message.ts";
import { LocalApp } from "../../src-bun/host/local-app.ts";
import { runAsk } from "../../src-bun/host/run-ask.ts";
import { startSocketHost } from "../../src-bun/host/socket.ts";
import { ready, stateOf } from "../server/running-server.ts";
import { ScriptedEngine } from "../server/scripted-engine.ts";
import { TemporaryFolder } from "../support/temporary-folder.ts";

const folder = new TemporaryFolder();
afterAll(() => folder[Symbol.dispose]());

const loading: AppState = { kind: "loading", modelName: "the starter model" };

/** An app in the state given, and one question to it; this process is never asked to answer by itself. */
const setUp = (name: string, first: AppState) => {
  const socketPath = join(folder.path, name);
  const state = stateOf(first);
  const host = startSocketHost({
    path: socketPath,
    engine: () => new ScriptedEngine(),
    state: state.source,
    parse: async (text) => parseClientMessage(text),
    openPage: () => "",
  });
  if (host === "busy") throw new Error("busy");
  const paths = { data: folder.path, promptCache: folder.path, downloads: folder.path };
  let text = "";
  const ask = (signal: AbortSignal) =>
    runAsk({
      request: {
        messages: [{ role: "user", content: "Hello" }],
        model: null,
        maxTokens: 5,
        sampling: { temperature: 0 },
      },
      local: new LocalApp({ paths, givenLibraryFolder: null, environment: {}, log: () => undefined }),
      socketPath,
      onText: (more) => {
        text += more;
      },
      writeError: () => undefined,
      signal,
    });
  return { host, state, ask, said: () => text };
};

/** The client has been let in and waits for the app. */
const listenedTo = async ({ listeners }: ReturnType<typeof stateOf>): Promise<void> => {
  while (listeners.size === 0) await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setImmediate(resolve));
};

test("waits for the running app and takes its answer", async () => {
  const { host, state, ask, said } = setUp("loads.sock", loading);
  const answer = ask(new AbortController().signal);
  await listenedTo(state);
  state.change(ready);
  expect((await answer).text).toBe(said());
  expect(said()).not.toBe("");
  host.stop();
});

test("an app that ends while it loads ends the question", async () => {
  const { host, state, ask } = setUp("ends.sock", loading);
  const answer = ask(new AbortController().signal);
  await listenedTo(state);
  host.stop();
  await expect(answer).rejects.toMatchObject({ code: "not-ready" });
});

test("a question that was given up before the app is ready is not asked", async () => {
  const { host, ask } = setUp("given-up.sock", loading);
  await expect(ask(AbortSignal.abort())).rejects.toMatchObject({ code: "cancelled" });
  host.stop();
});
