// Keepwarm in this process: owns the cache folder, sets itself up, runs the engine. Hosts and commands are built on it.
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { KeepwarmError, wireError } from "../base/errors.ts";
import type { EnginePort } from "../contract/engine.ts";
import { Engine } from "../engine/engine.ts";
import { acquireFileLock, type FileLock } from "../platform/file-lock.ts";
import { openFilesystem } from "../platform/filesystem.ts";
import type { Environment, Paths } from "../platform/paths.ts";
import { bundleWorker } from "../setup/bundle-workers.ts";
import { ensureSetup } from "../setup/setup.ts";
import { AppStateStore } from "./app-state-store.ts";

/** Bytes of KV that may stay in RAM after requests. */
const RAM_BUDGET_BYTES = 2 * 2 ** 30;

const sources = join(import.meta.dir, "..");

export type LocalAppOptions = {
  readonly paths: Paths;
  /** Holds libmlxc and what it needs; used as it is. */
  readonly givenLibraryFolder: string | null;
  /** For the programs that set-up calls. */
  readonly environment: Environment;
  readonly log: (line: string) => void;
};

export class LocalApp {
  readonly state = new AppStateStore();
  readonly #paths: Paths;
  readonly #givenLibraryFolder: string | null;
  readonly #environment: Environment;
  readonly #log: (line: string) => void;
  readonly #stop = new AbortController();
  #lock: FileLock | null = null;
  #engine: Engine | null = null;
  #ssdFault: string | null = null;
  #started: Promise<void> = Promise.resolve();
  #closed: Promise<{ readonly droppedJobs: number }> | null = null;

  constructor(options: LocalAppOptions) {
    this.#paths = options.paths;
    this.#environment = options.environment;
    this.#log = options.log;
    this.#givenLibraryFolder = options.givenLibraryFolder;
  }

  /** Becomes the owner of the data folder and all below it. Throws "busy" while another process is. */
  own(): void {
    const files = openFilesystem();
    for (const folder of [this.#paths.data, this.#paths.promptCache]) files.makeFolder(folder);
    const lock = acquireFileLock(join(this.#paths.data, "lock"));
    if (lock === "busy") {
      throw new KeepwarmError(
        "busy",
        `Another Keepwarm is using ${this.#paths.data}. Quit it first, or set KEEPWARM_HOME to another folder.`,
      );
    }
    this.#lock = lock;
  }

  /**
   * Sets up and loads the starter model; what happens shows in `state`. A failure ends there too and is thrown; a close
   * before the end throws "cancelled".
   */
  start(): Promise<void> {
    this.#started = this.#start();
    return this.#started;
  }

  async #start(): Promise<void> {
    try {
      const libraries = await ensureSetup({
        cacheFolder: this.#paths.downloads,
        givenLibraryFolder: this.#givenLibraryFolder,
        environment: this.#environment,
        onProgress: (parts) => this.state.set({ kind: "setting-up", parts }),
        signal: this.#stop.signal,
      });
      this.state.set({ kind: "loading", modelName: "the starter model" });
      const [engineWorker, storageWorker, templateWorker] = await Promise.all([
        bundleWorker(join(sources, "engine/engine-worker.ts")),
        bundleWorker(join(sources, "storage/kv-writer.worker.ts")),
        bundleWorker(join(sources, "model/template.worker.ts")),
      ]);
      const engine = new Engine(
        engineWorker,
        {
          mlxLibrary: libraries.mlxLibrary,
          blasLibrary: libraries.blasLibrary,
          cores: availableParallelism(),
          cacheFolder: this.#paths.promptCache,
          fingerprintFile: join(this.#paths.data, "fingerprints.json"),
          storageWorker,
          templateWorker,
          ramBudgetBytes: RAM_BUDGET_BYTES,
        },
        {
          onExit: (error) => this.state.set({ kind: "failed", error: wireError(error) }),
          onSsdFault: (message) => this.#setSsdFault(message),
          onLog: this.#log,
        },
      );
      this.#engine = engine;
      const model = await engine.load(libraries.starterModel);
      if (this.#stop.signal.aborted) throw new KeepwarmError("cancelled", "Keepwarm was stopped before it was ready.");
      this.state.set({ kind: "ready", model, ssdFault: this.#ssdFault });
    } catch (thrown) {
      if (!this.#stop.signal.aborted) this.state.set({ kind: "failed", error: wireError(thrown) });
      throw thrown;
    }
  }

  #setSsdFault(message: string | null): void {
    this.#ssdFault = message;
    const state = this.state.current();
    if (state.kind === "ready" && state.ssdFault !== message) this.state.set({ ...state, ssdFault: message });
  }

  /** Throws "not-ready", with what it waits for, until a model is loaded. */
  engine(): EnginePort {
    const state = this.state.current();
    if (this.#engine !== null && state.kind === "ready") return this.#engine;
    if (state.kind === "failed") throw new KeepwarmError("not-ready", `Keepwarm cannot answer: ${state.error.message}`);
    const doing = state.kind === "loading" ? "loading the model" : "being set up";
    throw new KeepwarmError("not-ready", `Keepwarm is still ${doing}. Try again in a moment.`);
  }

  /** Ends after what was computed is durable or, after `flushMs`, counted as dropped. Safe to call twice, also at once. */
  close(flushMs: number): Promise<{ readonly droppedJobs: number }> {
    this.#closed ??= this.#close(flushMs);
    return this.#closed;
  }

  async #close(flushMs: number): Promise<{ readonly droppedJobs: number }> {
    this.#stop.abort();
    // An engine that is closed while it loads would free what the load still uses.
    await Promise.allSettled([this.#started]);
    const result = (await this.#engine?.close(flushMs)) ?? { droppedJobs: 0 };
    this.#engine = null;
    this.#lock?.[Symbol.dispose]();
    this.#lock = null;
    return result;
  }
}
