// Time to the first token of 32 new tokens on 2,000 warm ones: from the chat's own tip, with and without room in it, from
// another chat's tip and blocks, from the SSD, after a restart, and cold. Sides alternate in one process; the engine's own paths are timed.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { WriteBehind } from "../../src-bun/cache/write-behind.ts";
import type { KvBlock } from "../../src-bun/engine/kv-blocks.ts";
import { Sampler } from "../../src-bun/engine/sampler.ts";
import type { LiveKv } from "../../src-bun/model/live-kv.ts";
import { bundleWorker } from "../../src-bun/setup/bundle-workers.ts";
import type { SsdCacheStore } from "../../src-bun/storage/ssd-cache.ts";
import { type OpenStore, openStore } from "../support/open-store.ts";
import { retireTips } from "../support/retire-tips.ts";
import { Starter } from "../support/starter.ts";
import { TemporaryFolder } from "../support/temporary-folder.ts";
import { dropFromPageCache } from "./cold-file.ts";
import { type BenchResult, type Figure, figure, type Goal, median, voidFigure } from "./figure.ts";

const WARM_TOKENS = 2000;
const NEW_TOKENS = 32;
const RUNS = 5;
/** Allowed to a restore beside reading: messages, look-up, allocation. */
const RESTORE_ALLOWANCE_MS = 5;
const PIECE_BYTES = 2 ** 20;

const timed = async (work: () => Promise<void> | void): Promise<number> => {
  const start = performance.now();
  await work();
  return performance.now() - start;
};

class WarmBench {
  readonly #starter: Starter;
  readonly #worker: string;
  readonly #folder: string;
  /** 2,000 tokens, then 32 that differ from run to run. */
  readonly #ids: Uint32Array;

