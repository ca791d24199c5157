// What passes between the engine's port on the main thread and its worker.
import type {
  EngineStatus,
  GenerateProgress,
  GenerateRequest,
  GenerateResult,
  ModelInfo,
  WireError,
} from "../contract/engine.ts";

/** How an engine is set up once, for as long as its worker lives. */
export type EngineOptions = {
  readonly mlxLibrary: string;
  /** OpenBLAS, whose thread count is ours to set; null where MLX brings its own. */
  readonly blasLibrary: string | null;
  readonly cores: number;
  /** Folder of the SSD tier, owned by this process; null: RAM only. */
  readonly cacheFolder: string | null;
  /** Text of the storage worker. */
  readonly storageWorker: string;
  /** Where the identities of models are remembered; null: nowhere. */
  readonly fingerprintFile: string | null;
  /** Text of the worker that runs chat templates. */
  readonly templateWorker: string;
  /** Bytes of live KV that may stay behind after requests. */
  readonly ramBudgetBytes: number;
};

export type EngineCommand =
  | { readonly kind: "load"; readonly id: number; readonly modelPath: string }
  | { readonly kind: "unload"; readonly id: number }
  | { readonly kind: "generate"; readonly id: number; readonly request: GenerateRequest }
  /** Ends the generate command `target`; it still answers. */
  | { readonly kind: "cancel"; readonly target: number }
  | { readonly kind: "status"; readonly id: number }
  /** Cancels what runs, waits for what is being written, frees everything. */
  | { readonly kind: "close"; readonly id: number; readonly flushMs: number };

/** What a command is answered with. */
export type EngineReplies = {
  readonly load: ModelInfo;
  readonly unload: null;
  readonly generate: GenerateResult;
  readonly status: EngineStatus;
  /** Writes that were given up since the engine started. */
  readonly close: { readonly droppedJobs: number };
};

export type EngineEvent =
  | { readonly kind: "reply"; readonly id: number; readonly value: EngineReplies[keyof EngineReplies] }
  | { readonly kind: "failed"; readonly id: number; readonly error: WireError }
  /** Why new prompts are not kept on the SSD; null once they are again. */
  | { readonly kind: "ssd-fault"; readonly message: string | null }
  | { readonly kind: "log"; readonly line: string }
  | { readonly kind: "progress"; readonly id: number; readonly progress: GenerateProgress };
