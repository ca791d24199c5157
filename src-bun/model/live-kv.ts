// The KV cache that one request computes on: for each layer keys and values of [1, kvHeads, capacity, headDim].
// The token axis lies inside the heads, so attention multiplies without a copy; room is kept ahead for growth in place.
import type { MlxArray } from "../mlx/array.ts";
import type { Dtype } from "../mlx/dtype.ts";
import type { MlxOps } from "../mlx/ops.ts";
import type { MlxRuntime } from "../mlx/runtime.ts";
import type { LlamaConfig } from "./llama-config.ts";

const GROWTH_TOKENS = 256;

/** Keys and values of one layer. */
export type LayerKv = { readonly keys: MlxArray; readonly values: MlxArray };

const roomFor = (tokens: number): number => Math.ceil(Math.max(1, tokens) / GROWTH_TOKENS) * GROWTH_TOKENS;

export class LiveKv implements Disposable {
  readonly dtype: Dtype = "float32";
  readonly #runtime: MlxRuntime;
  readonly #ops: MlxOps;
  readonly #config: LlamaConfig;
  readonly #layers: LayerKv[];
  #length = 0;
  #capacity: number;

  /** Room for `capacity` tokens, rounded up. */
  constructor(runtime: MlxRuntime, ops: MlxOps, config: LlamaConfig, capacity: number) {
    this.#runtime = runtime;
    this.#ops = ops;
    this.#config = config;
    this.#capacity = roomFor(capacity);
    this.#layers = Array.from({ length: config.layers }, () => ({ keys: this.#blank(), values: this.#blank() }));
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
    const copy = new LiveKv(this.#runtime, this.#ops, this.#config, Math.max(length, capacity));
    for (let layer = 0; layer < this.#layers.length; layer++) {
      using scope = this.#runtime.scope();
      const { keys, values } = this.cut(layer, 0, length);
      scope.add(keys);
      scope.add(values);
      copy.write(layer, keys, values);
      this.#runtime.evaluate(copy.layerArrays(layer));
    }
    copy.advance(length);
    return copy;
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

  #blank(): MlxArray {
    using scope = this.#runtime.scope();
    const { kvHeads, headDim } = this.#config;
    const array = scope.keep(this.#ops.zeros([1, kvHeads, this.#capacity, headDim], this.dtype));
    this.#runtime.evaluate([array]);
    return array;
  }

  #grown(array: MlxArray): MlxArray {
    using scope = this.#runtime.scope();
    const { kvHeads, headDim } = this.#config;
    const stop = [1, kvHeads, this.#length, headDim];
    const held = this.#ops.slice(array, [0, 0, 0, 0], stop);
    const room = this.#ops.zeros([1, kvHeads, this.#capacity, headDim], this.dtype);
    const grown = scope.keep(this.#ops.sliceUpdate(room, held, [0, 0, 0, 0], stop));
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
