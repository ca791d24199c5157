// Attention over float32 by tiles of query rows, for machines where MLX's own computes softmax element by element and
// every score behind a causal mask. Keys end with their tile, and scores lie with keys outermost: then maxima and sums
// run along rows of memory, and any span of keys is one piece of it that stays in the cache for all of Exp2's passes.
import type { MlxArray } from "../mlx/array.ts";
import type { MlxOps } from "../mlx/ops.ts";
import type { MlxRuntime } from "../mlx/runtime.ts";
import { CACHED_ELEMENTS, Exp2, WORTHWHILE_ELEMENTS } from "./exp2.ts";

/** Queries of a tile. Half of that many keys are multiplied in vain for each. */
const TILE_TOKENS = 64;

type Range = { readonly from: number; readonly to: number };

const rangesOf = (count: number, step: number): Range[] =>
  Array.from({ length: Math.ceil(count / step) }, (_, index) => ({
    from: index * step,
    to: Math.min(count, (index + 1) * step),
  }));

/** The same, with the short range first. */
const rangesToEnd = (count: number, step: number): Range[] =>
  rangesOf(count, step)
    .map(({ from, to }) => ({ from: count - to, to: count - from }))
    .reverse();

class TiledAttention {
  readonly #runtime: MlxRuntime;
  readonly #ops: MlxOps;
  readonly #exp2: Exp2;
  /** [1, kvHeads, heads of each, n, headDim], scaled so that scores are powers of 2. */
  readonly #q: MlxArray;
  readonly #keys: MlxArray;
  readonly #values: MlxArray;

  constructor(runtime: MlxRuntime, ops: MlxOps, q: MlxArray, keys: MlxArray, values: MlxArray) {
    this.#runtime = runtime;
    this.#ops = ops;
    this.#exp2 = new Exp2(ops);
    this.#q = q;
    this.#keys = keys;
    this.#values = values;
  }

  /** [1, heads, n, headDim]. */
  causal(): MlxArray {
    const [, kvHeads = 0, group = 0, n = 0] = this.#q.shape;
    const before = (this.#keys.shape[2] ?? 0) - n;
    const tiles = rangesOf(n, TILE_TOKENS).map((queries) => {
      const rows = group * (queries.to - queries.from);
      const end = before + queries.to;
      const headsAtOnce = Math.max(1, Math.floor(CACHED_ELEMENTS / (rows * end)));
      const parts = rangesOf(kvHeads, headsAtOnce).map((heads) => this.#tile(heads, queries, end));
      return this.#joined(parts, 1);
    });
    return this.#joined(tiles, 2);
  }

  /** The queries' part of some kvHeads, [1, heads, queries, headDim], over the first `end` keys. */
  #tile(heads: Range, queries: Range, end: number): MlxArray {
    const ops = this.#ops;
    const [, , group = 0, , headDim = 0] = this.#q.shape;
    const [count, tokens] = [heads.to - heads.from, queries.to - queries.from];
    const rows = group * tokens;
    const some = ops.slice(this.#q, [0, heads.from, 0, queries.from, 0], [1, heads.to, group, queries.to, headDim]);
    const q = ops.transpose(ops.reshape(some, [1, count, rows, headDim]), [0, 1, 3, 2]);
    const scores = ops.matmul(ops.slice(this.#keys, [0, heads.from, 0, 0], [1, heads.to, end, headDim]), q);
    const keysAtOnce = Math.max(tokens, Math.floor(CACHED_ELEMENTS / (count * rows)));
    const spans = rangesToEnd(end, keysAtOnce);
    const parts = spans.map(({ from, to }) => {
      const part = ops.slice(scores, [0, 0, from, 0], [1, count, to, rows]);
      return to < end ? part : ops.add(part, this.#mask(to - from, group, tokens));
    });
    const { sums, mixed } = this.#softmaxOf(parts, spans, heads);
    const normal = ops.divide(mixed, ops.reshape(sums, [1, count, rows, 1]));
    return ops.reshape(normal, [1, count * group, tokens, headDim]);
  }

  #softmaxOf(parts: readonly MlxArray[], spans: readonly Range[], heads: Range): { sums: MlxArray; mixed: MlxArray } {
    const ops = this.#ops;
    const headDim = this.#values.shape[3] ?? 0;
    const largest = parts.map((part) => ops.max(part, 2)).reduce((a, b) => ops.maximum(a, b));
    const computed = parts.map((part, index) => {
      const { from, to } = spans[index] ?? { from: 0, to: 0 };
      const weights = this.#exp2.apply(ops.subtract(part, largest));
      const values = ops.slice(this.#values, [0, heads.from, from, 0], [1, heads.to, to, headDim]);
      return { sums: ops.sum(weights, 2), mixed: ops.matmul(ops.transpose(weights, [0, 1, 3, 2]), values) };
    });
    return computed.reduce((a, b) => ({ sums: ops.add(a.sums, b.sums), mixed: ops.add(a.mixed, b.mixed) }));
  }

  /** [keys, group · tokens]: −∞ where one of the last keys lies behind the query, else 0. */
  #mask(keys: number, group: number, tokens: number): MlxArray {
    const rows = group * tokens;
    const square = new Float32Array(tokens * rows);
    for (let key = 1; key < tokens; key++) {
      for (let first = 0; first < rows; first += tokens) {
        square.fill(Number.NEGATIVE_INFINITY, key * rows + first, key * rows + first + key);
      }
    }
    const corner = this.#runtime.arrayFrom(square, [tokens, rows]);
    if (keys === tokens) return corner;
    return this.#ops.concatenate([this.#ops.zeros([keys - tokens, rows], "float32"), corner], 0);
  }

  #joined(parts: readonly MlxArray[], axis: number): MlxArray {
    const [only] = parts;
    return parts.length === 1 && only !== undefined ? only : this.#ops.concatenate(parts, axis);
  }
}

/** One query over all keys, scores with keys innermost: [1, heads, 1, headDim]. */
const oneRow = (ops: MlxOps, q: MlxArray, keys: MlxArray, values: MlxArray): MlxArray => {
  const [, kvHeads = 0, group = 0, , headDim = 0] = q.shape;
  const rows = ops.reshape(q, [1, kvHeads, group, headDim]);
  const scores = ops.matmul(rows, ops.transpose(keys, [0, 1, 3, 2]));
  const weights = new Exp2(ops).apply(ops.subtract(scores, ops.max(scores, 3)));
  const mixed = ops.divide(ops.matmul(weights, values), ops.sum(weights, 3));
  return ops.reshape(mixed, [1, kvHeads * group, 1, headDim]);
};

/** Causal softmax(q · kᵀ · scale) · v; each is [1, heads, tokens, headDim], heads of k and v may be fewer. */
export const vectorAttention = (
  runtime: MlxRuntime,
  ops: MlxOps,
  q: MlxArray,
  keys: MlxArray,
  values: MlxArray,
  scale: number,
): MlxArray => {
  const [, heads = 0, n = 0, headDim = 0] = q.shape;
  const [, kvHeads = 0, total = 0] = keys.shape;
  if (heads * n * total < WORTHWHILE_ELEMENTS) return ops.attention(q, keys, values, scale, n > 1 ? "causal" : "none");
  const powers = ops.multiply(q, ops.scalar(scale * Math.LOG2E));
  const grouped = ops.reshape(powers, [1, kvHeads, heads / kvHeads, n, headDim]);
  if (n === 1) return oneRow(ops, grouped, keys, values);
  return new TiledAttention(runtime, ops, grouped, keys, values).causal();
};
