// A model without a tokenizer in this process, for tests of weights and of the forward pass.
import { Forward } from "../../src-bun/engine/forward.ts";
import { LlamaKvBlocks } from "../../src-bun/engine/kv-blocks.ts";
import type { MlxArray } from "../../src-bun/mlx/array.ts";
import { MlxOps } from "../../src-bun/mlx/ops.ts";
import type { MlxRuntime } from "../../src-bun/mlx/runtime.ts";
import { Llama } from "../../src-bun/model/llama.ts";
import { disposeWeights, loadLlamaWeights } from "../../src-bun/model/llama-weights.ts";
import { openLlama } from "../../src-bun/model/open-llama.ts";

export type Continuation = { readonly ids: number[]; readonly logits: Float32Array[] };

const bestOf = (logits: Float32Array): number =>
  logits.reduce((best, value, index) => (value > (logits[best] ?? 0) ? index : best), 0);

/** `steps` greedy tokens after the prompt, and the logits that each was chosen by. */
export const continueGreedily = (
  runtime: MlxRuntime,
  path: string,
  prompt: readonly number[],
  { steps, keepsQuantized = false }: { readonly steps: number; readonly keepsQuantized?: boolean },
): Continuation => {
  const ops = new MlxOps(runtime);
  const opened = openLlama(path);
  using _files = opened.source;
  const weights = loadLlamaWeights(runtime, ops, opened, keepsQuantized);
  try {
    const llama = new Llama(runtime, ops, opened.config, weights);
    const forward = new Forward(runtime, llama);
    using kv = new LlamaKvBlocks(runtime, ops, opened.config).allocate(prompt.length + steps);
    const pieces = forward.prefill(Uint32Array.from(prompt), kv, { spanTokens: 256, layersPerPiece: 99 });
    let piece = pieces.next();
    while (!piece.done) piece = pieces.next();
    const told: Continuation = { ids: [], logits: [] };
    const tell = (array: MlxArray): number => {
      using _array = array;
      const logits = array.toFloat32Array();
      told.logits.push(logits);
      told.ids.push(bestOf(logits));
      return bestOf(logits);
    };
    let id = tell(piece.value);
    while (told.ids.length < steps) id = tell(forward.step(id, kv));
    return told;
  } finally {
    disposeWeights(weights);
  }
};
