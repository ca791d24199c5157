// Runs a model over tokens in pieces short enough that messages are served between them.
import type { MlxArray } from "../mlx/array.ts";
import type { MlxRuntime } from "../mlx/runtime.ts";
import type { LiveKv } from "../model/live-kv.ts";
import type { Llama } from "../model/llama.ts";

/**
 * A prompt is computed in spans of tokens, each span some layers at a time. Only the span decides how matrices are
 * shaped and so how sums round: it is the same on every machine. Layers per piece follow the machine's speed.
 */
export type PieceShape = { readonly spanTokens: number; readonly layersPerPiece: number };

type Piece = { readonly hidden: MlxArray | null; readonly logits: MlxArray | null };

export class Forward {
  readonly #runtime: MlxRuntime;
  readonly #llama: Llama;

  constructor(runtime: MlxRuntime, llama: Llama) {
    this.#runtime = runtime;
    this.#llama = llama;
  }

  /** Computes one token after those of `kv` and returns its logits [1, vocabulary], which the caller owns. */
  step(id: number, kv: LiveKv): MlxArray {
    kv.reserve(kv.length + 1);
    const { logits } = this.#piece(Uint32Array.of(id), null, kv, { from: 0, to: this.#llama.config.layers }, true);
    kv.advance(1);
    if (logits === null) throw new Error("the last layer gave no logits");
    return logits;
  }

  /**
   * Computes `ids` after the tokens of `kv`, span by span; yields after each piece. Returns the last token's logits
   * [1, vocabulary], which the caller owns. Left early, `kv` holds the spans that were finished.
   */
  *prefill(ids: Uint32Array, kv: LiveKv, shape: PieceShape): Generator<void, MlxArray> {
    kv.reserve(kv.length + ids.length);
    for (let at = 0; ; at += shape.spanTokens) {
      const span = ids.subarray(at, at + shape.spanTokens);
      const isLast = at + shape.spanTokens >= ids.length;
      const logits = yield* this.#span(span, kv, shape.layersPerPiece, isLast);
      kv.advance(span.length);
      if (logits !== null) return logits;
      yield;
    }
  }

  *#span(ids: Uint32Array, kv: LiveKv, layersPerPiece: number, wantsLogits: boolean): Generator<void, MlxArray | null> {
    const { layers } = this.#llama.config;
    let piece: Piece = { hidden: null, logits: null };
    try {
      for (let from = 0; from < layers; from += layersPerPiece) {
        if (from > 0) yield;
        const to = Math.min(layers, from + layersPerPiece);
        piece = this.#piece(ids, piece.hidden, kv, { from, to }, wantsLogits);
      }
      return piece.logits;
    } finally {
      piece.hidden?.[Symbol.dispose]();
    }
  }

  /** Layers `from` to `to` over the ids, or over the hidden states that the piece before left; those are used up. */
  #piece(
    ids: Uint32Array,
    before: MlxArray | null,
    kv: LiveKv,
    { from, to }: { readonly from: number; readonly to: number },
    wantsLogits: boolean,
  ): Piece {
    const outputs: MlxArray[] = [];
    const piece = this.#build(ids, before, kv, { from, to }, wantsLogits);
    for (let layer = from; layer < to; layer++) outputs.push(...kv.layerArrays(layer));
    const result = piece.logits ?? piece.hidden;
    if (result !== null) outputs.push(result);
    // Evaluated only now, with every intermediate handle gone, so that MLX frees and reuses memory as it goes.
    this.#runtime.evaluate(outputs);
    return piece;
  }

  #build(
    ids: Uint32Array,
    before: MlxArray | null,
    kv: LiveKv,
    { from, to }: { readonly from: number; readonly to: number },
    wantsLogits: boolean,
  ): Piece {
    const last = this.#llama.config.layers - 1;
    using scope = this.#runtime.scope();
    if (before !== null) scope.add(before);
    let hidden = before ?? this.#llama.embed(ids);
    for (let layer = from; layer < to; layer++) {
      if (layer === last && !wantsLogits) {
        this.#llama.layerKv(layer, hidden, kv);
        return { hidden: null, logits: null };
      }
      hidden = this.#llama.layer(layer, hidden, kv);
    }
    if (to > last) return { hidden: null, logits: scope.keep(this.#llama.lastLogits(hidden)) };
    return { hidden: scope.keep(hidden), logits: null };
  }
}
