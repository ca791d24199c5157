// How long anything waits for a thread while 4,096 tokens are prefilled: the main thread, the engine's messages, a cancel.
import { availableParallelism } from "node:os";
import { join } from "node:path";
import type { GenerateRequest } from "../../src-bun/contract/engine.ts";
import { Engine } from "../../src-bun/engine/engine.ts";
import { bundleWorker } from "../../src-bun/setup/bundle-workers.ts";
import { TemporaryFolder } from "../support/temporary-folder.ts";
import { testSetup } from "../support/test-setup.ts";
import { type BenchResult, figure, quantile } from "./figure.ts";

const CANCELS = 10;
const PROBE_MS = 5;
const sources = join(import.meta.dir, "../../src-bun");

const startEngine = async (cacheFolder: string): Promise<{ engine: Engine; model: string }> => {
  const setup = await testSetup();
  const [engineWorker, storageWorker, templateWorker] = await Promise.all([
    bundleWorker(join(sources, "engine/engine-worker.ts")),
    bundleWorker(join(sources, "storage/kv-writer.worker.ts")),
    bundleWorker(join(sources, "model/template.worker.ts")),
  ]);
  const workers = { storageWorker, templateWorker, fingerprintFile: null };
  const options = { ...setup, ...workers, cores: availableParallelism(), cacheFolder, ramBudgetBytes: 2 ** 31 };
  const engine = new Engine(engineWorker, options, {
    onExit: (error) => {
      throw error;
    },
    onSsdFault: (message) => console.error(message ?? "The SSD tier is back."),
    onLog: console.error,
  });
  const { id } = await engine.load(setup.starterModel);
  return { engine, model: id };
};

/** About 4,096 tokens that no earlier request shares. */
const request = (run: number): GenerateRequest => ({
  messages: [{ role: "user", content: `Run ${run}. ${"The quick brown fox jumps over the lazy dog. ".repeat(406)}` }],
  model: null,
  maxTokens: 1,
  sampling: { temperature: 0 },
});

/** Probes until `done`: lateness of a timer on this thread, and the round trip of a status message. */
const probe = async (engine: Engine, done: Promise<unknown>) => {
  let isOver = false;
  done.then(
    () => (isOver = true),
    () => (isOver = true),
  );
  const mainMs: number[] = [];
  const engineMs: number[] = [];
  const main = (async () => {
    while (!isOver) {
      const start = performance.now();
      await Bun.sleep(PROBE_MS);
      mainMs.push(Math.max(0, performance.now() - start - PROBE_MS));
    }
  })();
  while (!isOver) {
    const start = performance.now();
    await engine.status();
    engineMs.push(performance.now() - start);
    await Bun.sleep(PROBE_MS);
  }
  await main;
  return { mainMs, engineMs };
};

/** From the cancel to the answer, at ever later moments of the prompt. */
const cancelTimes = async (engine: Engine): Promise<number[]> => {
  const times: number[] = [];
  for (let run = 0; run < CANCELS; run++) {
    const stop = new AbortController();
    let cancelledAt = 0;
    const threshold = (run / CANCELS) * 3800;
    await engine.generate(
      request(1000 + run),
      (progress) => {
        if (progress.kind !== "prefill" || progress.doneTokens < threshold || stop.signal.aborted) return;
        cancelledAt = performance.now();
        stop.abort();
      },
      stop.signal,
    );
    times.push(performance.now() - cancelledAt);
  }
  return times;
};

export const loopBench = async (): Promise<BenchResult> => {
  using folder = new TemporaryFolder();
  const { engine, model } = await startEngine(folder.path);
  const answering = engine.generate(request(0), () => undefined, new AbortController().signal);
  const { mainMs, engineMs } = await probe(engine, answering);
  const { promptTokens, prefillTokensPerSecond } = await answering;
  const cancels = await cancelTimes(engine);
  await engine.close(10_000);
  return {
    figures: [
      figure("mainDelay.p99Ms", "ms", { atMost: 20 }, mainMs, quantile(mainMs, 0.99)),
      figure("mainDelay.maxMs", "ms", { atMost: 60 }, mainMs, Math.max(...mainMs)),
      figure("engineDelay.p99Ms", "ms", { atMost: 250 }, engineMs, quantile(engineMs, 0.99)),
      figure("cancel.maxMs", "ms", { atMost: 300 }, cancels, Math.max(...cancels)),
    ],
    context: { model, promptTokens, prefillTokensPerSecond },
  };
};
