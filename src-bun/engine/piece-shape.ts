import type { MlxRuntime } from "../mlx/runtime.ts";
import type { LiveKv } from "../model/live-kv.ts";
import type { Llama } from "../model/llama.ts";
import type { PieceShape } from "./forward.ts";

/**
 * Measured on x86 with two threads: 256 tokens prefill as fast as 512 or more (attention over a span grows with its
 * square, matrices are large enough from 128 on), and a cancelled prompt loses at most that many.
 */
const SPAN_TOKENS = 256;

/** A piece takes about this long at the start of a prompt; attention over 4,000 tokens makes it three times that. */
const PIECE_MS = 40;

/** Times one layer over one span, once warm, and sizes the pieces by it. `kv` is scratch; it is left empty. */
export const calibratePieces = (runtime: MlxRuntime, llama: Llama, kv: LiveKv, now: () => number): PieceShape => {
  kv.reserve(SPAN_TOKENS);
  const ids = new Uint32Array(SPAN_TOKENS);
  const layerMs = (): number => {
    using _scope = runtime.scope();
    const hidden = llama.embed(ids);
    runtime.evaluate([hidden]);
    const start = now();
    runtime.evaluate([llama.layer(0, hidden, kv), ...kv.layerArrays(0)]);
    return now() - start;
  };
  layerMs();
  const fastest = Math.min(layerMs(), layerMs());
  const layers = Math.floor(PIECE_MS / Math.max(fastest, 0.001));
  return { spanTokens: SPAN_TOKENS, layersPerPiece: Math.min(llama.config.layers, Math.max(1, layers)) };
};
