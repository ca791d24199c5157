// The engine's port over its worker, as the main thread uses it.
import { afterEach, expect, test } from "bun:test";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { KeepwarmError } from "../../src-bun/base/errors.ts";
import type { GenerateRequest } from "../../src-bun/contract/engine.ts";
import { Engine } from "../../src-bun/engine/engine.ts";
import { bundleWorker } from "../../src-bun/setup/bundle-workers.ts";
import { templateWorker } from "../support/template-worker.ts";
import { TemporaryFolder } from "../support/temporary-folder.ts";
import { testSetup } from "../support/test-setup.ts";

const sources = join(import.meta.dir, "../../src-bun");
const exits: KeepwarmError[] = [];
const faults: (string | null)[] = [];
afterEach(() => {
  exits.length = 0;
  faults.length = 0;
});

const request = (content: string, maxTokens = 4): GenerateRequest => ({
  messages: [{ role: "user", content }],
  model: null,
  maxTokens,
  sampling: { temperature: 0 },
});

const start = async (source?: string, cacheFolder: string | null = null): Promise<Engine> => {
  const setup = await testSetup();
  const engineWorker = source ?? (await bundleWorker(join(sources, "engine/engine-worker.ts")));
  const options = {
    ...setup,
    cores: availableParallelism(),
    cacheFolder,
    fingerprintFile: null,
    storageWorker: "",
    templateWorker: await templateWorker(),
    ramBudgetBytes: 2 ** 28,
  };
  return new Engine(engineWorker, options, {
    onExit: (error) => exits.push(error),
    onSsdFault: (message) => faults.push(message),
    onLog: ignore,
  });
};

const never = new AbortController().signal;
const ignore = (): void => undefined;

const codeOf = (failing: Promise<unknown>): Promise<string> =>
  failing.then(
    () => "nothing was thrown",
    (thrown: unknown) => (thrown instanceof KeepwarmError ? thrown.code : String(thrown)),
  );

test("loads, answers, cancels, unloads and closes; the status tells each", async () => {
  const engine = await start();
  expect((await engine.status()).model).toBeNull();
  expect(await codeOf(engine.generate(request("Hello"), ignore, never))).toBe("not-ready");
  const { starterModel } = await testSetup();
  const info = await engine.load(starterModel);
  expect(info.contextTokens).toBe(8192);
  expect((await engine.status()).model).toEqual(info);

  const kinds: string[] = [];
  const result = await engine.generate(
    request("What is the capital of France?", 20),
    ({ kind }) => kinds.push(kind),
    never,
  );
  expect(result.text).toContain("Paris");
  expect(kinds[0]).toBe("prefill");
  expect(kinds.at(-1)).toBe("text");

  const stop = new AbortController();
  const long = engine.generate(request("word ".repeat(3000)), () => stop.abort(), stop.signal);
  expect((await engine.status()).activeRequests).toBe(1);
  expect((await long).finishReason).toBe("cancelled");
  expect(await codeOf(engine.generate(request("Hello"), ignore, stop.signal))).toBe("cancelled");

  await engine.unload();
  expect((await engine.status()).model).toBeNull();
  expect(await engine.close(1000)).toEqual({ droppedJobs: 0 });
  expect(exits).toEqual([]);
});

test("a cache folder that cannot be used costs the SSD tier, not the answer, and says so", async () => {
  using folder = new TemporaryFolder();
  const path = join(folder.path, "a-file");
  await Bun.write(path, "not a folder");
  const engine = await start(undefined, path);
  const { starterModel } = await testSetup();
  await engine.load(starterModel);
  expect((await engine.generate(request("Hello"), ignore, never)).finishReason).toBe("length");
  expect(faults).toHaveLength(1);
  expect((await engine.status()).writes.lastError).toBe(faults[0] as string);
  await engine.close(1000);
});

test("a worker that dies rejects what waits, and is told", async () => {
  const engine = await start(`
    const { parentPort } = require("node:worker_threads");
    parentPort.on("message", () => process.exit(3));`);
  expect(await codeOf(engine.status())).toBe("engine-exited");
  expect(await codeOf(engine.status())).toBe("engine-exited");
  expect(exits.map(({ code }) => code)).toEqual(["engine-exited"]);
  expect(await engine.close(1000)).toEqual({ droppedJobs: 0 });
});

test("a worker that throws is told with its words", async () => {
  const engine = await start(`
    const { parentPort } = require("node:worker_threads");
    parentPort.on("message", () => { throw new Error("the engine broke"); });`);
  await codeOf(engine.status());
  expect(exits[0]?.message).toContain("the engine broke");
});

test("a fault of ours stays one on its way from the worker", async () => {
  const engine = await start(`
    const { parentPort } = require("node:worker_threads");
    parentPort.on("message", ({ id, kind }) => parentPort.postMessage(kind === "close"
      ? { kind: "reply", id, value: { droppedJobs: 0 } }
      : { kind: "failed", id, error: { code: "internal", message: "a mistake" } }));`);
  expect(await codeOf(engine.status())).toBe("Error: a mistake");
  await engine.close(1000);
});
