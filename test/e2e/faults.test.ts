import { expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { messageOf } from "../../src-bun/base/errors.ts";
import { socketPath } from "../../src-bun/data/socket-file.ts";
import { connectSocket } from "../../src-bun/host/connect-socket.ts";
import type { RunningHost } from "../../src-bun/host/running-host.ts";
import { MLX_VERSION } from "../../src-bun/mlx/library.ts";
import { TemporaryFolder } from "../support/temporary-folder.ts";
import { askJson, runKeepwarm } from "./ask-keepwarm.ts";
import { canMakeTinyVolume, TinyVolume, writeCutModel, writeOtherMlx } from "./bad-ground.ts";
import { RunningApp } from "./running-app.ts";

const CAPITAL = "What is the capital of France?";

const connect = async (home: string): Promise<RunningHost> => {
  const host = await connectSocket(socketPath(home, tmpdir()));
  if (host === null) throw new Error("the app does not listen");
  return host;
};

/** The app says it in its terminal, over HTTP and to who asks it, and stays up. */
const saysAndStays = async (app: RunningApp, words: RegExp): Promise<void> => {
  await app.process.says(words);
  const models = await fetch(`${app.url}/v1/models`, { headers: { authorization: `Bearer ${app.token}` } });
  expect(models.status).toBe(503);
  expect(((await models.json()) as { error: { message: string } }).error.message).toMatch(words);
  expect((await fetch(`${app.url}/health`)).status).toBe(200);
  const asked = await runKeepwarm(["ask", CAPITAL], { home: app.home });
  expect(asked).toEqual({ code: 1, out: "", err: expect.stringMatching(words) });
  expect(app.process.isAlive).toBe(true);
  expect(await app.stop()).toBe(0);
};

test("a port in use is named, with what to do", async () => {
  using folder = new TemporaryFolder();
  await using other = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("another program") });
  const args = ["serve", "--port", String(other.port)];
  const { code, out, err } = await runKeepwarm(args, { home: folder.path });
  expect({ code, out }).toEqual({ code: 1, out: "" });
  expect(err).toContain(`Port ${other.port} on 127.0.0.1 is in use by another program`);
  expect(err).toContain("start Keepwarm on another port");
});

test("a library folder without MLX is named", async () => {
  using folder = new TemporaryFolder();
  const libraries = join(folder.path, "libraries");
  mkdirSync(libraries);
  const environment = { KEEPWARM_LIBRARIES: libraries };
  await using app = await RunningApp.open({ home: folder.path, environment });
  await saysAndStays(app, new RegExp(`The library folder ${libraries} holds no libmlxc`));
});

test("another version of MLX is refused, and both versions are named", async () => {
  using folder = new TemporaryFolder();
  const libraries = join(folder.path, "libraries");
  writeOtherMlx(libraries, "0.1.0");
  const environment = { KEEPWARM_LIBRARIES: libraries };
  await using app = await RunningApp.open({ home: folder.path, environment });
  await saysAndStays(app, new RegExp(`needs MLX ${RegExp.escape(MLX_VERSION)}, but .* is MLX 0\\.1\\.0`));
});

test("a model file that was cut short is named", async () => {
  using folder = new TemporaryFolder();
  const downloads = join(folder.path, "downloads");
  writeCutModel(downloads);
  const environment = { KEEPWARM_DOWNLOADS: downloads };
  await using app = await RunningApp.open({ home: folder.path, environment });
  await saysAndStays(app, /The model file .*\.gguf cannot be used: .* but the file has \d+/);
});

test("an app that is told to end while it starts does so", async () => {
  using folder = new TemporaryFolder();
  await using app = await RunningApp.open({ home: folder.path });
  expect(await app.stop()).toBe(0);
  expect(app.process.err).toBe("");
  expect(app.process.out).toEndWith("Stopping.\n");
});

test("an app that was killed in the middle of a prompt starts again, and earlier prompts are warm", async () => {
  using folder = new TemporaryFolder();
  const home = folder.path;
  const first = await askJson([CAPITAL], { home });
  await using app = await RunningApp.start({ home });
  using host = await connect(home);
  const isReading = Promise.withResolvers<void>();
  const content = "The jar of plums stands on the shelf. ".repeat(400);
  const request = { model: null, maxTokens: 1, sampling: { temperature: 0 } };
  const answer = host.generate(
    { ...request, messages: [{ role: "user", content }] },
    (progress) => {
      if (progress.kind === "prefill" && progress.doneTokens > 0) isReading.resolve();
    },
    new AbortController().signal,
  );
  const outcome = answer.then(
    () => "answered",
    (thrown: unknown) => messageOf(thrown),
  );
  await isReading.promise;
  app.process.kill("SIGKILL");
  expect(await app.process.exit()).toBe(137);
  expect(await outcome).toContain("closed the connection");

  await using _again = await RunningApp.start({ home });
  const again = await askJson([CAPITAL], { home });
  expect(again).toMatchObject({ text: first.text, cachedTokens: { ram: 0, ssd: first.promptTokens - 1 } });
});

const canFill = (() => {
  using folder = new TemporaryFolder();
  return canMakeTinyVolume(folder.path);
})();

test.skipIf(!canFill)(
  "a full disk costs the warmth and not the answer (needs the right to mount a volume)",
  async () => {
    using folder = new TemporaryFolder();
    const home = folder.path;
    using _volume = TinyVolume.open(join(home, "cache.noindex"));
    const alone = await runKeepwarm(["ask", CAPITAL], { home });
    expect(alone.code).toBe(0);
    expect(alone.out).toContain("Paris");
    expect(alone.err).toContain("The prompt was dropped before it was durable");

    await using app = await RunningApp.start({ home });
    const served = await askJson([CAPITAL], { home });
    expect(served.cachedTokens).toEqual({ ram: 0, ssd: 0 });
    expect(served.text).toBe(alone.out.trim());
    expect(await app.stop()).toBe(0);
    expect(app.process.err).toContain("dropped before they were durable");
  },
);
