import { CString, type Pointer } from "bun:ffi";
import type { MlxArray } from "./array.ts";
import { cString } from "./c-string.ts";
import type { MlxRuntime } from "./runtime.ts";

const keysOf = (runtime: MlxRuntime, file: Pointer): string[] => {
  const { library } = runtime;
  const keys = library.result("mlx_io_gguf_get_keys", file);
  try {
    return Array.from({ length: library.number("mlx_vector_string_size", keys) }, (_, index) =>
      new CString(library.result("mlx_vector_string_get", keys, index)).toString(),
    );
  } finally {
    library.call("mlx_vector_string_free", keys);
  }
};

/** All arrays of a GGUF file by name; quantised ones as "NAME.weight", "NAME.scales" and "NAME.biases". */
export const loadGguf = (runtime: MlxRuntime, path: string): Map<string, MlxArray> => {
  const { library } = runtime;
  const file = library.result("mlx_load_gguf", cString(path), runtime.stream);
  try {
    return new Map(
      keysOf(runtime, file).map((key) => [
        key,
        runtime.adopt(library.result("mlx_io_gguf_get_array", file, cString(key))),
      ]),
    );
  } finally {
    library.call("mlx_io_gguf_free", file);
  }
};
