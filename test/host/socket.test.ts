import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { KeepwarmError } from "../../src-bun/base/errors.ts";
import { socketPath } from "../../src-bun/data/socket-file.ts";
import { parseClientMessage } from "../../src-bun/host/client-message.ts";
import { connectSocket } from "../../src-bun/host/connect-socket.ts";
import type { RunningHost } from "../../src-bun/host/running-host.ts";
import { type SocketHost, startSocketHost } from "../../src-bun/host/socket.ts";
import { ready, stateOf } from "../server/running-server.ts";
import { resultOf, ScriptedEngine, sayParis, waitForCancel } from "../server/scripted-engine.ts";

const folder = mkdtempSync(join(tmpdir(), "keepwarm-"));
afterAll(() => rmSync(folder, { recursive: true }));

const engine = new ScriptedEngine();
beforeEach(() => {
  engine.script = sayParis;
});

const state = stateOf(ready);
const request = {
  messages: [{ role: "user" as const, content: "Hello" }],
  model: null,
  maxTokens: 5,
  sampling: { temperature: 0 },
};

const start = (path: string): SocketHost | "busy" =>
  startSocketHost({
    path,
    engine: () => engine,
    state: state.source,
    parse: async (text) => parseClientMessage(text),
    openPage: () => "http://127.0.0.1:4117/#code=x",
  });

const listen = (path: string): SocketHost => {
  const host = start(path);
  if (host === "busy") throw new Error("busy");
  return host;
};

const connect = async (path: string): Promise<RunningHost> => {
  const host = await connectSocket(path);
  if (host === null) throw new Error("nobody listens");
  return host;
};

describe("a running Keepwarm", () => {
  const path = join(folder, "run.sock");
  const host = listen(path);
  afterAll(() => host.stop());

  test("is reached by this user only", () => {
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test("answers as an engine does", async () => {
    using running = await connect(path);
    expect(running.state.current()).toEqual(ready);
    const progress: unknown[] = [];
    const result = await running.generate(request, (one) => progress.push(one), new AbortController().signal);
    expect(result).toEqual(resultOf());
    expect(progress.length).toBe(4);
    expect((await running.status()).model?.id).toBe("starter");
    expect(await running.openPage()).toBe("http://127.0.0.1:4117/#code=x");
  });

  test("carries an answer of several MiB, larger than the socket takes at once", async () => {
    using running = await connect(path);
    const text = "né".repeat(2 ** 20);
    engine.script = async ({ messages }) => resultOf({ text: messages[0]?.content ?? "" });
    const large = { ...request, messages: [{ role: "user" as const, content: text }] };
    const result = await running.generate(large, () => undefined, new AbortController().signal);
    expect(result.text === text).toBe(true);
  });

  test("cancels by signal", async () => {
    using running = await connect(path);
    const { script, begun } = waitForCancel();
    engine.script = script;
    const client = new AbortController();
    const answer = running.generate(request, () => undefined, client.signal);
    await begun;
    client.abort();
    expect(await answer).toMatchObject({ finishReason: "cancelled" });
    await expect(running.generate(request, () => undefined, client.signal)).rejects.toMatchObject({
      code: "cancelled",
    });
  });

  test("C30 cancels what runs for a client that goes away", async () => {
    const { script, begun, ended } = waitForCancel();
    engine.script = script;
    const running = await connect(path);
    const answer = running.generate(request, () => undefined, new AbortController().signal);
    await begun;
    running[Symbol.dispose]();
    await expect(answer).rejects.toMatchObject({ code: "engine-exited" });
    await ended;
  });

  test("hands errors on under their code, and tells each state", async () => {
    using running = await connect(path);
    engine.script = () => Promise.reject(new KeepwarmError("context-exceeded", "Too long."));
    await expect(running.generate(request, () => undefined, new AbortController().signal)).rejects.toEqual(
      new KeepwarmError("context-exceeded", "Too long."),
    );
    const heard = Promise.withResolvers<unknown>();
    running.state.subscribe(heard.resolve);
    state.change({ kind: "loading", modelName: "Other" });
    expect(await heard.promise).toEqual({ kind: "loading", modelName: "Other" });
    state.change(ready);
  });

  test("a second one is told that it is busy, and the first lives on", async () => {
    expect(start(path)).toBe("busy");
    using running = await connect(path);
    expect((await running.status()).model?.id).toBe("starter");
  });
});

describe("the socket's file", () => {
  test("when nobody listens there is nobody", async () => {
    const path = join(folder, "none.sock");
    expect(await connectSocket(path)).toBeNull();
    listen(path).stop();
    expect(existsSync(path)).toBe(false);
    expect(await connectSocket(path)).toBeNull();
  });

  test("requests end when the host stops", async () => {
    const path = join(folder, "stopping.sock");
    const host = listen(path);
    using running = await connect(path);
    const { script, begun, ended } = waitForCancel();
    engine.script = script;
    const answer = running.generate(request, () => undefined, new AbortController().signal);
    await begun;
    host.stop();
    await expect(answer).rejects.toMatchObject({ code: "engine-exited" });
    await ended;
    await expect(running.status()).rejects.toMatchObject({ code: "engine-exited" });
  });

  test("that of a dead process is replaced, that of a living one is not", async () => {
    const path = join(folder, "killed.sock");
    const other = Bun.spawn([process.execPath, join(import.meta.dir, "socket-child.ts"), path], {
      stdout: "pipe",
    });
    const { value } = await other.stdout.getReader().read();
    expect(new TextDecoder().decode(value)).toBe("listening\n");
    expect(start(path)).toBe("busy");
    other.kill("SIGKILL");
    await other.exited;
    expect(existsSync(path)).toBe(true);
    expect(await connectSocket(path)).toBeNull();
    const host = listen(path);
    using running = await connect(path);
    expect(running.state.current()).toEqual(ready);
    host.stop();
  });

  test("another kind of file is not removed", () => {
    const path = join(folder, "file.sock");
    writeFileSync(path, "mine");
    expect(() => start(path)).toThrow(/is not a socket/);
    expect(existsSync(path)).toBe(true);
  });

  test("a long path is replaced by a short one in a folder of this user's alone", () => {
    const long = join(folder, "x".repeat(120));
    expect(socketPath(folder, tmpdir())).toBe(join(folder, "run.sock"));
    const path = socketPath(long, folder);
    expect(path).toStartWith(join(folder, `keepwarm-${process.getuid?.()}`));
    expect(path).not.toBe(socketPath(`${long}y`, folder));
    listen(path).stop();
    expect(statSync(join(path, "..")).mode & 0o777).toBe(0o700);
  });
});
