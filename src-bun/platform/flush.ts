import { KeepwarmError } from "../base/errors.ts";
import { openLibc } from "./libc.ts";
import { systemFault } from "./system-fault.ts";

/** macOS: empties the drive's own cache too, which fsync(2) there does not. */
const F_FULLFSYNC = 51;

/** A function that returns once the file's bytes outlive a power cut. After a failure the file takes no more writes. */
export const openFlush = (fdatasync: (fd: number) => void): ((fd: number) => void) => {
  if (process.platform !== "darwin") {
    return (fd) => {
      try {
        fdatasync(fd);
      } catch (cause) {
        throw systemFault("A file could not be flushed", cause, "flush-failed");
      }
    };
  }
  // fcntl takes its third argument from the stack on arm64; F_FULLFSYNC has none, so the two fixed ones suffice.
  const { symbols } = openLibc({ fcntl: { args: ["i32", "i32"], returns: "i32" } });
  return (fd) => {
    if (symbols.fcntl(fd, F_FULLFSYNC) === -1)
      throw new KeepwarmError("flush-failed", "A file could not be flushed to the drive.");
  };
};
