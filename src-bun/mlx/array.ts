// An owned handle on an MLX array. Whoever makes one disposes of it, by `using`, by an ArrayScope or by hand.
import { type Pointer, ptr, read, toArrayBuffer } from "bun:ffi";
import { DTYPES, type Dtype, dtypeOf } from "./dtype.ts";
import type { MlxLibrary } from "./library.ts";

export class MlxArray implements Disposable {
  readonly #library: MlxLibrary;
  #handle: Pointer | null;
  readonly #net: FinalizationRegistry<Pointer>;

  /** Takes ownership of `handle`; `net` frees what was forgotten. */
  constructor(library: MlxLibrary, handle: Pointer, net: FinalizationRegistry<Pointer>) {
    this.#library = library;
    this.#handle = handle;
    this.#net = net;
    library.liveHandles++;
  }

  get handle(): Pointer {
    if (this.#handle === null) throw new Error("an MLX array was used after it had been disposed of");
    return this.#handle;
  }

  get shape(): number[] {
    const rank = this.#library.number("mlx_array_ndim", this.handle);
    if (rank === 0) return [];
    const address = this.#library.value("mlx_array_shape", this.handle);
    return Array.from({ length: rank }, (_, axis) => read.i32(address, axis * 4));
  }

  /** In elements. Requires an evaluated array. */
  get strides(): number[] {
    const rank = this.#library.number("mlx_array_ndim", this.handle);
    if (rank === 0) return [];
    const address = this.#library.value("mlx_array_strides", this.handle);
    return Array.from({ length: rank }, (_, axis) => Number(read.i64(address, axis * 8)));
  }

  get dtype(): Dtype {
    return dtypeOf(this.#library.number("mlx_array_dtype", this.handle));
  }

  get itemSize(): number {
    return DTYPES[this.dtype].itemSize;
  }

  get byteLength(): number {
    return this.#library.number("mlx_array_nbytes", this.handle);
  }

  /** Address of the first element. Requires an evaluated array; holds as long as some handle on the data lives. */
  get pointer(): Pointer {
    return this.#library.value("mlx_array_data_uint8", this.handle);
  }

  /**
   * The memory from byte `at` on, as it is: valid while the array lives. Requires an evaluated, contiguous array; may be
   * written only before any other operation reads the array.
   */
  bytes(at: number, length: number): Uint8Array<ArrayBuffer> {
    if (at < 0 || at + length > this.byteLength) throw new RangeError(`bytes ${at} to ${at + length} of an array`);
    if (length === 0) return new Uint8Array(0);
    return new Uint8Array(toArrayBuffer((Number(this.pointer) + at) as Pointer, 0, length));
  }

  /** The only element of an unsigned 32-bit array; evaluates it. */
  toUint32(): number {
    const out = new Uint32Array(1);
    this.#library.call("mlx_array_item_uint32", out, this.handle);
    return read.u32(ptr(out), 0);
  }

  /** A copy of the elements in row order. Requires an evaluated, contiguous float32 array. */
  toFloat32Array(): Float32Array {
    if (this.dtype !== "float32") throw new TypeError(`a ${this.dtype} array was read as float32`);
    return new Float32Array(toArrayBuffer(this.pointer, 0, this.byteLength)).slice();
  }

  /** Safe to call twice. */
  [Symbol.dispose](): void {
    if (this.#handle === null) return;
    this.#net.unregister(this);
    this.#library.call("mlx_array_free", this.#handle);
    this.#handle = null;
    this.#library.liveHandles--;
  }
}
