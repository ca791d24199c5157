import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { connect, type Socket as NetSocket } from "node:net";
import type { HostMessage } from "../../src-bun/contract/rpc.ts";
import { ready, runServer } from "../server/running-server.ts";
import { resultOf, sayParis, waitForCancel } from "../server/scripted-engine.ts";

const server = runServer();
afterAll(() => server[Symbol.asyncDispose]());
afterEach(() => {
  server.engine.script = sayParis;
});

const MIB = 2 ** 20;

/** Bun's, which takes headers where a browser's takes none. */
const Socket = WebSocket as unknown as new (url: string, options: { headers: Record<string, string> }) => WebSocket;

const openSocket = async (cookie: string): Promise<{ socket: WebSocket; next: () => Promise<HostMessage> }> => {
  const socket = new Socket(`${server.url.replace("http", "ws")}/ws`, { headers: { Cookie: cookie } });
  const messages: HostMessage[] = [];
  const waiting: ((message: HostMessage) => void)[] = [];
  socket.onmessage = ({ data }) => {
    const message = JSON.parse(data) as HostMessage;
    const resolve = waiting.shift();
    if (resolve) resolve(message);
    else messages.push(message);
  };
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = reject;
  });
  const next = (): Promise<HostMessage> => {
    const message = messages.shift();
    return message ? Promise.resolve(message) : new Promise((resolve) => waiting.push(resolve));
  };
  return { socket, next };
};

const generate = (id: string, content: string): string => {
  const request = { messages: [{ role: "user", content }], model: null, maxTokens: 5, sampling: { temperature: 0 } };
  return JSON.stringify({ kind: "generate", id, request });
};

describe("the page", () => {
  test("is served with its assets, and lets no other site in", async () => {
    const shell = await fetch(server.url);
    expect(shell.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(shell.headers.get("cache-control")).toBe("no-store");
    expect(shell.headers.get("x-content-type-options")).toBe("nosniff");
    const policy = shell.headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain("unsafe");
    const asset = await fetch(`${server.url}/assets/main-1.js`);
    expect(asset.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
    expect(asset.headers.get("cache-control")).toContain("immutable");
  });

  test("gets in with a code, once; the cookie holds over a restart and is not the token", async () => {
    const code = new URL(server.host.openPage()).hash.slice("#code=".length);
    const exchange = (): Promise<Response> =>
      fetch(`${server.url}/session`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ code }),
      });
    const first = await exchange();
    expect(first.status).toBe(204);
    const cookie = first.headers.get("set-cookie") ?? "";
    expect(cookie).toMatch(/^keepwarm_\d+=[A-Za-z0-9_-]{43}; HttpOnly; SameSite=Strict; Path=\/; Max-Age=7776000$/);
    expect(cookie).not.toContain(server.token);
    const second = await exchange();
    expect(second.status).toBe(401);
    expect(second.headers.has("set-cookie")).toBe(false);
    expect(await second.text()).not.toContain(code);

    await server.restart();
    const held = await fetch(`${server.url}/session`, { headers: { Cookie: `a=b; ${cookie.split(";")[0]}` } });
    expect(held.status).toBe(204);
  });

  test("more than a code is not read as one", async () => {
    const body = JSON.stringify({ code: "x".repeat(300_000) });
    const headers = { "Content-Type": "application/json" };
    expect((await fetch(`${server.url}/session`, { method: "POST", headers, body })).status).toBe(413);
  });

  test("a port that is taken is named", () => {
    expect(() => runServer({ port: server.host.port })).toThrow(`Port ${server.host.port} on 127.0.0.1 is in use`);
  });

  test("only this computer is listened to", () => {
    expect(new URL(server.host.openPage()).hostname).toBe("127.0.0.1");
  });
});

