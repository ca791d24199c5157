import { expect, test } from "bun:test";
import { KeepwarmError } from "../../src-bun/base/errors.ts";
import type { EnginePort } from "../../src-bun/contract/engine.ts";
import type { ClientMessage, HostMessage } from "../../src-bun/contract/rpc.ts";
import { defaultSampling } from "../../src-bun/contract/sampling.ts";
import { parseClientMessage } from "../../src-bun/host/client-message.ts";
import { openSession } from "../../src-bun/host/session.ts";
import { ready, stateOf } from "../server/running-server.ts";
import { resultOf, ScriptedEngine, waitForCancel } from "../server/scripted-engine.ts";

const request = {
  messages: [{ role: "user" as const, content: "Hello" }],
  model: null,
  maxTokens: 5,
  sampling: { temperature: 0 },
};

const connect = (engine: () => EnginePort, openPage?: () => string) => {
  const sent: HostMessage[] = [];
  const faults: unknown[] = [];
  const waiting: { readonly count: number; readonly resolve: () => void }[] = [];
  const state = stateOf(ready);
  const session = openSession({
    engine,
    state: state.source,
    parse: async (text) => parseClientMessage(text),
    send(message) {
      sent.push(message);
      for (const { count, resolve } of waiting) if (sent.length >= count) resolve();
    },
    reportFault: (thrown) => faults.push(thrown),
    ...(openPage ? { openPage } : {}),
  });
  /** Waits until so many messages were sent. */
  const until = (count: number): Promise<void> =>
    sent.length >= count ? Promise.resolve() : new Promise((resolve) => waiting.push({ count, resolve }));
  const say = (message: ClientMessage): void => session.receive(JSON.stringify(message));
  return { session, faults, sent, until, say, state };
};

test("tells the state at once and at each change", () => {
  const { sent, state } = connect(() => new ScriptedEngine());
  state.change({ kind: "loading", modelName: "Starter" });
  expect(sent).toEqual([
    { kind: "state", state: ready },
    { kind: "state", state: { kind: "loading", modelName: "Starter" } },
  ]);
});

test("carries an answer, its progress first", async () => {
  const engine = new ScriptedEngine();
  const { sent, until, say } = connect(() => engine);
  say({ kind: "generate", id: "a", request });
  await until(6);
  expect(sent.slice(1).map((message) => message.kind)).toEqual([
    "progress",
    "progress",
    "progress",
    "progress",
    "result",
  ]);
  expect(sent.at(-1)).toEqual({ kind: "result", id: "a", result: resultOf() });
  expect(engine.requests).toEqual([request]);
});

test("takes everything that a request may say, and refuses what it may not", async () => {
  const engine = new ScriptedEngine();
  const { sent, until, say, session } = connect(() => engine);
  const whole = {
    ...request,
    sampling: { ...defaultSampling, logitBias: [[5, -1]] as const, topK: 40, topP: 0.5, minP: 0.1, seed: 7 },
    stop: ["END"],
    topLogprobs: 2,
  };
  say({ kind: "generate", id: "a", request: whole });
  await until(6);
  expect(engine.requests).toEqual([whole]);
  const bad = [
    { sampling: { topP: 2 } },
    { sampling: { logitBias: [[-1, 0]] } },
    { sampling: { logitBias: [[1]] } },
    { stop: [""] },
    { topLogprobs: 21 },
    { sampling: null },
  ];
  for (const changes of bad)
    session.receive(JSON.stringify({ kind: "generate", id: "b", request: { ...request, ...changes } }));
  await until(6 + bad.length);
  expect(sent.slice(6).map((message) => message.kind === "error" && message.error.message)).toEqual([
    '"request.sampling.topP" must be a number from 0 to 1.',
    '"request.sampling.logitBias[0][0]" must be a token\'s number.',
    '"request.sampling.logitBias[0][1]" is missing.',
    '"request.stop[0]" must not be empty.',
    '"request.topLogprobs" must be a whole number from 0 to 20.',
    '"request.sampling" must be an object.',
  ]);
});

