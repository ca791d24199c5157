// Which compiler builds libmlxc, and the flags by which the result finds its neighbours. A neighbour is named by a path
// relative to the library itself, so that the cache folder can be moved.
import { join } from "node:path";
import type { Environment } from "../platform/paths.ts";
import { getTool } from "./tools.ts";

export type Compiler = {
  readonly command: readonly string[];
  readonly compileFlags: readonly string[];
  readonly linkFlags: readonly string[];
  /** Added to what the compiler inherits. */
  readonly environment: Environment;
  readonly atATime: number;
};

const nativeFolder = join(import.meta.dir, "native");
export const blasForwardSource = join(nativeFolder, "blas-forward.c");
export const formatFallbackHeader = join(nativeFolder, "format-fallback.h");
export const macLibcxxHeader = join(nativeFolder, "mac-libcxx.h");

/** A source takes some 300 MB to compile. */
const MOST_AT_A_TIME = 4;

/** The sources only pass arguments on: more optimising takes a third longer and gains nothing. */
export const commonFlags = ["-std=c++20", "-O1", "-DNDEBUG"];

export const macLinkFlags = [
  "-shared",
  "-Wl,-undefined,dynamic_lookup",
  "-Wl,-install_name,@loader_path/libmlxc.dylib",
  "-Wl,-rpath,@loader_path",
];

export const linuxCompiler = (environment: Environment): Compiler => ({
  command: [getTool("c++", environment)],
  compileFlags: [...commonFlags, "-fPIC", "-include", formatFallbackHeader],
  linkFlags: ["-shared", "-Wl,-soname,libmlxc.so"],
  environment: {},
  atATime: Math.min(MOST_AT_A_TIME, navigator.hardwareConcurrency),
});

/** Not run on a Mac yet: only ziglang's way was, on Linux. */
export const appleCompiler = (path: string): Compiler => ({
  command: [path],
  compileFlags: [...commonFlags, "-mmacosx-version-min=14.0"],
  linkFlags: [...macLinkFlags, "-mmacosx-version-min=14.0"],
  environment: {},
  atATime: Math.min(MOST_AT_A_TIME, navigator.hardwareConcurrency),
});

/** Builds for Apple silicon on any machine. */
export const zigCompiler = (zigPath: string, zigCacheFolder: string): Compiler => ({
  command: [zigPath, "c++", "-target", "aarch64-macos.14.0"],
  compileFlags: [...commonFlags, "-include", macLibcxxHeader],
  // Without it the library carries a libc++ of its own beside the system's, which libmlx uses.
  linkFlags: ["-nostdlib++", ...macLinkFlags],
  environment: { ZIG_GLOBAL_CACHE_DIR: zigCacheFolder, ZIG_LOCAL_CACHE_DIR: zigCacheFolder },
  atATime: 2,
});
