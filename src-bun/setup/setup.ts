// Set-up: MLX, the library that Bun calls it through, and the starter model, below the cache folder.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { KeepwarmError } from "../base/errors.ts";
import type { SetupPart } from "../contract/app-state.ts";
import type { Environment } from "../platform/paths.ts";
import { ensureParts } from "./ensure-parts.ts";
import type { Part } from "./part.ts";
import { libraryParts, type Machine, starterPart, thisMachine } from "./setup-parts.ts";

export type SetupOptions = {
  readonly cacheFolder: string;
  /** Used as it is; must hold libmlxc. */
  readonly givenLibraryFolder: string | null;
  /** For the programs that are called; its PATH is where they are looked for. */
  readonly environment: Environment;
  /** Not called when everything is there. */
  readonly onProgress: (parts: readonly SetupPart[]) => void;
  readonly signal: AbortSignal;
};

export type SetupResult = {
  /** libmlxc. */
  readonly mlxLibrary: string;
  /** The library that computes for MLX where that is OpenBLAS: asked for its number of threads. */
  readonly blasLibrary: string | null;
  /** A GGUF file. */
  readonly starterModel: string;
};

const OPENBLAS = "libscipy_openblas.so";

const libraryName = (machine: Machine): string => (machine.startsWith("darwin") ? "libmlxc.dylib" : "libmlxc.so");

const givenLibrary = (folder: string, machine: Machine): Omit<SetupResult, "starterModel"> => {
  const mlxLibrary = join(folder, libraryName(machine));
  if (!existsSync(mlxLibrary)) {
    throw new KeepwarmError(
      "setup-failed",
      `The library folder ${folder} holds no ${libraryName(machine)}. Name the folder that does, or none to let Keepwarm fetch its own.`,
    );
  }
  const blas = join(folder, OPENBLAS);
  return { mlxLibrary, blasLibrary: existsSync(blas) ? blas : null };
};

const fileOf = (cacheFolder: string, parts: readonly Part[], name: (file: string) => boolean): string | null => {
  const found = parts.flatMap((part) => part.files.map((file) => join(cacheFolder, part.folder, file))).find(name);
  return found ?? null;
};

const getFile = (cacheFolder: string, parts: readonly Part[], ending: string): string => {
  const path = fileOf(cacheFolder, parts, (file) => file.endsWith(ending));
  if (path === null) throw new Error(`no part has a file ${ending}`);
  return path;
};

/** The parts that this machine needs. */
export const setupParts = (cacheFolder: string, givenLibraryFolder: string | null, machine: Machine): Part[] => [
  ...(givenLibraryFolder === null ? libraryParts(cacheFolder, machine) : []),
  starterPart(),
];

export const ensureSetup = async (options: SetupOptions): Promise<SetupResult> => {
  const { cacheFolder, givenLibraryFolder } = options;
  const machine = thisMachine();
  const given = givenLibraryFolder === null ? null : givenLibrary(givenLibraryFolder, machine);
  const parts = setupParts(cacheFolder, givenLibraryFolder, machine);
  await ensureParts(parts, options);
  const libraries = given ?? {
    mlxLibrary: getFile(cacheFolder, parts, libraryName(machine)),
    blasLibrary: fileOf(cacheFolder, parts, (file) => file.endsWith(OPENBLAS)),
  };
  return { ...libraries, starterModel: getFile(cacheFolder, parts, ".gguf") };
};
