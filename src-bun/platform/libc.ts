import { dlopen, type FFIFunction } from "bun:ffi";
import { KeepwarmError, messageOf } from "../base/errors.ts";

const names: Partial<Record<NodeJS.Platform, readonly string[]>> = {
  darwin: ["libSystem.B.dylib"],
  linux: ["libc.so.6", `libc.musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`],
};

/** Opens the C library of this system with the functions given. The caller closes it. */
export const openLibc = <Symbols extends Record<string, FFIFunction>>(symbols: Symbols) => {
  const faults: string[] = [];
  for (const name of names[process.platform] ?? []) {
    try {
      return dlopen(name, symbols);
    } catch (thrown) {
      faults.push(messageOf(thrown));
    }
  }
  throw new KeepwarmError(
    "unsupported-platform",
    `Keepwarm could not open the C library of this system (${faults.join("; ") || process.platform}). It runs on macOS and Linux.`,
  );
};
