// MLX's operations as functions of arrays. They build a graph; nothing is computed before an evaluation.
import { type Pointer, ptr } from "bun:ffi";
import type { MlxArray } from "./array.ts";
import { cString } from "./c-string.ts";
import { DTYPES, type Dtype } from "./dtype.ts";
import type { FfiValue } from "./library.ts";
import type { MlxRuntime } from "./runtime.ts";
import type { MlxSymbol } from "./symbols.ts";

export type Quantization = { readonly groupSize: number; readonly bits: number };
export type Rotation = { readonly base: number; readonly scale: number } | { readonly periods: MlxArray };

const PRESENT = 1n << 32n;
const ABSENT = 0n;
const presentInt = (value: number): bigint => BigInt(value) | PRESENT;
const presentFloat = (value: number): bigint =>
  BigInt(new Uint32Array(Float32Array.of(value).buffer)[0] ?? 0) | PRESENT;

const AFFINE = cString("affine");
const CAUSAL = cString("causal");
const NO_MASK = cString("");

/** More axes than any array of ours has. */
const MOST_AXES = 8;

/**
 * Lends lists of whole numbers to one call at a time, which copies them: making typed arrays anew takes ten times as long
 * as most calls.
 */
class NumberLists {
  readonly #numbers = new Int32Array(new ArrayBuffer(3 * MOST_AXES * Int32Array.BYTES_PER_ELEMENT)).fill(1);
  readonly #address = ptr(this.#numbers);

  /** Address and length. */
  list(numbers: readonly number[]): readonly [Pointer, number] {
    return [this.#put(0, numbers), numbers.length];
  }

  /** Starts, stops and strides of 1, each as address and length. */
  span(start: readonly number[], stop: readonly number[]): readonly FfiValue[] {
    const rank = start.length;
    return [this.#put(0, start), rank, this.#put(1, stop), rank, this.#at(2), rank];
  }

  #put(place: number, numbers: readonly number[]): Pointer {
    if (numbers.length > MOST_AXES) throw new RangeError(`${numbers.length} axes`);
    for (let index = 0; index < numbers.length; index++) this.#numbers[place * MOST_AXES + index] = numbers[index] ?? 0;
    return this.#at(place);
  }

  #at(place: number): Pointer {
    return (this.#address + place * MOST_AXES * Int32Array.BYTES_PER_ELEMENT) as Pointer;
  }
}

export class MlxOps {
  readonly #runtime: MlxRuntime;
  readonly #lists = new NumberLists();

  constructor(runtime: MlxRuntime) {
    this.#runtime = runtime;
  }

  zeros(shape: readonly number[], dtype: Dtype): MlxArray {
    return this.#make("mlx_zeros", ...this.#lists.list(shape), DTYPES[dtype].id);
  }

  scalar(value: number): MlxArray {
    return this.#runtime.adopt(this.#runtime.library.value("mlx_array_new_float32", value));
  }

  integer(value: number): MlxArray {
    return this.#runtime.adopt(this.#runtime.library.value("mlx_array_new_int", value));
  }

  asType(array: MlxArray, dtype: Dtype): MlxArray {
    return this.#make("mlx_astype", array.handle, DTYPES[dtype].id);
  }

  /** The same bits read as another type of the same size. */
  view(array: MlxArray, dtype: Dtype): MlxArray {
    return this.#make("mlx_view", array.handle, DTYPES[dtype].id);
  }

  /** Rows one after another in memory; a copy where they are not. */
  contiguous(array: MlxArray): MlxArray {
    return this.#make("mlx_contiguous", array.handle, false);
  }

  reshape(array: MlxArray, shape: readonly number[]): MlxArray {
    return this.#make("mlx_reshape", array.handle, ...this.#lists.list(shape));
  }

  transpose(array: MlxArray, axes: readonly number[]): MlxArray {
    return this.#make("mlx_transpose_axes", array.handle, ...this.#lists.list(axes));
  }

  /** Elements from `start` up to `stop` on every axis. */
  slice(array: MlxArray, start: readonly number[], stop: readonly number[]): MlxArray {
    return this.#make("mlx_slice", array.handle, ...this.#lists.span(start, stop));
  }

  /** `array` with `update` in place of the elements from `start` to `stop`; in its memory when nobody else holds it. */
  sliceUpdate(array: MlxArray, update: MlxArray, start: readonly number[], stop: readonly number[]): MlxArray {
    return this.#make("mlx_slice_update", array.handle, update.handle, ...this.#lists.span(start, stop));
  }

  /** The rows of `array` that `indices` names, along `axis`. */
  take(array: MlxArray, indices: MlxArray, axis: number): MlxArray {
    return this.#make("mlx_take_axis", array.handle, indices.handle, axis);
  }

  add(a: MlxArray, b: MlxArray): MlxArray {
    return this.#make("mlx_add", a.handle, b.handle);
  }

