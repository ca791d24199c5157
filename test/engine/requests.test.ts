// Many requests against the whole engine: nothing leaks, cancelling is quick, faults are named.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { copyFileSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { KeepwarmError } from "../../src-bun/base/errors.ts";
import type { GenerateProgress, GenerateRequest } from "../../src-bun/contract/engine.ts";
import { EngineCore } from "../../src-bun/engine/engine-core.ts";
import { bundleWorker } from "../../src-bun/setup/bundle-workers.ts";
import { Random } from "../support/random.ts";
import { isSizeRelease } from "../support/size.ts";
import { templateWorker } from "../support/template-worker.ts";
import { TemporaryFolder } from "../support/temporary-folder.ts";
import { testSetup } from "../support/test-setup.ts";

const ROUNDS = isSizeRelease ? 1000 : 100;
/** Of a tip or a block: keys and values of 30 layers. */
const KEPT_HANDLES = 60;
const MIB = 2 ** 20;
const folder = new TemporaryFolder();
let core: EngineCore;
let modelPath: string;

beforeAll(async () => {
  const setup = await testSetup();
  modelPath = setup.starterModel;
  core = new EngineCore(
    {
      ...setup,
      cores: availableParallelism(),
      cacheFolder: folder.path,
      fingerprintFile: null,
      storageWorker: await bundleWorker(join(import.meta.dir, "../../src-bun/storage/kv-writer.worker.ts")),
      templateWorker: await templateWorker(),
      ramBudgetBytes: 200 * MIB,
    },
    notices,
  );
  await core.load(modelPath);
});

afterAll(async () => {
  await core.close(10_000);
  folder[Symbol.dispose]();
});

const request = (content: string, changes: Partial<GenerateRequest> = {}): GenerateRequest => ({
  messages: [{ role: "user", content }],
  model: null,
  maxTokens: 4,
  sampling: { temperature: 0, seed: 1 },
  ...changes,
});

const notices = { onSsdFault: console.log, onLog: console.log };
const never = new AbortController().signal;
const ask = (
  order: GenerateRequest,
  onProgress: (progress: GenerateProgress) => void = () => undefined,
  signal = never,
) => core.generate(order, onProgress, signal);

const written = async (): Promise<void> => {
  while (core.status().writes.pendingJobs > 0) await new Promise((resolve) => setImmediate(resolve));
};

const codeOf = async (failing: Promise<unknown>): Promise<string> => {
  const thrown = await failing.then(
    () => null,
    (error: unknown) => error,
  );
  return thrown instanceof KeepwarmError ? thrown.code : `not refused: ${thrown}`;
};

describe("answers", () => {
  test("the capital of France is Paris, with text streamed as it comes", async () => {
    let streamed = "";
    const result = await ask(request("What is the capital of France?", { maxTokens: 20 }), (progress) => {
      if (progress.kind === "text") streamed += progress.text;
    });
    expect(result.text).toContain("Paris");
    expect(streamed).toBe(result.text);
    expect(result.finishReason).toBe("stop");
  });

  test("the same seed gives the same text, another one another", async () => {
    const seeded = (seed: number) =>
      ask(request("Invent a name for a boat.", { maxTokens: 12, sampling: { temperature: 1.2, seed } }));
    const first = await seeded(7);
    const again = await seeded(7);
    const other = await seeded(8);
    expect(again.text).toBe(first.text);
    expect(other.text).not.toBe(first.text);
  });

  test("a chat's second turn has the whole previous prompt warm", async () => {
    const question = "Name three colours.";
    const first = await ask(request(question, { maxTokens: 12 }));
    const second = await ask({
      ...request("Name two more."),
      messages: [
        { role: "user", content: question },
        { role: "assistant", content: first.text },
        { role: "user", content: "Name two more." },
      ],
    });
    expect(second.cachedTokens.ram).toBeGreaterThanOrEqual(first.promptTokens);
    // Where the answer's ids part after tokenising it again, the index is told.
    const kept = first.promptTokens + first.completionTokens - 1;
    if (second.cachedTokens.ram < kept) {
      expect(second.missReason).toEqual({ kind: "diverged", atToken: second.cachedTokens.ram });
    } else expect(second.missReason).toBeNull();
  });

  test("several requests at once are answered in turn, none mixed up", async () => {
    const alone = await ask(request("What is the capital of Italy?", { maxTokens: 12 }));
    const cities = ["Italy", "Spain", "Italy", "Japan"];
    const results = await Promise.all(
      cities.map((name) => ask(request(`What is the capital of ${name}?`, { maxTokens: 12 }))),
    );
    expect(results[0]?.text).toBe(alone.text);
    expect(results[2]?.text).toBe(alone.text);
    expect(results[3]?.text).toContain("Tokyo");
  });
});