test("runs several at once and cancels the one that is named", async () => {
  const engine = new ScriptedEngine();
  const { script } = waitForCancel();
  engine.script = script;
  const { sent, until, say } = connect(() => engine);
  say({ kind: "generate", id: "a", request });
  say({ kind: "generate", id: "b", request });
  say({ kind: "cancel", id: "b" });
  say({ kind: "cancel", id: "unheard of" });
  await until(2);
  expect(sent[1]).toEqual({ kind: "result", id: "b", result: resultOf({ finishReason: "cancelled" }) });
  say({ kind: "status", id: "s" });
  await until(3);
  expect(sent[2]).toMatchObject({ kind: "status", id: "s" });
});

test("refuses an id that is running, and takes it again afterwards", async () => {
  const engine = new ScriptedEngine();
  const { script } = waitForCancel();
  engine.script = script;
  const { sent, until, say } = connect(() => engine);
  say({ kind: "generate", id: "a", request });
  say({ kind: "generate", id: "a", request });
  await until(2);
  expect(sent[1]).toMatchObject({ kind: "error", id: null, error: { code: "bad-request" } });
  say({ kind: "cancel", id: "a" });
  await until(3);
  engine.script = async () => resultOf();
  say({ kind: "generate", id: "a", request });
  await until(4);
  expect(sent.slice(2).map((message) => message.kind)).toEqual(["result", "result"]);
});

test("answers what it cannot read, and lives", async () => {
  const { session, sent, until, say } = connect(() => new ScriptedEngine());
  const bad = [
    "",
    "{",
    "null",
    "[]",
    '{"kind":"evict","id":"a"}',
    '{"kind":"generate","id":"a"}',
    '{"kind":"generate","id":5,"request":{}}',
    JSON.stringify({ kind: "generate", id: "a", request: { ...request, messages: [] } }),
    JSON.stringify({ kind: "generate", id: "a", request: { ...request, sampling: { temperature: 9 } } }),
    JSON.stringify({ kind: "generate", id: "a".repeat(129), request }),
  ];
  for (const text of bad) session.receive(text);
  session.refuse("Messages are text, not bytes.");
  await until(bad.length + 2);
  for (const message of sent.slice(1))
    expect(message).toMatchObject({ kind: "error", id: null, error: { code: "bad-request" } });
  say({ kind: "status", id: "s" });
  await until(bad.length + 3);
});

test("says what the engine could not do under the request's own id", async () => {
  const { sent, until, say } = connect(() => {
    throw new KeepwarmError("not-ready", "The model is being loaded.");
  });
  say({ kind: "generate", id: "a", request });
  say({ kind: "status", id: "b" });
  await until(3);
  const error = { code: "not-ready", message: "The model is being loaded." };
  expect(sent.slice(1)).toEqual([
    { kind: "error", id: "a", error },
    { kind: "error", id: "b", error },
  ]);
});

test("reports a mistake of ours, and tells the client", async () => {
  const engine = new ScriptedEngine();
  engine.script = () => Promise.reject(new Error("boom"));
  const { sent, until, say, faults } = connect(() => engine);
  say({ kind: "generate", id: "a", request });
  await until(2);
  expect(sent[1]).toEqual({ kind: "error", id: "a", error: { code: "internal", message: "boom" } });
  expect(faults).toEqual([new Error("boom")]);
});

test("gives a page address only where it may", async () => {
  const page = connect(() => new ScriptedEngine());
  const socket = connect(
    () => new ScriptedEngine(),
    () => "http://127.0.0.1:1/#code=x",
  );
  for (const { say, until } of [page, socket]) {
    say({ kind: "open", id: "o" });
    await until(2);
  }
  expect(page.sent[1]).toMatchObject({ kind: "error", id: "o", error: { code: "forbidden" } });
  expect(socket.sent[1]).toEqual({ kind: "opened", id: "o", url: "http://127.0.0.1:1/#code=x" });
});

test("when the client goes, what runs is cancelled and nothing more is sent", async () => {
  const engine = new ScriptedEngine();
  const { script, begun, ended } = waitForCancel();
  engine.script = script;
  const { session, sent, say, state } = connect(() => engine);
  say({ kind: "generate", id: "a", request });
  await begun;
  session.close();
  session.close();
  await ended;
  state.change({ kind: "loading", modelName: "Starter" });
  expect(sent.length).toBe(1);
  expect(state.listeners.size).toBe(0);
});
