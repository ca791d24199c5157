import { dlopen } from "bun:ffi";

/** Sets how many threads OpenBLAS multiplies with. Requires that no multiplication runs. */
export const setBlasThreads = (libraryPath: string, threads: number): void => {
  const library = dlopen(libraryPath, { scipy_openblas_set_num_threads: { args: ["i32"], returns: "void" } });
  library.symbols.scipy_openblas_set_num_threads(threads);
  library.close();
};
