// Fills arrays of MLX with weights straight from files, some rows at a time: beside what is held afterwards, only a few
// megabytes are ever needed, and a file that changes meanwhile is an error and no crash.
import type { MlxArray } from "../mlx/array.ts";
import type { MlxOps, Quantization } from "../mlx/ops.ts";
import type { MlxRuntime } from "../mlx/runtime.ts";
import type { Matrix } from "./linear.ts";
import { unsupportedModel } from "./model-faults.ts";
import { decodeAffine, GGML_BLOCK, packBytes, packNibbles, RowDecoders } from "./row-decoders.ts";
import { type StoredTensor, storedBytes } from "./stored-tensor.ts";

/** Where row i of a file goes. */
export type RowOrder = (row: number) => number;

export type StoredMatrix =
  | { readonly kind: "plain"; readonly tensor: StoredTensor }
  | {
      readonly kind: "affine";
      readonly weight: StoredTensor;
      readonly scales: StoredTensor;
      readonly biases: StoredTensor;
      readonly how: Quantization;
    };

const CHUNK_BYTES = 1 << 20;

type Target = { readonly array: MlxArray; readonly rowBytes: number };
type Produce = (first: number, count: number, into: readonly Uint8Array[]) => void;

const floats = (bytes: Uint8Array): Float32Array => new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);

export class WeightLoader {
  readonly #runtime: MlxRuntime;
  readonly #ops: MlxOps;
  readonly #keepsQuantized: boolean;
  readonly #decoders = new RowDecoders();
  readonly #scratch = new Map<string, Uint8Array<ArrayBuffer>>();

  /** `keepsQuantized`: as kernels for quantised weights want them; else everything becomes float32. */
  constructor(runtime: MlxRuntime, ops: MlxOps, keepsQuantized: boolean) {
    this.#runtime = runtime;
    this.#ops = ops;
    this.#keepsQuantized = keepsQuantized;
  }

