// The engine itself, on whichever thread it is made: MLX, the model, the prompt cache and its SSD tier.
import { KeepwarmError } from "../base/errors.ts";
import { LruRetention } from "../cache/lru-retention.ts";
import { PromptCache } from "../cache/prompt-cache.ts";
import { WriteBehind } from "../cache/write-behind.ts";
import type { EngineStatus, GenerateProgress, GenerateRequest, GenerateResult, ModelInfo } from "../contract/engine.ts";
import { blasThreads, setBlasThreads } from "../mlx/blas-threads.ts";
import { MlxOps } from "../mlx/ops.ts";
import { MlxRuntime } from "../mlx/runtime.ts";
import { FingerprintMemory } from "../model/fingerprint-memory.ts";
import type { LiveKv } from "../model/live-kv.ts";
import { LoadedModel } from "../model/loaded-model.ts";
import { TemplateThread } from "../model/template-thread.ts";
import { openFilesystem } from "../platform/filesystem.ts";
import { KvWriter } from "../storage/kv-writer.ts";
import { SsdCacheStore } from "../storage/ssd-cache.ts";
import { generate, type Workbench } from "./generate.ts";
import { type KvBlock, LlamaKvBlocks } from "./kv-blocks.ts";
import type { EngineOptions } from "./messages.ts";
import { calibratePieces } from "./piece-shape.ts";
import { Scheduler } from "./scheduler.ts";

/** Copies that wait for the SSD may take this much before further ones are dropped. */
const PENDING_WRITE_BYTES = 1 << 30;
/** Freed buffers that MLX keeps for reuse: a few layers' worth of intermediates, not whole prompts. */
const MLX_CACHE_BYTES = 256 << 20;
/** How long another model waits for the writes of the one before. */
const UNLOAD_FLUSH_MS = 30_000;
/** How late a prompt may go whose time is over, while nobody asks for anything. */
const EXPIRY_CHECK_MS = 5_000;
/** More would only wait; a client that is refused can try again. */
const MAX_REQUESTS = 128;

/** Hears what nobody asked for. */
export type EngineNotices = {
  /** Why new prompts are not kept on the SSD; null once they are again. */
  readonly onSsdFault: (message: string | null) => void;
  /** For the log: damage that was found and what was done. Holds no text of a prompt. */
  readonly onLog: (line: string) => void;
};

/** Resolves when messages that came were served. */
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

type Ssd = { readonly store: SsdCacheStore; readonly close: () => Promise<void> };

export class EngineCore {
  readonly #options: EngineOptions;
  readonly #scheduler = new Scheduler();
  /** Loading, unloading and closing take turns too: each frees what another would still use. */
  readonly #changes = new Scheduler();
  readonly #never = new AbortController().signal;
  readonly #running = new Set<AbortController>();
  readonly #templates: TemplateThread;
  readonly #fingerprints: FingerprintMemory | null;
  readonly #notices: EngineNotices;
  #runtime: MlxRuntime | null = null;
  #ssd: Ssd | null = null;
  #bench: Workbench | null = null;
  #expiryTimer: NodeJS.Timeout | null = null;
  #ssdFault: string | null = null;
  #writesEnded: Promise<void> = Promise.resolve();
  #droppedJobs = 0;

  constructor(options: EngineOptions, notices: EngineNotices) {
    this.#options = options;
    this.#templates = new TemplateThread({ workerSource: options.templateWorker });
    const { fingerprintFile: path } = options;
    this.#fingerprints = path === null ? null : new FingerprintMemory({ filesystem: openFilesystem(), path });
    this.#notices = notices;
  }

  /** Loads a model in the place of the one before. Nothing of that one is left when loading fails. */
  load(modelPath: string): Promise<ModelInfo> {
    return this.#changes.run(() => this.#load(modelPath), this.#never);
  }

  /** Cancels what runs, keeps what was computed, and frees the model. Safe to call with none loaded. */
  unload(): Promise<void> {
    return this.#changes.run(() => this.#unload(UNLOAD_FLUSH_MS), this.#never);
  }

  async generate(
    request: GenerateRequest,
    onProgress: (progress: GenerateProgress) => void,
    signal: AbortSignal,
  ): Promise<GenerateResult> {
    const arrivedMs = performance.now();
    if (this.#scheduler.active >= MAX_REQUESTS) {
      throw new KeepwarmError("busy", `${MAX_REQUESTS} requests are waiting already. Try again in a moment.`);
    }
    const own = new AbortController();
    this.#running.add(own);
    const either = AbortSignal.any([signal, own.signal]);
    try {
      return await this.#scheduler.run(() => generate(this.#loaded(), request, onProgress, either, arrivedMs), either);
    } finally {
      this.#running.delete(own);
    }
  }

  status(): EngineStatus {
    const bench = this.#bench;
    const writes = bench?.writeBehind?.status ?? { pendingJobs: 0, droppedJobs: 0, lastError: null };
    return {
      model: bench && describe(bench.model),
      activeRequests: this.#scheduler.active,
      liveHandles: this.#runtime?.library.liveHandles ?? 0,
      memory: this.#runtime?.memory() ?? { activeBytes: 0, cacheBytes: 0, peakBytes: 0 },
      cache: {
        tips: bench?.cache.tips ?? 0,
        tipBytes: bench?.cache.tipBytes ?? 0,
        blocks: bench?.cache.blocks ?? 0,
        blockBytes: bench?.cache.blockBytes ?? 0,
        pinnedBytes: bench?.cache.pinnedBytes ?? 0,
        labels: [...(bench?.cache.bytesByLabel ?? [])].map(([label, bytes]) => ({ label, bytes })),
        ssdBytes: this.#ssd?.store.usage().bytes ?? 0,
      },
      writes: {
        pendingJobs: writes.pendingJobs,
        droppedJobs: writes.droppedJobs + this.#droppedJobs,
        lastError: writes.lastError ?? this.#ssdFault,
      },
    };
  }