describe("the WebSocket", () => {
  test("opens with a cookie only", async () => {
    expect(openSocket("")).rejects.toBeDefined();
    expect(openSocket(`keepwarm_${server.host.port}=${"A".repeat(43)}`)).rejects.toBeDefined();
    const { socket, next } = await openSocket(await server.letIn());
    expect(await next()).toEqual({ kind: "state", state: ready });
    socket.close();
  });

  test("carries an answer", async () => {
    const { socket, next } = await openSocket(await server.letIn());
    socket.send(generate("a", "Hello"));
    const kinds = [];
    for (let at = 0; at < 6; at++) kinds.push((await next()).kind);
    expect(kinds).toEqual(["state", "progress", "progress", "progress", "progress", "result"]);
    socket.close();
  });

  test("cancels what runs when the page goes", async () => {
    const { script, begun, ended } = waitForCancel();
    server.engine.script = script;
    const { socket } = await openSocket(await server.letIn());
    socket.send(generate("a", "Hello"));
    await begun;
    socket.close();
    await ended;
    expect(server.state.listeners.size).toBe(0);
  });

  test("lives after bytes, nonsense and a message beyond 8 MiB; one below is taken in its turn", async () => {
    const { socket, next } = await openSocket(await server.letIn());
    await next();
    socket.send(new Uint8Array(3));
    expect(await next()).toMatchObject({ kind: "error", id: null });
    socket.send("[".repeat(100_000));
    expect(await next()).toMatchObject({ kind: "error", id: null });
    socket.send("x".repeat(8 * MIB + 1));
    expect(await next()).toMatchObject({
      kind: "error",
      id: null,
      error: { message: expect.stringContaining("8 MiB") },
    });
    server.engine.script = async (request) => resultOf({ promptTokens: request.messages[0]?.content?.length ?? 0 });
    socket.send(generate("large", "x".repeat(7 * MIB)));
    socket.send(generate("small", "x"));
    expect(await next()).toMatchObject({ kind: "result", id: "large", result: { promptTokens: 7 * MIB } });
    expect(await next()).toMatchObject({ kind: "result", id: "small" });
    socket.close();
  });
});

/** A connection that has sent the head of a request to chat, and whose body is the test's. */
const connectRaw = (headers: Record<string, string>, length: string): NetSocket => {
  const socket = connect(server.host.port, "127.0.0.1");
  const given = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const lines = ["POST /v1/chat/completions HTTP/1.1", `Host: 127.0.0.1:${server.host.port}`, length, ...given];
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  return socket;
};

describe("a body", () => {
  const headers = { "Content-Type": "application/json", Authorization: `Bearer ${server.token}` };
  const post = (body: BodyInit): Promise<Response> =>
    fetch(`${server.url}/v1/chat/completions`, { method: "POST", headers, body });
  const chat = (content: string): string => JSON.stringify({ messages: [{ role: "user", content }] });

  test("of 31 MiB is taken, and one of 33 MiB refused in words", async () => {
    server.engine.script = async (request) => resultOf({ promptTokens: request.messages[0]?.content?.length ?? 0 });
    const taken = await post(chat("x".repeat(31 * MIB)));
    expect(await taken.json()).toHaveProperty("usage.prompt_tokens", 31 * MIB);
    const refused = await post(chat("x".repeat(33 * MIB)));
    expect(refused.status).toBe(413);
    expect(await refused.json()).toHaveProperty("error.code", "too-large");
  });

  test("whose length nobody announced is not read without end", async () => {
    const socket = connectRaw(headers, "Transfer-Encoding: chunked");
    const piece = Buffer.concat([Buffer.from("100000\r\n"), Buffer.alloc(MIB, 0x20), Buffer.from("\r\n")]);
    const answered = new Promise<string>((resolve) => socket.once("data", (bytes) => resolve(String(bytes))));
    const write = (): void => {
      while (!socket.destroyed && socket.write(piece));
    };
    socket.on("drain", write);
    write();
    expect(await answered).toStartWith("HTTP/1.1 413");
    socket.destroy();
  });

  test("that is no JSON, no UTF-8 or nested without end is refused, large or small", async () => {
    for (const body of [
      "",
      "{",
      new Uint8Array([0x22, 0xff, 0x22]),
      `{"messages":${"[".repeat(200_000)}${"]".repeat(200_000)}}`,
      "[".repeat(MIB),
    ]) {
      const refused = await post(body);
      expect(refused.status).toBe(400);
      expect(await refused.json()).toHaveProperty("error.code", "bad-request");
    }
    expect(server.faults).toEqual([]);
  });

  test("C30 that never ends holds nothing when its sender goes", async () => {
    const before = server.engine.requests.length;
    const socket = connectRaw(headers, "Content-Length: 100");
    await new Promise<void>((resolve) => socket.write('{"mess', () => resolve()));
    socket.destroy();
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
    expect(server.engine.requests.length).toBe(before);
  });
});
