// The KV cache that one request computes on: for each layer keys and values of [1, kvHeads, capacity, headDim].
// The token axis lies inside the heads, so attention multiplies without a copy; room is kept ahead for growth in place.
import type { MlxArray } from "../mlx/array.ts";
import { DTYPES, type Dtype } from "../mlx/dtype.ts";
import type { MlxOps } from "../mlx/ops.ts";
import type { MlxRuntime } from "../mlx/runtime.ts";
import type { LlamaConfig } from "./llama-config.ts";

const GROWTH_TOKENS = 256;
const DTYPE: Dtype = "float32";

/** Keys and values of one layer. */
export type LayerKv = { readonly keys: MlxArray; readonly values: MlxArray };

/** Keys and values of all layers, keys before values: tokens that were cut from live KV. */
export type CutKv = readonly MlxArray[];

/** The first `tokens` of a cut; one that is moved is used up. */
export type JoinPart = { readonly cut: CutKv; readonly tokens: number; readonly isMoved: boolean };

type Piece = { readonly array: MlxArray | undefined; readonly tokens: number };

const roomFor = (tokens: number): number => Math.ceil(Math.max(1, tokens) / GROWTH_TOKENS) * GROWTH_TOKENS;

export class LiveKv implements Disposable {
  readonly dtype: Dtype = DTYPE;
  readonly #runtime: MlxRuntime;
  readonly #ops: MlxOps;
  readonly #config: LlamaConfig;
  readonly #layers: LayerKv[];
  #length = 0;
  #capacity: number;

  static bytesPerToken({ layers, kvHeads, headDim }: LlamaConfig): number {
    return layers * 2 * kvHeads * headDim * DTYPES[DTYPE].itemSize;
  }

  /** What live KV takes that is made with room for `capacity` tokens. */
  static bytesFor(config: LlamaConfig, capacity: number): number {
    return roomFor(capacity) * LiveKv.bytesPerToken(config);
  }

  /** Its layers are yet to be filled. */
  private constructor(runtime: MlxRuntime, ops: MlxOps, config: LlamaConfig, capacity: number) {
    this.#runtime = runtime;
    this.#ops = ops;
    this.#config = config;
    this.#capacity = roomFor(capacity);
    this.#layers = [];
  }

  /** Live KV that holds no tokens yet, with room for `capacity`, rounded up. */
  static blank(runtime: MlxRuntime, ops: MlxOps, config: LlamaConfig, capacity: number): LiveKv {
    return new LiveKv(runtime, ops, config, capacity).#fill(() => []);
  }

