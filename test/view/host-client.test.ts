import { describe, expect, test } from "bun:test";
import type { GenerateRequest } from "../../src-bun/contract/engine.ts";
import { type GenerateEvent, retryDelayMs } from "../../src-view/host-client.ts";
import { fakeHost, settled, someResult } from "./fake-host.ts";

const request: GenerateRequest = {
  messages: [{ role: "user", content: "Hello" }],
  model: null,
  maxTokens: null,
  sampling: { temperature: 0 },
};

const connected = async () => {
  const fake = fakeHost();
  await fake.client.connect();
  fake.host.socket().open();
  return fake;
};

describe("the session", () => {
  test("without a code the socket is opened at once", async () => {
    const { asked, connections } = await connected();
    expect(asked).toEqual([]);
    expect(connections).toEqual(["open"]);
  });

  test("a code is exchanged before the socket is opened, and then forgotten", async () => {
    const { client, host } = fakeHost();
    host.code = "c0de";
    host.answers.set("/session", 204);
    await client.connect();
    expect(host.asked).toEqual([{ path: "/session", body: { code: "c0de" } }]);
    expect(host.code).toBeNull();
    expect(host.sockets).toHaveLength(1);
  });

  test("a code that nobody took is kept for the next try", async () => {
    const { client, host } = fakeHost();
    host.code = "c0de";
    await client.connect();
    expect(host.code).toBe("c0de");
    expect(host.sockets).toHaveLength(0);
    expect(host.connections).toEqual(["offline"]);
  });

  test("a used code leaves the older session to decide", async () => {
    const { client, host } = fakeHost();
    host.code = "used";
    host.answers.set("/session", 401);
    await client.connect();
    host.socket().open();
    expect(host.code).toBeNull();
    expect(host.connections).toEqual(["open"]);
  });

  test("a refused upgrade is told from a host that is not there", async () => {
    const { client, host } = fakeHost();
    host.answers.set("/session", 401);
    await client.connect();
    host.socket().drop();
    await settled();
    expect(host.connections).toEqual(["refused"]);
    expect(host.retry).toBeNull();
  });

  test("a fresh link helps a refused page", async () => {
    const { client, host } = fakeHost();
    host.answers.set("/session", 401);
    await client.connect();
    host.socket().drop();
    await settled();
    host.code = "fresh";
    host.answers.set("/session", 204);
    await client.connect();
    host.socket().open();
    expect(host.connections).toEqual(["refused", "open"]);
  });

  test("a code beside an open socket is used up and opens no second one", async () => {
    const { client, host } = await connected();
    host.code = "again";
    host.answers.set("/session", 204);
    await client.connect();
    expect(host.code).toBeNull();
    expect(host.sockets).toHaveLength(1);
  });
});

describe("the connection", () => {
  test("a dropped connection is tried again by itself", async () => {
    const { host } = await connected();
    host.socket().drop();
    await settled();
    expect(host.connections).toEqual(["open", "offline"]);
    host.retry?.();
    await settled();
    host.socket().open();
    expect(host.sockets).toHaveLength(2);
    expect(host.connections).toEqual(["open", "offline", "open"]);
  });

  test("delays double up to ten seconds and start anew after a success", async () => {
    expect([1, 2, 3, 4, 5, 6, 9].map((failures) => retryDelayMs(failures, 0.5))).toEqual([
      500, 1000, 2000, 4000, 8000, 10_000, 10_000,
    ]);
    const { host } = await connected();
    for (const _ of [1, 2, 3]) {
      host.socket().drop();
      await settled();
      host.retry?.();
      await settled();
    }
    host.socket().open();
    host.socket().drop();
    await settled();
    expect(host.delays).toEqual([500, 1000, 2000, 500]);
  });

  test("asked to try now, it does not wait, and opens no second socket", async () => {
    const { client, host } = await connected();
    host.socket().drop();
    await settled();
    await Promise.all([client.connect(), client.connect()]);
    expect(host.retry).toBeNull();
    expect(host.sockets).toHaveLength(2);
  });

  test("the state of the app is passed on", async () => {
    const { host } = await connected();
    host.socket().say({ kind: "state", state: { kind: "loading", modelName: "Starter" } });
    expect(host.states).toEqual([{ kind: "loading", modelName: "Starter" }]);
  });

  test("a message of an unknown shape makes the page outdated, and it lives on", async () => {
    const { host } = await connected();
    for (const message of ["{", { kind: "news" }, { kind: "state", state: { kind: "ready" } }])
      host.socket().say(message);
    expect(host.connections).toEqual(["open", "outdated", "outdated", "outdated"]);
    host.socket().say({ kind: "state", state: { kind: "loading", modelName: "Starter" } });
    expect(host.states).toHaveLength(1);
  });
});

describe("a request", () => {
  const asking = async () => {
    const fake = await connected();
    const events: GenerateEvent["kind"][] = [];
    fake.client.generate("r1", request, (event) => events.push(event.kind));
    return { ...fake, events };
  };

  test("is sent, and hears its own events until the last", async () => {
    const { host, events } = await asking();
    expect(host.socket().sent).toEqual([{ kind: "generate", id: "r1", request }]);
    host.socket().say({ kind: "progress", id: "r1", progress: { kind: "text", text: "Pa" } });
    host.socket().say({ kind: "progress", id: "other", progress: { kind: "text", text: "no" } });
    host.socket().say({ kind: "result", id: "r1", result: someResult() });
    host.socket().say({ kind: "progress", id: "r1", progress: { kind: "text", text: "late" } });
    expect(events).toEqual(["progress", "result"]);
  });

  test("is cancelled by its id, and only while it runs", async () => {
    const { client, host } = await asking();
    client.cancel("r1");
    host.socket().say({ kind: "result", id: "r1", result: someResult({ finishReason: "cancelled" }) });
    client.cancel("r1");
    expect(host.socket().sent.slice(1)).toEqual([{ kind: "cancel", id: "r1" }]);
  });

  test("ends as lost when the connection drops, once", async () => {
    const { host, events } = await asking();
    host.socket().drop();
    host.socket().drop();
    await settled();
    expect(events).toEqual(["lost"]);
  });

  test("ends as lost at once while there is no connection", () => {
    const { client } = fakeHost();
    const events: GenerateEvent[] = [];
    client.generate("r1", request, (event) => events.push(event));
    expect(events).toEqual([{ kind: "lost" }]);
  });

  test("ends with the error that names no request", async () => {
    const { host, events } = await asking();
    host.socket().say({ kind: "error", id: null, error: { code: "bad-request", message: "Too long." } });
    expect(events).toEqual(["error"]);
  });
});
