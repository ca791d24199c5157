// Takes files out of the page cache, and says whether they really left it. Linux only.
import { dlopen } from "bun:ffi";
import { closeSync, openSync, readdirSync } from "node:fs";
import { join } from "node:path";

const POSIX_FADV_DONTNEED = 4;

const dropFile = (path: string): void => {
  const libc = dlopen("libc.so.6", {
    posix_fadvise: { args: ["i32", "i64", "i64", "i32"], returns: "i32" },
    fdatasync: { args: ["i32"], returns: "i32" },
  });
  const fd = openSync(path, "r");
  try {
    libc.symbols.fdatasync(fd);
    const status = libc.symbols.posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    if (status !== 0) throw new Error(`posix_fadvise(${path}) failed with ${status}`);
  } finally {
    closeSync(fd);
    libc.close();
  }
};

const residentBytes = (path: string): number => {
  const { stdout, success } = Bun.spawnSync(["fincore", "--bytes", "--noheadings", "--output", "RES", path]);
  if (!success) throw new Error("fincore (util-linux) is needed to know what the page cache holds");
  return Number(stdout.toString().trim());
};

/** Returns the bytes of the folder's files that stayed in the page cache all the same. */
export const dropFromPageCache = (folder: string): number => {
  const files = readdirSync(folder).map((name) => join(folder, name));
  for (const file of files) dropFile(file);
  return files.reduce((sum, file) => sum + residentBytes(file), 0);
};
