import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { KeepwarmError } from "../../src-bun/base/errors.ts";
import { chatClient } from "./chat-client.ts";
import { runServer } from "./running-server.ts";
import { sayParis } from "./scripted-engine.ts";

const server = runServer();
const { chat } = chatClient(server);
afterAll(() => server[Symbol.asyncDispose]());
afterEach(() => {
  server.engine.script = sayParis;
  server.faults.length = 0;
});

describe("what goes wrong", () => {
  test.each([
    ["busy", 503, "busy"],
    ["not-ready", 503, "not-ready"],
    ["unknown-model", 404, "model_not_found"],
    ["bad-request", 400, "bad-request"],
    ["template-failed", 400, "template-failed"],
    ["engine-exited", 500, "engine-exited"],
  ] as const)("%s is answered with %d", async (code, status, shown) => {
    server.engine.script = () => Promise.reject(new KeepwarmError(code, "In words."));
    const answer = await chat();
    expect(answer.status).toBe(status);
    expect(await answer.json()).toMatchObject({ error: { message: "In words.", code: shown } });
    expect(answer.headers.has("retry-after")).toBe(status === 503);
    expect(server.faults.length).toBe(status === 500 ? 1 : 0);
  });

  test("a mistake of ours is answered and reported, and the server goes on", async () => {
    server.engine.script = () => Promise.reject(new Error("boom"));
    const answer = await chat();
    expect(answer.status).toBe(500);
    expect(await answer.json()).toHaveProperty("error.code", "internal");
    expect(server.faults).toEqual([new Error("boom")]);
    server.engine.script = sayParis;
    expect((await chat()).status).toBe(200);
  });

  test("while no model is loaded it says so", async () => {
    await using early = runServer({
      engine: () => {
        throw new KeepwarmError("not-ready", "The model is being loaded. Try again in a moment.");
      },
    });
    const answer = await fetch(`${early.url}/v1/models`, { headers: { "x-api-key": early.token } });
    expect(answer.status).toBe(503);
    expect(answer.headers.get("retry-after")).toBe("2");
  });
});
