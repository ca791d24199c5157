// One opened libmlxc: calls that throw with their name, and a count of the arrays' handles that are alive.
// Requires one thread for all calls: MLX's streams belong to the thread that made them.
import { CString, dlopen, FFIType, JSCallback, type Pointer, ptr, read } from "bun:ffi";
import { KeepwarmError, messageOf } from "../base/errors.ts";
import { type MlxSymbol, mlxSymbols } from "./symbols.ts";

/** The MLX that the symbol table was written against. */
export const MLX_VERSION = "0.32.2";

/** mlx-c ends its messages with the source file it was built from. */
const BUILD_PLACE = / at \/\S+:\d+$/;

export type FfiValue = number | bigint | boolean | Pointer | null | NodeJS.TypedArray;
type AnyFunction = (...args: readonly FfiValue[]) => number;

const openSymbols = (path: string) => {
  try {
    return dlopen(path, mlxSymbols);
  } catch (cause) {
    throw new KeepwarmError(
      "mlx",
      `MLX could not be opened from ${path}: ${messageOf(cause)}. Run "npm run keepwarm -- setup" to install it again.`,
      { cause },
    );
  }
};

export class MlxLibrary implements Disposable {
  readonly version: string;
  /** Of arrays: made and not yet freed. */
  liveHandles = 0;
  readonly #library: ReturnType<typeof openSymbols>;
  readonly #functions: Record<MlxSymbol, AnyFunction>;
  readonly #errorHandler: JSCallback;
  #lastError = "";
  /** Where functions put their results: one place for all calls, because making one takes longer than most of them. */
  readonly #out = new Float64Array(new ArrayBuffer(8));
  readonly #outAddress = ptr(this.#out);

  constructor(path: string) {
    this.#library = openSymbols(path);
    this.#functions = this.#library.symbols as unknown as Record<MlxSymbol, AnyFunction>;
    // mlx-c's own handler ends the process.
    this.#errorHandler = new JSCallback(
      (message: Pointer) => {
        this.#lastError = new CString(message).toString().replace(BUILD_PLACE, "");
      },
      { args: [FFIType.ptr, FFIType.ptr], returns: FFIType.void },
    );
    this.#functions.mlx_set_error_handler(this.#errorHandler.ptr, null, null);
    this.version = this.#readVersion();
    if (this.version !== MLX_VERSION) {
      this[Symbol.dispose]();
      throw new KeepwarmError(
        "version-mismatch",
        `This Keepwarm needs MLX ${MLX_VERSION}, but ${path} is MLX ${this.version}. Run "npm run keepwarm -- setup", or give a folder with the right version.`,
      );
    }
  }

  /** Calls a function that returns a status. Throws with the call's name and MLX's own words. */
  call(name: MlxSymbol, ...args: readonly FfiValue[]): void {
    if (this.#functions[name](...args) !== 0) throw this.#failed(name);
  }

  /** Calls a function whose first argument is where its result goes; returns the new handle or number. */
  result(name: MlxSymbol, ...args: readonly FfiValue[]): Pointer {
    // A result may be shorter than eight bytes.
    this.#out[0] = 0;
    if (this.#functions[name](this.#outAddress, ...args) !== 0) throw this.#failed(name);
    // Read through the address: the JIT may keep a stale value of the typed array.
    return read.ptr(this.#outAddress, 0) as Pointer;
  }

  /** Calls a function that returns a handle, a pointer or a number. Throws when it is a null pointer. */
  value(name: MlxSymbol, ...args: readonly FfiValue[]): Pointer {
    const value = this.#functions[name](...args);
    if (value === null) throw this.#failed(name);
    return value as Pointer;
  }

  number(name: MlxSymbol, handle: Pointer): number {
    return Number(this.#functions[name](handle));
  }

  [Symbol.dispose](): void {
    this.#functions.mlx_set_error_handler(null, null, null);
    this.#errorHandler.close();
    this.#library.close();
  }

  #failed(name: MlxSymbol): KeepwarmError {
    const message = this.#lastError || "no reason given";
    this.#lastError = "";
    return new KeepwarmError("mlx", `${name}: ${message}`);
  }

  #readVersion(): string {
    const text = this.result("mlx_version");
    const version = new CString(this.value("mlx_string_data", text)).toString();
    this.call("mlx_string_free", text);
    return version;
  }
}