  /** What is not durable after `flushMs` counts as dropped. */
  close(flushMs: number): Promise<{ readonly droppedJobs: number }> {
    return this.#changes.run(() => this.#close(flushMs), this.#never);
  }

  async #load(modelPath: string): Promise<ModelInfo> {
    await this.#unload(UNLOAD_FLUSH_MS);
    const runtime = this.#openRuntime();
    const ops = new MlxOps(runtime);
    using unfinished = new DisposableStack();
    const identity = { memory: this.#fingerprints, wallClock: Date.now, turn: nextTurn };
    const model = unfinished.use(
      await LoadedModel.load(runtime, ops, modelPath, { templates: this.#templates, identity }),
    );
    this.#ssd ??= await this.#openSsdOrGoWithout();
    const kv = new LlamaKvBlocks(runtime, ops, model.llama.config);
    using scratch = kv.allocate(1);
    const shape = calibratePieces(runtime, model.llama, scratch, () => performance.now());
    const store = this.#ssd?.store ?? null;
    this.#bench = {
      runtime,
      ops,
      model,
      shape,
      cache: new PromptCache<LiveKv, KvBlock>({
        maxBytes: this.#options.ramBudgetBytes,
        policy: new LruRetention(),
        kv,
        cold: store,
        now: () => performance.now(),
      }),
      writeBehind:
        store &&
        new WriteBehind<LiveKv, KvBlock>({
          kv,
          store,
          maxBytes: PENDING_WRITE_BYTES,
          onFault: (reason) => this.#setSsdFault(reason),
        }),
      now: () => performance.now(),
      randomSeed: () => crypto.getRandomValues(new Uint32Array(1))[0] ?? 0,
      turn: nextTurn,
    };
    this.#expiryTimer = setInterval(() => this.#bench?.cache.expire(), EXPIRY_CHECK_MS).unref();
    unfinished.move();
    return describe(model);
  }

  async #unload(flushMs: number): Promise<void> {
    for (const request of this.#running) request.abort();
    await this.#scheduler.idle();
    const bench = this.#bench;
    if (bench === null) return;
    this.#bench = null;
    clearInterval(this.#expiryTimer ?? undefined);
    await bench.writeBehind?.flush(flushMs);
    this.#writesEnded = bench.writeBehind?.idle() ?? Promise.resolve();
    this.#droppedJobs += bench.writeBehind?.status.droppedJobs ?? 0;
    bench.cache.clear();
    bench.model[Symbol.dispose]();
    bench.runtime.clearCache();
  }

  async #close(flushMs: number): Promise<{ readonly droppedJobs: number }> {
    await this.#unload(flushMs);
    await this.#templates.close();
    await this.#ssd?.close();
    // Jobs that missed the deadline still free their blocks, through the library.
    await this.#writesEnded;
    this.#ssd = null;
    this.#runtime?.[Symbol.dispose]();
    this.#runtime = null;
    return { droppedJobs: this.#droppedJobs };
  }

  #loaded(): Workbench {
    if (this.#bench === null) throw new KeepwarmError("not-ready", "No model is loaded.");
    return this.#bench;
  }

  #openRuntime(): MlxRuntime {
    if (this.#runtime !== null) return this.#runtime;
    const { blasLibrary, cores, mlxLibrary } = this.#options;
    const runtime = new MlxRuntime(mlxLibrary);
    if (blasLibrary !== null) setBlasThreads(blasLibrary, blasThreads(cores));
    runtime.setCacheLimit(MLX_CACHE_BYTES);
    this.#runtime = runtime;
    return runtime;
  }

  /** A folder that cannot be used costs the SSD tier, not the app; the status says why. */
  async #openSsdOrGoWithout(): Promise<Ssd | null> {
    try {
      const ssd = await this.#openSsd();
      this.#setSsdFault(null);
      return ssd;
    } catch (thrown) {
      if (!(thrown instanceof KeepwarmError)) throw thrown;
      this.#setSsdFault(thrown.message);
      return null;
    }
  }

  #setSsdFault(message: string | null): void {
    if (this.#ssdFault === message) return;
    this.#ssdFault = message;
    this.#notices.onSsdFault(message);
  }

  async #openSsd(): Promise<Ssd | null> {
    const { cacheFolder, storageWorker } = this.#options;
    if (cacheFolder === null) return null;
    const kvWriter = new KvWriter({ workerSource: storageWorker });
    const kvReader = new KvWriter({ workerSource: storageWorker });
    const store = await SsdCacheStore.open({
      folder: cacheFolder,
      kvWriter,
      kvReader,
      filesystem: openFilesystem(),
      log: this.#notices.onLog,
    });
    return {
      store,
      close: async () => {
        await store.close();
        await kvWriter.close();
        await kvReader.close();
      },
    };
  }
}

const describe = ({ id, name, weightBytes, llama }: LoadedModel): ModelInfo => {
  const { contextTokens, headDim, kvHeads, layers } = llama.config;
  return { id, name, contextTokens, weightBytes, kvBytesPerToken: layers * 2 * kvHeads * headDim * 4 };
};