describe("cancelling", () => {
  test("R8 in the prompt ends within a piece and keeps the finished spans", async () => {
    const long = request(Array.from({ length: 120 }, (_, index) => `Number ${index}.`).join(" "));
    const stop = new AbortController();
    let finished = 0;
    const cancelled = await ask(
      long,
      (progress) => {
        if (progress.kind !== "prefill" || progress.doneTokens < 256) return;
        finished = progress.doneTokens;
        stop.abort();
      },
      stop.signal,
    );
    expect(cancelled.finishReason).toBe("cancelled");
    expect(cancelled.text).toBe("");
    expect(cancelled.ttftMs).toBeNull();
    const again = await ask(long);
    expect(again.cachedTokens.ram).toBe(finished);
    expect(finished).toBeLessThan(again.promptTokens - 1);
  });

  test("a request that waits for its turn never starts", async () => {
    const stop = new AbortController();
    const first = ask(request("Count to ten."));
    const second = ask(request("Count to twenty."), () => undefined, stop.signal);
    stop.abort();
    expect(await codeOf(second)).toBe("cancelled");
    expect((await first).finishReason).toBe("length");
  });
});

describe("refusals", () => {
  test("no messages, an unknown model, a prompt beyond the context", async () => {
    expect(await codeOf(ask(request("x", { messages: [] })))).toBe("bad-request");
    expect(await codeOf(ask(request("x", { model: "gpt-9" })))).toBe("unknown-model");
    expect(await codeOf(ask(request("word ".repeat(9000))))).toBe("context-exceeded");
  });

  test("a file that is no model, or only a part of one, is named, leaves nothing and the engine lives", async () => {
    const broken = new EngineCore(
      {
        ...(await testSetup()),
        cores: 1,
        cacheFolder: null,
        fingerprintFile: null,
        storageWorker: "",
        templateWorker: await templateWorker(),
        ramBudgetBytes: 0,
      },
      notices,
    );
    const text = join(folder.path, "text.gguf");
    await Bun.write(text, "this is no model");
    const half = join(folder.path, "half.gguf");
    copyFileSync(modelPath, half);
    truncateSync(half, 40 * MIB);
    const partial = join(folder.path, "partial.gguf");
    const bytes = readFileSync(modelPath);
    bytes.write("other", bytes.indexOf("output_norm.weight"));
    writeFileSync(partial, bytes);
    for (const path of [text, half, partial, join(folder.path, "absent.gguf")]) {
      expect(await codeOf(broken.load(path))).toBe("damaged-file");
    }
    expect(broken.status().liveHandles).toBe(0);
    await broken.close(0);
  });
});

test(`after each of ${ROUNDS} mixed requests the live handles are those of the weights and of what is kept`, async () => {
  const seed = Number(process.env["SEED"] ?? Math.floor(Math.random() * 2 ** 31));
  console.log(`seed ${seed}`);
  const random = new Random(seed);
  await written();
  const before = core.status();
  const weights = before.liveHandles - (before.cache.tips + before.cache.blocks) * KEPT_HANDLES;
  let cancelled = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const stop = new AbortController();
    // Abort at a random progress event, or never.
    let left = random.below(3) === 0 ? random.below(4) : Number.POSITIVE_INFINITY;
    const order = request(`Request ${random.below(20)}: ${"go on ".repeat(random.below(40))}`, {
      maxTokens: 1 + random.below(5),
      sampling: { temperature: random.below(2), seed: round },
    });
    const result = await ask(
      order,
      () => {
        if (left-- <= 0) stop.abort();
      },
      stop.signal,
    );
    if (result.finishReason === "cancelled") cancelled++;
    await written();
    const { cache, liveHandles } = core.status();
    expect(liveHandles).toBe(weights + (cache.tips + cache.blocks) * KEPT_HANDLES);
  }
  console.log(`${cancelled} of ${ROUNDS} were cancelled`);
  expect(cancelled).toBeGreaterThan(0);
  expect(core.status().writes.droppedJobs).toBe(0);
});

test("unloading gives back everything the model took", async () => {
  await core.unload();
  const idle = core.status();
  expect(idle.liveHandles).toBe(0);
  expect(idle.memory.activeBytes).toBeLessThan(MIB);
  await core.load(modelPath);
  await ask(request("Once more."));
  await core.unload();
  expect(core.status().memory.activeBytes).toBeLessThanOrEqual(idle.memory.activeBytes + MIB);
  await core.load(modelPath);
});

test("of two loads at once one model is left", async () => {
  await core.load(modelPath);
  const { liveHandles } = core.status();
  await Promise.all([core.load(modelPath), core.load(modelPath)]);
  expect(core.status().liveHandles).toBe(liveHandles);
});
