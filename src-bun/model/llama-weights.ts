// The weights of a Llama model as its forward pass wants them. Sums are float32: x86 has no fast half precision.
import type { MlxArray } from "../mlx/array.ts";
import type { MlxOps } from "../mlx/ops.ts";
import type { MlxRuntime } from "../mlx/runtime.ts";
import { type Linear, type Matrix, matrixArrays, matrixBytes } from "./linear.ts";
import type { LlamaConfig } from "./llama-config.ts";
import type { LayerPart, LlamaSource } from "./llama-source.ts";
import type { OpenedLlama } from "./open-llama.ts";
import { type RowOrder, WeightLoader } from "./weight-loader.ts";

export type LayerWeights = {
  readonly attentionNorm: MlxArray;
  readonly q: Linear;
  readonly k: Linear;
  readonly v: Linear;
  readonly output: Linear;
  readonly mlpNorm: MlxArray;
  readonly gate: Linear;
  readonly up: Linear;
  readonly down: Linear;
};

export type LlamaWeights = {
  /** [vocabulary, hidden]. */
  readonly embedding: Matrix;
  /** Of the embedding's own matrix where the two are tied. */
  readonly head: Linear;
  readonly norm: MlxArray;
  readonly layers: readonly LayerWeights[];
  /** Where the rotary embedding is given by its periods. */
  readonly ropePeriods: MlxArray | null;
};

type Part = { readonly name: string; readonly rows: number; readonly columns: number; readonly order?: RowOrder };

/** From neighbouring rows for the two elements that turn together to rows half a head apart. */
const halvesFromNeighbours =
  (headDim: number): RowOrder =>
  (row) => {
    const inHead = row % headDim;
    return row - inHead + (inHead % 2) * (headDim / 2) + Math.floor(inHead / 2);
  };

/** Makes the weights of one model; what was made is freed when a later one fails. */
class Builder implements Disposable {
  readonly #unfinished = new DisposableStack();
  readonly #loader: WeightLoader;
  readonly #source: LlamaSource;

  constructor(loader: WeightLoader, source: LlamaSource) {
    this.#loader = loader;
    this.#source = source;
  }

  norm(name: string, length: number): MlxArray {
    return this.#unfinished.use(this.#loader.vector(this.#source.vector(name, length)));
  }

  matrix({ name, rows, columns, order }: Part): Matrix {
    const matrix = this.#loader.matrix(this.#source.matrix(name, rows, columns), order ?? null);
    for (const array of matrixArrays(matrix)) this.#unfinished.use(array);
    return matrix;
  }

  linear(part: Part): Linear {
    const matrix = this.matrix(part);
    const stored = this.#source.bias(part.name, part.rows);
    return {
      matrix,
      bias: stored && this.#unfinished.use(this.#loader.vector(stored, part.order ?? null)),
    };
  }

  /** From now on the weights are the caller's. */
  finish(): void {
    this.#unfinished.move();
  }

  [Symbol.dispose](): void {
    this.#unfinished[Symbol.dispose]();
  }
}

const buildLayer = (builder: Builder, source: LlamaSource, config: LlamaConfig, index: number): LayerWeights => {
  const { hiddenSize, intermediateSize, heads, kvHeads, headDim } = config;
  const name = (part: LayerPart): string => source.names.layer(index) + source.names.parts[part];
  const [all, shared] = [heads * headDim, kvHeads * headDim];
  const rotary = source.hasNeighbouringPairs ? { order: halvesFromNeighbours(headDim) } : {};
  return {
    attentionNorm: builder.norm(name("attentionNorm"), hiddenSize),
    q: builder.linear({ name: name("q"), rows: all, columns: hiddenSize, ...rotary }),
    k: builder.linear({ name: name("k"), rows: shared, columns: hiddenSize, ...rotary }),
    v: builder.linear({ name: name("v"), rows: shared, columns: hiddenSize }),
    output: builder.linear({ name: name("output"), rows: hiddenSize, columns: all }),
    mlpNorm: builder.norm(name("mlpNorm"), hiddenSize),
    gate: builder.linear({ name: name("gate"), rows: intermediateSize, columns: hiddenSize }),
    up: builder.linear({ name: name("up"), rows: intermediateSize, columns: hiddenSize }),
    down: builder.linear({ name: name("down"), rows: hiddenSize, columns: intermediateSize }),
  };
};

const periodsOf = (runtime: MlxRuntime, periods: readonly number[]): MlxArray =>
  runtime.keep(runtime.arrayFrom(Float32Array.from(periods), [periods.length]));

/** As kernels of the device want them: quantised on a GPU, float32 on a CPU, where quantised kernels are slow. */
export const keepsQuantized = (runtime: MlxRuntime): boolean => runtime.device === "gpu";

/** Loads all weights. The caller owns every array; see `disposeWeights`. */
export const loadLlamaWeights = (
  runtime: MlxRuntime,
  ops: MlxOps,
  { config, isHeadTied, source }: OpenedLlama,
  isQuantized: boolean,
): LlamaWeights =>
  runtime.withoutCache(() => {
    const { hiddenSize, vocabularySize, rope } = config;
    const { names } = source;
    source.refuseLayer(config.layers);
    using builder = new Builder(new WeightLoader(runtime, ops, isQuantized), source);
    const rows = { rows: vocabularySize, columns: hiddenSize };
    const embedding = builder.matrix({ name: names.embedding, ...rows });
    const isTied = isHeadTied ?? !source.has(names.head);
    const weights: LlamaWeights = {
      embedding,
      head: isTied ? { matrix: embedding, bias: null } : builder.linear({ name: names.head, ...rows }),
      norm: builder.norm(names.norm, hiddenSize),
      layers: Array.from({ length: config.layers }, (_, index) => buildLayer(builder, source, config, index)),
      ropePeriods: rope.kind === "periods" ? periodsOf(runtime, rope.periods) : null,
    };
    builder.finish();
    return weights;
  });

const isArray = (part: MlxArray | Linear): part is MlxArray => !("matrix" in part);

const partsOf = (weights: LlamaWeights): { readonly matrices: Set<Matrix>; readonly arrays: MlxArray[] } => {
  const parts = [weights.norm, weights.head, ...weights.layers.flatMap((layer) => Object.values(layer))];
  const linears = parts.filter((part): part is Linear => !isArray(part));
  const biases = [...linears.map(({ bias }) => bias), weights.ropePeriods].filter((bias) => bias !== null);
  return {
    matrices: new Set([weights.embedding, ...linears.map(({ matrix }) => matrix)]),
    arrays: [...parts.filter(isArray), ...biases],
  };
};

export const disposeWeights = (weights: LlamaWeights): void => {
  const { matrices, arrays } = partsOf(weights);
  for (const array of [...[...matrices].flatMap(matrixArrays), ...arrays]) array[Symbol.dispose]();
};

/** Bytes in memory. */
export const weightBytes = (weights: LlamaWeights): number => {
  const { matrices, arrays } = partsOf(weights);
  const sum = (bytes: readonly number[]): number => bytes.reduce((total, one) => total + one, 0);
  return sum([...matrices].map(matrixBytes)) + sum(arrays.map((array) => array.byteLength));
};
