// The file calls that storage needs, each one call of the system: short reads and writes are the caller's to repeat.
// Every method throws a KeepwarmError that names the call.
import {
  chmodSync,
  closeSync,
  constants,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readvSync,
  renameSync,
  statfsSync,
  unlinkSync,
  writevSync,
} from "node:fs";
import { KeepwarmError } from "../base/errors.ts";
import { openFlush } from "./flush.ts";
import { systemFault } from "./system-fault.ts";

/** "create" refuses a file that exists; all refuse a symbolic link in the last place. */
type OpenMode = "read" | "update" | "create";

export type Filesystem = {
  open(path: string, mode: OpenMode): number;
  close(fd: number): void;
  sizeBytes(fd: number): number;
  /** At most 1,024 views. Returns the bytes read; 0 is the end of the file. */
  read(fd: number, views: readonly Uint8Array[], position: number): number;
  /** At most 1,024 views. Returns the bytes written, which may be fewer than given. */
  write(fd: number, views: readonly Uint8Array[], position: number): number;
  truncate(fd: number, bytes: number): void;
  /** Returns when a power cut can no longer take what was written to this file. */
  flush(fd: number): void;
  /** What `flush` is, for a folder's names. */
  flushFolder(path: string): void;
  rename(from: string, to: string): void;
  unlink(path: string): void;
  /** Makes it with its parents, or repairs its mode: only this user may enter. Refuses a link. */
  makeFolder(path: string): void;
  list(path: string): string[];
  space(path: string): { readonly freeBytes: number; readonly totalBytes: number };
};

const flags: Record<OpenMode, number> = {
  read: constants.O_RDONLY | constants.O_NOFOLLOW,
  update: constants.O_RDWR | constants.O_NOFOLLOW,
  create: constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW,
};

function named<Result>(what: string, call: () => Result): Result {
  try {
    return call();
  } catch (cause) {
    throw systemFault(what, cause);
  }
}

const makePrivateFolder = (path: string): void => {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const stat = lstatSync(path);
  if (!stat.isDirectory())
    throw new KeepwarmError("invalid-reference", `${path} is not a folder. Move it away or choose another folder.`);
  if ((stat.mode & 0o077) !== 0) chmodSync(path, 0o700);
};

const flushFolderWith = (flush: (fd: number) => void, path: string): void => {
  const fd = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    flush(fd);
  } finally {
    closeSync(fd);
  }
};

const spaceOf = (path: string) => {
  const stat = statfsSync(path);
  return { freeBytes: stat.bavail * stat.bsize, totalBytes: stat.blocks * stat.bsize };
};

/** The files of this machine. */
export const openFilesystem = (): Filesystem => {
  const flush = openFlush(fdatasyncSync);
  return {
    open: (path, mode) => named(`${path} could not be opened`, () => openSync(path, flags[mode], 0o600)),
    close: (fd) => named("A file could not be closed", () => closeSync(fd)),
    sizeBytes: (fd) => named("A file's size could not be read", () => fstatSync(fd).size),
    read: (fd, views, position) => named("A file could not be read", () => readvSync(fd, views, position)),
    write: (fd, views, position) => named("A file could not be written", () => writevSync(fd, views, position)),
    truncate: (fd, bytes) => named("A file could not be cut", () => ftruncateSync(fd, bytes)),
    flush,
    flushFolder: (path) => named(`${path} could not be flushed`, () => flushFolderWith(flush, path)),
    rename: (from, to) => named(`${from} could not be renamed`, () => renameSync(from, to)),
    unlink: (path) => named(`${path} could not be deleted`, () => unlinkSync(path)),
    makeFolder: (path) => named(`The folder ${path} could not be made`, () => makePrivateFolder(path)),
    list: (path) => named(`The folder ${path} could not be read`, () => readdirSync(path)),
    space: (path) => named(`The free space of ${path} could not be read`, () => spaceOf(path)),
  };
};
