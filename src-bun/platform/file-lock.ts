// A lock on a file that one process holds: given back on dispose, and by the system when the process dies.
import { type Pointer, read } from "bun:ffi";
import { closeSync, constants, openSync } from "node:fs";
import { KeepwarmError } from "../base/errors.ts";
import { openLibc } from "./libc.ts";
import { systemFault } from "./system-fault.ts";

const LOCK_EX = 2;
const LOCK_NB = 4;
/** ENOLCK, ENOSYS, EOPNOTSUPP (macOS: also ENOTSUP): the file system has no locks. Anything else counts as taken. */
const noLocks: readonly number[] = process.platform === "darwin" ? [77, 78, 102, 45] : [37, 38, 95];

export class FileLock implements Disposable {
  #fd: number | null;

  constructor(fd: number) {
    this.#fd = fd;
  }

  /** Safe to call twice. */
  [Symbol.dispose](): void {
    if (this.#fd !== null) closeSync(this.#fd);
    this.#fd = null;
  }
}

const openErrno = (): Disposable & { value(): number } => {
  const call = { args: [], returns: "ptr" } as const;
  const library = process.platform === "darwin" ? openLibc({ __error: call }) : openLibc({ __errno_location: call });
  const address = "__error" in library.symbols ? library.symbols.__error : library.symbols.__errno_location;
  return { value: () => read.i32(address() as Pointer, 0), [Symbol.dispose]: () => library.close() };
};

const tryLock = (fd: number): "held" | "busy" | number => {
  using errno = openErrno();
  const library = openLibc({ flock: { args: ["i32", "i32"], returns: "i32" } });
  try {
    if (library.symbols.flock(fd, LOCK_EX | LOCK_NB) === 0) return "held";
    const reason = errno.value();
    return noLocks.includes(reason) ? reason : "busy";
  } finally {
    library.close();
  }
};

const openLockFile = (path: string): number => {
  try {
    return openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
  } catch (cause) {
    throw systemFault(`The lock file ${path} could not be opened`, cause);
  }
};

/** Returns at once: the lock, or "busy" while another holder lives. The file stays behind; only the lock counts. */
export const acquireFileLock = (path: string): FileLock | "busy" => {
  const fd = openLockFile(path);
  const outcome = tryLock(fd);
  if (outcome === "held") return new FileLock(fd);
  closeSync(fd);
  if (outcome === "busy") return "busy";
  throw new KeepwarmError(
    "io-failed",
    `The volume of ${path} cannot lock files (error ${outcome}). Choose a folder on a local disk.`,
  );
};