  constructor(starter: Starter, worker: string, folder: string) {
    this.#starter = starter;
    this.#worker = worker;
    this.#folder = folder;
    const text = Array.from({ length: 900 }, (_, index) => `Line ${index} of the manual says ${index * 13}.`).join(" ");
    this.#ids = Uint32Array.from(starter.model.tokenizer.encodeText(text)).slice(
      0,
      WARM_TOKENS + NEW_TOKENS * RUNS * 2,
    );
  }

  get shared(): Uint32Array {
    return this.#ids.slice(0, WARM_TOKENS);
  }

  prompt(run: number): Uint32Array {
    const from = WARM_TOKENS + (run % RUNS) * NEW_TOKENS;
    return Uint32Array.from([...this.shared, ...this.#ids.slice(from, from + NEW_TOKENS)]);
  }

  /** The rest of the prompt and the first token. */
  firstToken(prompt: Uint32Array, kv: LiveKv): void {
    const sampler = new Sampler(this.#starter.runtime, this.#starter.ops, { temperature: 0, seed: 0 });
    using logits = this.#starter.prefill(prompt.slice(kv.length), kv, this.#starter.calibrated);
    sampler.sample(logits);
  }

  openStore(): Promise<OpenStore> {
    return openStore(this.#folder, this.#worker);
  }

  async save(kv: LiveKv): Promise<void> {
    const { store, close } = await this.openStore();
    const writeBehind = new WriteBehind<LiveKv, KvBlock>({ kv: this.#starter.kv, store, maxBytes: 2 ** 31 });
    await writeBehind.schedule(this.shared, "bench", kv, () => Promise.resolve());
    await writeBehind.flush(120_000);
    if (writeBehind.status.droppedJobs > 0) throw new Error(`not saved: ${writeBehind.status.lastError}`);
    await close();
  }

  /** TTFT through a cache whose second tier is `store`. */
  async fromStore(store: SsdCacheStore, prompt: Uint32Array): Promise<void> {
    const cache = this.#starter.promptCache(store);
    const take = await cache.take(prompt, "bench", prompt.length + 256);
    if (take.cachedTokens.ssd !== WARM_TOKENS) throw new Error(`${take.cachedTokens.ssd} tokens came from the SSD`);
    this.firstToken(prompt, take.kv);
    cache.release(take);
  }

  /** The same bytes, read in pieces and hashed with the checksum that a restore verifies. */
  rawRead(): void {
    for (const name of readdirSync(this.#folder).filter((one) => one.endsWith(".kv"))) {
      const bytes = readFileSync(join(this.#folder, name));
      for (let at = 0; at < bytes.length; at += PIECE_BYTES) Bun.hash.xxHash3(bytes.subarray(at, at + PIECE_BYTES));
    }
  }
}

type Times = Record<"suffix" | "tip" | "fullTip" | "forkOfTip" | "fork" | "cold", number[]>;

/** Computes the shared tokens once and makes them durable. */
const saveShared = async (bench: WarmBench, starter: Starter): Promise<void> => {
  using kv = starter.kv.allocate(WARM_TOKENS);
  starter.prefill(bench.shared, kv)[Symbol.dispose]();
  await bench.save(kv);
};

/** One round: the bare suffix, the chat's own next turns and another chat's first, on the same warm tokens. */
const ramRun = async (bench: WarmBench, starter: Starter, store: SsdCacheStore, run: number) => {
  const prompt = bench.prompt(run);
  const other = bench.prompt(run + 1);
  const room = prompt.length + 256;
  const cache = starter.promptCache(store);
  const warm = await cache.take(prompt, "bench", room);
  if (warm.kv.length !== WARM_TOKENS) throw new Error(`${warm.kv.length} tokens were warm`);
  const suffix = await timed(() => bench.firstToken(prompt, warm.kv));
  cache.put(warm, bench.shared, WARM_TOKENS);
  const tip = await timed(async () => {
    const next = await cache.take(prompt, "bench", room);
    if (next.kv !== warm.kv) throw new Error("the tip was copied");
    bench.firstToken(prompt, next.kv);
    cache.put(next, prompt, prompt.length);
  });
  const fork = () =>
    timed(async () => {
      const next = await cache.take(other, "bench", room);
      if (next.kv === warm.kv || next.cachedTokens.ram < WARM_TOKENS) throw new Error("the fork was not copied");
      bench.firstToken(other, next.kv);
      cache.release(next);
    });
  const forkOfTip = await fork();
  cache.clear();
  const full = await cache.take(prompt, "bench", prompt.length);
  cache.put(full, bench.shared, WARM_TOKENS);
  const fullTip = await timed(async () => {
    const before = starter.kv.bytes(full.kv);
    const next = await cache.take(prompt, "bench", room);
    if (next.kv !== full.kv || starter.kv.bytes(next.kv) === before) throw new Error("the tip did not grow");
    bench.firstToken(prompt, next.kv);
    cache.put(next, prompt, prompt.length);
  });
  retireTips(cache, starter.kv.bytesOf(1));
  const times = { suffix, tip, fullTip, forkOfTip, fork: await fork() };
  cache.clear();
  return times;
};

const ramTimes = async (bench: WarmBench, starter: Starter): Promise<Times> => {
  const times: Times = { suffix: [], tip: [], fullTip: [], forkOfTip: [], fork: [], cold: [] };
  const { store, close } = await bench.openStore();
  await ramRun(bench, starter, store, 0);
  for (let run = 0; run < RUNS; run++) {
    const once = await ramRun(bench, starter, store, run);
    for (const name of ["suffix", "tip", "fullTip", "forkOfTip", "fork"] as const) times[name].push(once[name]);
    times.cold.push(await coldTime(bench, starter, bench.prompt(run)));
  }
  await close();
  return times;
};

const coldTime = (bench: WarmBench, starter: Starter, prompt: Uint32Array): Promise<number> =>
  timed(() => {
    using kv = starter.kv.allocate(prompt.length);
    bench.firstToken(prompt, kv);
  });

type SsdRun = { readonly raw: number; readonly restore: number; readonly restart: number };

const ssdRun = async (bench: WarmBench, folder: string, run: number): Promise<SsdRun | null> => {
  const prompt = bench.prompt(run + 1);
  if (dropFromPageCache(folder) > 0) return null;
  const raw = await timed(() => bench.rawRead());
  const { store, close } = await bench.openStore();
  // The reader's thread and its code are there once the app has restored anything at all.
  await bench.fromStore(store, prompt);
  if (dropFromPageCache(folder) > 0) return null;
  const restore = await timed(() => bench.fromStore(store, prompt));
  await close();
  if (dropFromPageCache(folder) > 0) return null;
  let reopened: OpenStore | null = null;
  const restart = await timed(async () => {
    reopened = await bench.openStore();
    await bench.fromStore(reopened.store, prompt);
  });
  await (reopened as OpenStore | null)?.close();
  return { raw, restore, restart };
};

const ssdFigures = (runs: readonly (SsdRun | null)[], tipMs: number): Figure[] => {
  const good = runs.filter((run) => run !== null);
  const overhead = (id: string, goal: Goal, timeOf: (run: SsdRun) => number): Figure =>
    good.length < RUNS
      ? voidFigure(id, "ratio", goal, "the page cache kept some of the file")
      : figure(
          id,
          "ratio",
          goal,
          good.map((run) => (timeOf(run) - tipMs - RESTORE_ALLOWANCE_MS) / run.raw),
        );
  return [
    overhead("restore.overheadVsRaw", { atMost: 1.25 }, ({ restore }) => restore),
    overhead("restart.overheadVsRaw", { atMost: 1.35 }, ({ restart }) => restart),
  ];
};

const ratios = (a: readonly number[], b: readonly number[]): number[] =>
  a.map((value, run) => value / (b[run] ?? Number.NaN));

export const warmBench = async (): Promise<BenchResult> => {
  using folder = new TemporaryFolder();
  using starter = await Starter.open();
  const worker = await bundleWorker(join(import.meta.dir, "../../src-bun/storage/kv-writer.worker.ts"));
  const bench = new WarmBench(starter, worker, folder.path);
  await saveShared(bench, starter);
  const times = await ramTimes(bench, starter);
  const ssdRuns: (SsdRun | null)[] = [];
  for (let run = 0; run < RUNS; run++) ssdRuns.push(await ssdRun(bench, folder.path, run));
  const tipMs = median(times.tip);
  const good = ssdRuns.filter((run) => run !== null);
  return {
    figures: [
      figure("ttft.tipVsSuffix", "ratio", { atMost: 1.05 }, ratios(times.tip, times.suffix)),
      // A tip that has outgrown its room is copied once, as a fork is.
      figure("ttft.fullTipVsSuffix", "ratio", { atMost: 1.25 }, ratios(times.fullTip, times.suffix)),
      figure("ttft.forkVsSuffix", "ratio", { atMost: 1.25 }, ratios(times.fork, times.suffix)),
      figure("ttft.forkOfTipVsSuffix", "ratio", { atMost: 1.25 }, ratios(times.forkOfTip, times.suffix)),
      figure(
        "ttft.coldVsRam",
        "ratio",
        { atLeast: 15 },
        times.cold.map((cold) => cold / tipMs),
      ),
      ...ssdFigures(ssdRuns, tipMs),
    ],
    context: {
      model: starter.model.id,
      warmTokens: WARM_TOKENS,
      newTokens: NEW_TOKENS,
      ms: {
        suffix: median(times.suffix),
        tip: tipMs,
        fullTip: median(times.fullTip),
        fork: median(times.fork),
        forkOfTip: median(times.forkOfTip),
        cold: median(times.cold),
        raw: good.length > 0 ? median(good.map(({ raw }) => raw)) : null,
        restore: good.length > 0 ? median(good.map(({ restore }) => restore)) : null,
        restart: good.length > 0 ? median(good.map(({ restart }) => restart)) : null,
      },
    },
  };
};
