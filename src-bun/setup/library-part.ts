// libmlxc: mlx-c compiled and linked against a wheel's MLX, the library that Bun calls.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { copyFile, link, readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { compileAll, compilerRun } from "./compile.ts";
import {
  blasForwardSource,
  type Compiler,
  commonFlags,
  formatFallbackHeader,
  macLibcxxHeader,
  macLinkFlags,
} from "./compiler.ts";
import type { Part, PartWork } from "./part.ts";
import type { Crate, Wheel } from "./versions.ts";
import { wheelFolder } from "./wheel-part.ts";

type LibraryInputs = {
  readonly crate: Crate;
  readonly mlx: Wheel;
  readonly sourceFolder: string;
};

/** Raised when the way of building changes in what the recipe does not see. */
const BUILD_WAY = 1;
/** Objects, and what a compiler writes on the way. */
const BUILD_BYTES = 64 << 20;

const recipeOf = (...ingredients: readonly string[]): string =>
  createHash("sha256")
    .update(JSON.stringify([BUILD_WAY, ...ingredients]))
    .digest("hex")
    .slice(0, 16);

const sourcesIn = async (work: PartWork, sourceFolder: string): Promise<string[]> => {
  const folder = join(work.cacheFolder, sourceFolder, "mlx/c");
  return (await readdir(folder)).filter((name) => name.endsWith(".cpp")).map((name) => join(folder, name));
};

const includesFor = (work: PartWork, { mlx, sourceFolder }: LibraryInputs): string[] => {
  const include = join(work.cacheFolder, wheelFolder(mlx), "mlx/include");
  return [join(work.cacheFolder, sourceFolder), include, join(include, "metal_cpp")];
};

const linuxLink = (work: PartWork, libraries: readonly string[]): string[] =>
  libraries.flatMap((library) => [
    join(work.cacheFolder, library),
    `-Wl,-rpath,$ORIGIN/../${library.slice(0, library.lastIndexOf("/"))}`,
  ]);

/** For Linux. OpenBLAS's forwarder is part of the library, and so comes before libmlx's own BLAS in the look-up. */
export const linuxLibraryPart = (
  inputs: LibraryInputs & { readonly openBlas: Wheel; readonly compiler: (work: PartWork) => Compiler },
): Part => ({
  ...libraryNames(inputs),
  files: ["libmlxc.so"],
  recipe: recipeOf(
    inputs.mlx.sha256,
    inputs.openBlas.sha256,
    inputs.crate.sha256,
    readFileSync(blasForwardSource, "utf8"),
    readFileSync(formatFallbackHeader, "utf8"),
    ...commonFlags,
  ),
  make: async (work) => {
    const compiler = inputs.compiler(work);
    const sources = [blasForwardSource, ...(await sourcesIn(work, inputs.sourceFolder))];
    const objects = await compileAll({ compiler, sources, includeFolders: includesFor(work, inputs) }, work);
    const libraries = [inputs.mlx, inputs.openBlas].flatMap((wheel) =>
      wheel.opens.map((file) => `${wheelFolder(wheel)}/${file}`),
    );
    const output = ["-o", join(work.folder, "libmlxc.so")];
    work.report({ detail: "Linking" });
    const args = [...compiler.linkFlags, ...output, ...objects, ...linuxLink(work, libraries)];
    await compilerRun(compiler, args, "Linking libmlxc.so", work);
  },
});

/** A second name for the file where the file system allows one, a copy elsewhere. */
const place = async (from: string, to: string): Promise<void> => {
  try {
    await link(from, to);
  } catch {
    await copyFile(from, to);
  }
};

/** For macOS: MLX and its Metal kernels lie beside the library, as in the app. */
export const macLibraryPart = (inputs: LibraryInputs & { readonly compiler: (work: PartWork) => Compiler }): Part => ({
  ...libraryNames(inputs),
  files: ["libmlxc.dylib", ...inputs.mlx.opens.map((file) => basename(file))],
  recipe: recipeOf(
    inputs.mlx.sha256,
    inputs.crate.sha256,
    readFileSync(macLibcxxHeader, "utf8"),
    ...commonFlags,
    ...macLinkFlags,
  ),
  make: async (work) => {
    const compiler = inputs.compiler(work);
    const sources = await sourcesIn(work, inputs.sourceFolder);
    const objects = await compileAll({ compiler, sources, includeFolders: includesFor(work, inputs) }, work);
    const mlxFiles = inputs.mlx.opens.map((file) => join(work.cacheFolder, wheelFolder(inputs.mlx), file));
    const mlxLibraries = mlxFiles.filter((file) => file.endsWith(".dylib"));
    const output = ["-o", join(work.folder, "libmlxc.dylib")];
    work.report({ detail: "Linking" });
    await compilerRun(
      compiler,
      [...compiler.linkFlags, ...output, ...objects, ...mlxLibraries],
      "Linking libmlxc.dylib",
      work,
    );
    for (const file of mlxFiles) await place(file, join(work.folder, basename(file)));
  },
});

const libraryNames = ({ crate, mlx }: LibraryInputs) => ({
  id: "libmlxc",
  title: `mlx-c ${crate.version} for MLX ${mlx.version}`,
  version: crate.version,
  folder: `libmlxc-${crate.version}-${wheelFolder(mlx)}`,
  totalBytes: null,
  diskBytes: BUILD_BYTES,
});
