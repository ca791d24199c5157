// The starter model in this process, for tests that look inside the engine.
import { availableParallelism } from "node:os";
import type { ColdTier } from "../../src-bun/cache/cold-tier.ts";
import { LruRetention } from "../../src-bun/cache/lru-retention.ts";
import { PromptCache } from "../../src-bun/cache/prompt-cache.ts";
import type { ChatMessage } from "../../src-bun/contract/engine.ts";
import { Forward, type PieceShape } from "../../src-bun/engine/forward.ts";
import { type KvBlock, LlamaKvBlocks } from "../../src-bun/engine/kv-blocks.ts";
import { calibratePieces } from "../../src-bun/engine/piece-shape.ts";
import type { MlxArray } from "../../src-bun/mlx/array.ts";
import { blasThreads, setBlasThreads } from "../../src-bun/mlx/blas-threads.ts";
import { MlxOps } from "../../src-bun/mlx/ops.ts";
import { MlxRuntime } from "../../src-bun/mlx/runtime.ts";
import type { LiveKv } from "../../src-bun/model/live-kv.ts";
import { LoadedModel } from "../../src-bun/model/loaded-model.ts";
import { loadHelp } from "./template-worker.ts";
import { testSetup } from "./test-setup.ts";

const SHAPE: PieceShape = { spanTokens: 256, layersPerPiece: 30 };

export class Starter implements Disposable {
  readonly runtime: MlxRuntime;
  readonly ops: MlxOps;
  readonly model: LoadedModel;
  readonly kv: LlamaKvBlocks;
  readonly forward: Forward;
  #calibrated: PieceShape | null = null;

  private constructor(runtime: MlxRuntime, ops: MlxOps, model: LoadedModel) {
    this.runtime = runtime;
    this.ops = ops;
    this.model = model;
    this.kv = new LlamaKvBlocks(runtime, ops, model.llama.config);
    this.forward = new Forward(runtime, model.llama);
  }

  static async open(): Promise<Starter> {
    const setup = await testSetup();
    const runtime = new MlxRuntime(setup.mlxLibrary);
    if (setup.blasLibrary !== null) setBlasThreads(setup.blasLibrary, blasThreads(availableParallelism()));
    const ops = new MlxOps(runtime);
    return new Starter(runtime, ops, await LoadedModel.load(runtime, ops, setup.starterModel, await loadHelp()));
  }

  /** The piece shape that ships, for what is timed. */
  get calibrated(): PieceShape {
    if (this.#calibrated !== null) return this.#calibrated;
    using scratch = this.kv.allocate(1);
    this.#calibrated = calibratePieces(this.runtime, this.model.llama, scratch, () => performance.now());
    return this.#calibrated;
  }

  /** Ids of a chat and of the opening of its next answer. */
  encodeChat(messages: readonly ChatMessage[]): Promise<Uint32Array> {
    return this.model.template.encode({ messages }, new AbortController().signal);
  }

  promptCache(cold: ColdTier | null = null, maxBytes = 2 ** 31): PromptCache<LiveKv, KvBlock> {
    return new PromptCache<LiveKv, KvBlock>({ maxBytes, policy: new LruRetention(), kv: this.kv, cold, now: () => 0 });
  }

  /** Logits of the last of `ids`, computed after what `kv` holds. */
  prefill(ids: Uint32Array, kv: LiveKv, shape: PieceShape = SHAPE): MlxArray {
    const pieces = this.forward.prefill(ids, kv, shape);
    for (;;) {
      const piece = pieces.next();
      if (piece.done) return piece.value;
    }
  }

  /** `steps` greedy tokens after `logits`, which are used up, and the logits each was chosen by. */
  greedy(logits: MlxArray, kv: LiveKv, steps: number): { ids: number[]; logits: Float32Array[] } {
    const chosen: { ids: number[]; logits: Float32Array[] } = { ids: [], logits: [] };
    let current = logits;
    for (let step = 0; ; step++) {
      const values = current.toFloat32Array();
      const id = values.reduce((best, value, index) => (value > (values[best] ?? 0) ? index : best), 0);
      chosen.logits.push(values);
      chosen.ids.push(id);
      current[Symbol.dispose]();
      if (step + 1 >= steps) return chosen;
      current = this.forward.step(id, kv);
    }
  }

  [Symbol.dispose](): void {
    this.model[Symbol.dispose]();
    this.runtime[Symbol.dispose]();
  }
}
