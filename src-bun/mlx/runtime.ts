// MLX as one thread uses it: the library, its default stream, the open scopes and the memory counters.
import type { Pointer } from "bun:ffi";
import { MlxArray } from "./array.ts";
import { ArrayScope } from "./array-scope.ts";
import { DTYPES, type Dtype } from "./dtype.ts";
import { MlxLibrary } from "./library.ts";

export type MemoryCounters = { readonly activeBytes: number; readonly cacheBytes: number; readonly peakBytes: number };

const GPU_DEVICE = 1;

export class MlxRuntime implements Disposable {
  readonly library: MlxLibrary;
  readonly device: "cpu" | "gpu";
  readonly stream: Pointer;
  readonly #scopes: ArrayScope[] = [];
  /** Only the net: what somebody kept and then forgot. */
  readonly #forgotten = new FinalizationRegistry<Pointer>((handle) => {
    if (this.#isClosed) return;
    this.library.call("mlx_array_free", handle);
    this.library.liveHandles--;
  });
  #isClosed = false;

  constructor(libraryPath: string) {
    this.library = new MlxLibrary(libraryPath);
    this.device = Number(this.library.result("mlx_metal_is_available")) === 0 ? "cpu" : "gpu";
    const device = this.library.value("mlx_device_new_type", this.device === "gpu" ? GPU_DEVICE : 0, 0);
    this.library.call("mlx_set_default_device", device);
    this.library.call("mlx_device_free", device);
    this.stream = this.library.value(
      this.device === "gpu" ? "mlx_default_gpu_stream_new" : "mlx_default_cpu_stream_new",
    );
  }

  /** Arrays made from now on belong to the scope, until it is disposed of. */
  scope(): ArrayScope {
    const scope = new ArrayScope(
      () => {
        if (this.#scopes.pop() !== scope) throw new Error("array scopes must close in the reverse order of opening");
      },
      (array) => this.#watch(array),
    );
    this.#scopes.push(scope);
    return scope;
  }

  /** Takes ownership of a fresh handle, for the innermost scope or else for the caller. */
  adopt(handle: Pointer): MlxArray {
    const array = new MlxArray(this.library, handle, this.#forgotten);
    const scope = this.#scopes.at(-1);
    if (scope === undefined) this.#watch(array);
    else scope.add(array);
    return array;
  }

  /** Moves an array out of the innermost scope: from now on the caller owns it. */
  keep(array: MlxArray): MlxArray {
    return this.#scopes.at(-1)?.keep(array) ?? array;
  }

  /** An array of `shape` with the elements of `data`, which is copied. */
  arrayFrom(data: Uint32Array | Int32Array | Float32Array, shape: readonly number[]): MlxArray {
    const dtype: Dtype = data instanceof Float32Array ? "float32" : data instanceof Int32Array ? "int32" : "uint32";
    const dimensions = Int32Array.from(shape);
    return this.adopt(this.library.value("mlx_array_new_data", data, dimensions, shape.length, DTYPES[dtype].id));
  }

  /** Computes the arrays and returns when their data is there. */
  evaluate(arrays: readonly MlxArray[]): void {
    this.withVector(arrays, (vector) => this.library.call("mlx_eval", vector));
  }

  memory(): MemoryCounters {
    return {
      activeBytes: Number(this.library.result("mlx_get_active_memory")),
      cacheBytes: Number(this.library.result("mlx_get_cache_memory")),
      peakBytes: Number(this.library.result("mlx_get_peak_memory")),
    };
  }

  resetPeakMemory(): void {
    this.library.call("mlx_reset_peak_memory");
  }

  /** Gives buffers that MLX keeps for reuse back to the system. */
  clearCache(): void {
    this.library.call("mlx_clear_cache");
  }

  /** Bytes of freed buffers that MLX may keep for reuse. */
  setCacheLimit(bytes: number): void {
    this.library.result("mlx_set_cache_limit", bytes);
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.library.call("mlx_synchronize", this.stream);
    this.library.call("mlx_stream_free", this.stream);
    this.library[Symbol.dispose]();
  }

  #watch(array: MlxArray): void {
    this.#forgotten.register(array, array.handle, array);
  }

  /** Lends MLX a list of arrays for one call. */
  withVector<T>(arrays: readonly MlxArray[], use: (vector: Pointer) => T): T {
    const handles = BigUint64Array.from(arrays, (array) => BigInt(array.handle));
    const vector = this.library.value("mlx_vector_array_new_data", handles, arrays.length);
    try {
      return use(vector);
    } finally {
      this.library.call("mlx_vector_array_free", vector);
    }
  }
}