  /** Float32 [n]; the caller owns it. */
  vector(tensor: StoredTensor, order: RowOrder | null = null): MlxArray {
    const length = tensor.shape[0] ?? 1;
    const array = this.#runtime.blank([length], "float32");
    return this.#filled(
      [{ array, rowBytes: 4 }],
      length,
      order,
      (first, count, [into]) => {
        if (into !== undefined) this.#decodePlain(tensor, 1, first, count, floats(into));
      },
      () => array,
    );
  }

  /** The caller owns its arrays. */
  matrix(stored: StoredMatrix, order: RowOrder | null = null): Matrix {
    if (!this.#keepsQuantized) return this.#dense(stored, order);
    if (stored.kind === "affine") return this.#affine(stored, order);
    const { type } = stored.tensor;
    return type === "Q4_0" || type === "Q4_1" || type === "Q8_0"
      ? this.#repacked(stored.tensor, type, order)
      : this.#dense(stored, order);
  }

  #dense(stored: StoredMatrix, order: RowOrder | null): Matrix {
    const [rows, columns] = sizeOf(stored);
    const array = this.#runtime.blank([rows, columns], "float32");
    const produce: Produce = (first, count, [into]) => {
      if (into === undefined) return;
      if (stored.kind === "plain") this.#decodePlain(stored.tensor, columns, first, count, floats(into));
      else this.#decodeAffine(stored, first, count, floats(into));
    };
    return this.#filled([{ array, rowBytes: columns * 4 }], rows, order, produce, () => {
      using scope = this.#runtime.scope();
      const view = scope.keep(this.#ops.transpose(array, [1, 0]));
      this.#runtime.evaluate([view]);
      return { kind: "dense", rows: array, columns: view };
    });
  }

  #affine(stored: StoredMatrix & { kind: "affine" }, order: RowOrder | null): Matrix {
    const { weight, scales, biases, how } = stored;
    const [rows, words] = [weight.shape[0] ?? 0, weight.shape[1] ?? 0];
    const groups = scales.shape[1] ?? 0;
    const targets = this.#quantizedTargets(rows, words, groups);
    const produce: Produce = (first, count, [packed, scale, bias]) => {
      if (packed === undefined || scale === undefined || bias === undefined) return;
      weight.file.read(packed, weight.start + first * words * 4);
      this.#decodePlain(scales, groups, first, count, floats(scale));
      this.#decodePlain(biases, groups, first, count, floats(bias));
    };
    return this.#filled(targets.all, rows, order, produce, () => targets.matrix(how));
  }

  /** Blocks of GGML as affine groups of the same values. */
  #repacked(tensor: StoredTensor, type: "Q4_0" | "Q4_1" | "Q8_0", order: RowOrder | null): Matrix {
    const [rows, columns] = [tensor.shape[0] ?? 0, tensor.shape[1] ?? 0];
    const bits = type === "Q8_0" ? 8 : 4;
    const targets = this.#quantizedTargets(rows, (columns * bits) / 32, columns / GGML_BLOCK);
    const produce: Produce = (first, count, [packed, scale, bias]) => {
      if (packed === undefined || scale === undefined || bias === undefined) return;
      const raw = this.#read(tensor, "raw", columns, first, count);
      if (type === "Q8_0") packBytes(raw, packed);
      else packNibbles(raw, type === "Q4_0" ? 2 : 4, packed);
      this.#decoders.blockHeads(type, raw, floats(scale), floats(bias));
    };
    return this.#filled(targets.all, rows, order, produce, () => targets.matrix({ groupSize: GGML_BLOCK, bits }));
  }

  #quantizedTargets(rows: number, words: number, groups: number) {
    using unfinished = new DisposableStack();
    const weight = unfinished.use(this.#runtime.blank([rows, words], "uint32"));
    const scales = unfinished.use(this.#runtime.blank([rows, groups], "float32"));
    const biases = this.#runtime.blank([rows, groups], "float32");
    unfinished.move();
    const target = (array: MlxArray, columns: number): Target => ({ array, rowBytes: columns * 4 });
    return {
      all: [target(weight, words), target(scales, groups), target(biases, groups)],
      matrix: (how: Quantization): Matrix => ({ kind: "quantized", weight, scales, biases, how }),
    };
  }

  /** Fills the targets and returns what `finish` makes of them; frees them when anything throws. */
  #filled<T>(targets: readonly Target[], rows: number, order: RowOrder | null, produce: Produce, finish: () => T): T {
    using unfinished = new DisposableStack();
    for (const { array } of targets) unfinished.use(array);
    const widest = Math.max(1, ...targets.map(({ rowBytes }) => rowBytes));
    const step = Math.max(1, Math.floor(CHUNK_BYTES / widest));
    for (let first = 0; first < rows; first += step) {
      this.#fillRows(targets, first, Math.min(step, rows - first), order, produce);
    }
    const result = finish();
    unfinished.move();
    return result;
  }

  #fillRows(targets: readonly Target[], first: number, count: number, order: RowOrder | null, produce: Produce): void {
    const inFile = targets.map(({ array, rowBytes }, index) =>
      order === null ? array.bytes(first * rowBytes, count * rowBytes) : this.#room(`rows ${index}`, count * rowBytes),
    );
    produce(first, count, inFile);
    if (order === null) return;
    for (const [index, { array, rowBytes }] of targets.entries()) {
      const whole = array.bytes(0, array.byteLength);
      for (let row = 0; row < count; row++) {
        const bytes = inFile[index]?.subarray(row * rowBytes, (row + 1) * rowBytes);
        if (bytes !== undefined) whole.set(bytes, order(first + row) * rowBytes);
      }
    }
  }

  #decodePlain(tensor: StoredTensor, columns: number, first: number, count: number, into: Float32Array): void {
    const raw = this.#read(tensor, "raw", columns, first, count);
    if (this.#decoders.decode(tensor.type, raw, into)) return;
    throw unsupportedModel(tensor.file.path, `"${tensor.name}" has the element type ${tensor.type}`);
  }

  #decodeAffine(stored: StoredMatrix & { kind: "affine" }, first: number, count: number, into: Float32Array): void {
    const { weight, scales, biases, how } = stored;
    const groups = scales.shape[1] ?? 0;
    const scale = floats(this.#room("scales", count * groups * 4));
    const bias = floats(this.#room("biases", count * groups * 4));
    this.#decodePlain(scales, groups, first, count, scale);
    this.#decodePlain(biases, groups, first, count, bias);
    const packed = this.#read(weight, "raw", weight.shape[1] ?? 0, first, count);
    decodeAffine(packed, scale, bias, how, into);
  }

  /** Rows `first` to `first + count` as they lie in the file; valid until the next read of the same name. */
  #read({ type, file, start }: StoredTensor, name: string, columns: number, first: number, count: number): Uint8Array {
    const rowBytes = Number(storedBytes(type, [BigInt(columns)]) ?? 0n);
    const bytes = this.#room(name, rowBytes * count);
    file.read(bytes, start + first * rowBytes);
    return bytes;
  }

  /** Memory that is used again and again. */
  #room(name: string, bytes: number): Uint8Array<ArrayBuffer> {
    const old = this.#scratch.get(name);
    const room = old !== undefined && old.length >= bytes ? old : new Uint8Array(bytes);
    this.#scratch.set(name, room);
    return room.subarray(0, bytes);
  }
}

const sizeOf = (stored: StoredMatrix): [rows: number, columns: number] => {
  if (stored.kind === "plain") return [stored.tensor.shape[0] ?? 0, stored.tensor.shape[1] ?? 0];
  const { scales, how } = stored;
  return [scales.shape[0] ?? 0, (scales.shape[1] ?? 0) * how.groupSize];
};
