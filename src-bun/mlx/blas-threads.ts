import { dlopen } from "bun:ffi";

/**
 * One core is left to everything else. OpenBLAS's threads wait for each other by spinning: as soon as another process
 * takes one of two cores, two threads decode 1 token/s where one thread decodes 10 (measured on x86 with 2 cores; with
 * both cores idle two threads decode 14).
 */
export const blasThreads = (cores: number): number => Math.max(1, cores - 1);

/** Sets how many threads OpenBLAS multiplies with. Requires that no multiplication runs. */
export const setBlasThreads = (libraryPath: string, threads: number): void => {
  const library = dlopen(libraryPath, { scipy_openblas_set_num_threads: { args: ["i32"], returns: "void" } });
  library.symbols.scipy_openblas_set_num_threads(threads);
  library.close();
};