  subtract(a: MlxArray, b: MlxArray): MlxArray {
    return this.#make("mlx_subtract", a.handle, b.handle);
  }

  multiply(a: MlxArray, b: MlxArray): MlxArray {
    return this.#make("mlx_multiply", a.handle, b.handle);
  }

  divide(a: MlxArray, b: MlxArray): MlxArray {
    return this.#make("mlx_divide", a.handle, b.handle);
  }

  minimum(a: MlxArray, b: MlxArray): MlxArray {
    return this.#make("mlx_minimum", a.handle, b.handle);
  }

  maximum(a: MlxArray, b: MlxArray): MlxArray {
    return this.#make("mlx_maximum", a.handle, b.handle);
  }

  leftShift(array: MlxArray, bits: MlxArray): MlxArray {
    return this.#make("mlx_left_shift", array.handle, bits.handle);
  }

  /** Largest element along `axis`, which stays with length 1. */
  max(array: MlxArray, axis: number): MlxArray {
    return this.#make("mlx_max_axis", array.handle, axis, true);
  }

  /** Sum along `axis`, which stays with length 1. */
  sum(array: MlxArray, axis: number): MlxArray {
    return this.#make("mlx_sum_axis", array.handle, axis, true);
  }

  concatenate(arrays: readonly MlxArray[], axis: number): MlxArray {
    return this.#runtime.withVector(arrays, (vector) => this.#make("mlx_concatenate_axis", vector, axis));
  }

  matmul(a: MlxArray, b: MlxArray): MlxArray {
    return this.#make("mlx_matmul", a.handle, b.handle);
  }

  /** x · sigmoid(x) (Elfwing et al. 2017). */
  silu(x: MlxArray): MlxArray {
    return this.multiply(x, this.#make("mlx_sigmoid", x.handle));
  }

  argmax(array: MlxArray, axis: number): MlxArray {
    return this.#make("mlx_argmax_axis", array.handle, axis, false);
  }

  dequantize(weight: MlxArray, scales: MlxArray, biases: MlxArray, how: Quantization, dtype: Dtype): MlxArray {
    return this.#make(
      "mlx_dequantize",
      weight.handle,
      scales.handle,
      biases.handle,
      presentInt(how.groupSize),
      presentInt(how.bits),
      AFFINE,
      null,
      presentInt(DTYPES[dtype].id),
    );
  }

  /** Root mean square norm over the last axis (Zhang and Sennrich 2019). */
  rmsNorm(x: MlxArray, weight: MlxArray, epsilon: number): MlxArray {
    return this.#make("mlx_fast_rms_norm", x.handle, weight.handle, epsilon);
  }

  /** x · wᵀ, where w [out, in] is quantised. */
  quantizedMatmul(x: MlxArray, weight: MlxArray, scales: MlxArray, biases: MlxArray, how: Quantization): MlxArray {
    const [groupSize, bits] = [presentInt(how.groupSize), presentInt(how.bits)];
    const operands = [x.handle, weight.handle, scales.handle, biases.handle];
    return this.#make("mlx_quantized_matmul", ...operands, true, groupSize, bits, AFFINE);
  }

  /**
   * Rotary position embedding (Su et al. 2021) over halves of the last axis; x is [batch, heads, tokens, headDim].
   * Pair i turns by position · scale / base^(2i / dimensions) or by position / periods[i].
   */
  rope(x: MlxArray, dimensions: number, how: Rotation, offset: number): MlxArray {
    const [base, scale, periods] =
      "periods" in how ? [ABSENT, 1, how.periods.handle] : [presentFloat(how.base), how.scale, null];
    return this.#make("mlx_fast_rope", x.handle, dimensions, false, base, scale, offset, periods);
  }

  /** softmax(q · kᵀ · scale) · v; each is [batch, heads, tokens, headDim], heads of k and v may be fewer. */
  attention(q: MlxArray, k: MlxArray, v: MlxArray, scale: number, mask: "causal" | "none"): MlxArray {
    const mode = mask === "causal" ? CAUSAL : NO_MASK;
    return this.#make(
      "mlx_fast_scaled_dot_product_attention",
      q.handle,
      k.handle,
      v.handle,
      scale,
      mode,
      null,
      null,
      false,
    );
  }

  randomKey(seed: bigint): MlxArray {
    return this.#runtime.adopt(this.#runtime.library.result("mlx_random_key", seed));
  }

  /** One draw along the last axis from unnormalised log-probabilities. */
  categorical(logits: MlxArray, key: MlxArray): MlxArray {
    return this.#make("mlx_random_categorical", logits.handle, -1, key.handle);
  }

  #make(name: MlxSymbol, ...args: readonly FfiValue[]): MlxArray {
    const { library, stream } = this.#runtime;
    return this.#runtime.adopt(library.result(name, ...args, stream));
  }
}