  /**
   * Live KV of the parts one after the other, made layer by layer; what is moved is freed on the way, so that at most
   * one layer of it is held twice. Moved parts are used up also when it throws.
   */
  static join(
    runtime: MlxRuntime,
    ops: MlxOps,
    config: LlamaConfig,
    parts: readonly JoinPart[],
    capacity: number,
  ): LiveKv {
    const length = parts.reduce((sum, { tokens }) => sum + tokens, 0);
    const moved = parts.filter(({ isMoved }) => isMoved).map(({ cut }) => cut);
    try {
      const kv = new LiveKv(runtime, ops, config, Math.max(capacity, length)).#fill(
        (index) => parts.map(({ cut, tokens }) => ({ array: cut[index], tokens })),
        (layer) => {
          for (const cut of moved) for (const array of cut.slice(2 * layer, 2 * layer + 2)) array[Symbol.dispose]();
        },
      );
      kv.publish(length);
      return kv;
    } finally {
      for (const cut of moved) for (const array of cut) array[Symbol.dispose]();
    }
  }

  /** Tokens that all layers hold. */
  get length(): number {
    return this.#length;
  }

  get byteLength(): number {
    return this.#layers.reduce((sum, { keys, values }) => sum + keys.byteLength + values.byteLength, 0);
  }

  /** Every array, keys before values, layer after layer. */
  get arrays(): MlxArray[] {
    return this.#layers.flatMap(({ keys, values }) => [keys, values]);
  }

  /** Makes room for `tokens` in all, one layer after the other, so that only one is held twice. */
  reserve(tokens: number): void {
    if (tokens <= this.#capacity) return;
    // A quarter more each time keeps the copying linear in what is generated.
    this.#capacity = roomFor(Math.max(tokens, this.#capacity * 1.25));
    for (const [index, { keys, values }] of this.#layers.entries()) {
      const grown = { keys: this.#grown(keys), values: this.#grown(values) };
      this.#layers[index] = grown;
      this.#runtime.evaluate([grown.keys, grown.values]);
    }
  }

  /**
   * Writes keys and values of [1, kvHeads, n, headDim] after the tokens that are held, for one layer, and returns
   * views on all of them. `advance` makes them count once every layer has its own. Requires room.
   */
  write(layer: number, keys: MlxArray, values: MlxArray): LayerKv {
    const { kvHeads, headDim } = this.#config;
    const end = this.#length + (keys.shape[2] ?? 0);
    const old = this.#layer(layer);
    const put = (array: MlxArray, update: MlxArray): MlxArray =>
      this.#own(this.#ops.sliceUpdate(array, update, [0, 0, this.#length, 0], [1, kvHeads, end, headDim]), array);
    const updated = { keys: put(old.keys, keys), values: put(old.values, values) };
    this.#layers[layer] = updated;
    const seen = (array: MlxArray): MlxArray => this.#ops.slice(array, [0, 0, 0, 0], [1, kvHeads, end, headDim]);
    return { keys: seen(updated.keys), values: seen(updated.values) };
  }

  /** The arrays of one layer, to be computed together with what depends on them. */
  layerArrays(layer: number): MlxArray[] {
    const { keys, values } = this.#layer(layer);
    return [keys, values];
  }

  advance(tokens: number): void {
    this.#length += tokens;
  }

  /** Forgets the tokens from `length` on; costs nothing. */
  truncate(length: number): void {
    if (length > this.#length) throw new RangeError(`${length} tokens are more than the ${this.#length} held`);
    this.#length = length;
  }

  /** The memory was filled from elsewhere: the first `length` tokens count from now on. */
  publish(length: number): void {
    this.#length = length;
  }

  /** A copy of the first `length` tokens with room for `capacity`, layer by layer. */
  copyPrefix(length: number, capacity: number): LiveKv {
    const { arrays } = this;
    const copy = new LiveKv(this.#runtime, this.#ops, this.#config, Math.max(length, capacity));
    copy.#fill((index) => [{ array: arrays[index], tokens: length }]);
    copy.publish(length);
    return copy;
  }

  /** Cuts the spans, layer by layer, each freed once it is cut, so that at most one is held twice. Nothing of this is left. */
  takeApart(spans: readonly { readonly start: number; readonly end: number }[]): CutKv[] {
    const cuts = spans.map((): MlxArray[] => []);
    try {
      for (const [layer, { keys, values }] of this.#layers.entries()) {
        for (const [index, { start, end }] of spans.entries()) {
          const cut = this.cut(layer, start, end);
          cuts[index]?.push(cut.keys, cut.values);
        }
        this.#runtime.evaluate(cuts.flatMap((cut) => cut.slice(-2)));
        for (const array of [keys, values]) array[Symbol.dispose]();
      }
      return cuts;
    } catch (thrown) {
      for (const array of cuts.flat()) array[Symbol.dispose]();
      throw thrown;
    } finally {
      this[Symbol.dispose]();
    }
  }

  /** Contiguous copies of a layer's tokens from `start` to `end`, not yet computed; the caller owns them. */
  cut(layer: number, start: number, end: number): LayerKv {
    using scope = this.#runtime.scope();
    const { kvHeads, headDim } = this.#config;
    const { keys, values } = this.#layer(layer);
    const copy = (array: MlxArray): MlxArray =>
      scope.keep(this.#ops.contiguous(this.#ops.slice(array, [0, 0, start, 0], [1, kvHeads, end, headDim])));
    return { keys: copy(keys), values: copy(values) };
  }

  [Symbol.dispose](): void {
    for (const array of this.arrays) array[Symbol.dispose]();
  }

  #layer(index: number): LayerKv {
    const layer = this.#layers[index];
    if (layer === undefined) throw new RangeError(`layer ${index} of ${this.#layers.length}`);
    return layer;
  }

  /** Makes the layers one after the other, each computed before the next; `piecesOf` says what stands in each array. */
  #fill(piecesOf: (arrayIndex: number) => readonly Piece[], onLayer: (layer: number) => void = () => undefined): this {
    try {
      for (let layer = 0; layer < this.#config.layers; layer++) {
        const made = { keys: this.#placed(piecesOf(2 * layer)), values: this.#placed(piecesOf(2 * layer + 1)) };
        this.#layers.push(made);
        this.#runtime.evaluate([made.keys, made.values]);
        onLayer(layer);
      }
      return this;
    } catch (thrown) {
      this[Symbol.dispose]();
      throw thrown;
    }
  }

  /** The pieces one after the other, with room behind them; not yet computed, the caller owns it. */
  #placed(pieces: readonly Piece[]): MlxArray {
    using scope = this.#runtime.scope();
    const { kvHeads, headDim } = this.#config;
    let whole = this.#ops.zeros([1, kvHeads, this.#capacity, headDim], this.dtype);
    let at = 0;
    for (const { array, tokens } of pieces) {
      if (array === undefined) throw new RangeError("a cut of fewer layers than the model's");
      const piece = this.#ops.slice(array, [0, 0, 0, 0], [1, kvHeads, tokens, headDim]);
      whole = this.#ops.sliceUpdate(whole, piece, [0, 0, at, 0], [1, kvHeads, at + tokens, headDim]);
      at += tokens;
    }
    return scope.keep(whole);
  }

  #grown(array: MlxArray): MlxArray {
    const grown = this.#placed([{ array, tokens: this.#length }]);
    array[Symbol.dispose]();
    return grown;
  }

  /** Puts `array` in the place of `old`, whose handle goes at once: only then is the update made in place. */
  #own(array: MlxArray, old: MlxArray): MlxArray {
    this.#runtime.keep(array);
    old[Symbol.dispose]();
    return array;
  }
}
