// Where the command line finds a running Keepwarm, and who may listen there.
import { createHash } from "node:crypto";
import { chmodSync, lstatSync, mkdirSync, rmSync } from "node:fs";
import { userInfo } from "node:os";
import { dirname, join } from "node:path";
import { KeepwarmError } from "../base/errors.ts";
import { acquireFileLock, type FileLock } from "../platform/file-lock.ts";
import { systemFault } from "../platform/system-fault.ts";

/** macOS keeps 104 bytes for a socket's path, its end mark included (`sun_path`); Linux keeps 108. */
const MAX_PATH_BYTES = 103;

/** `run.sock` in the data folder, or a name made from that folder's in a short one of this user's. */
export const socketPath = (dataFolder: string, temporaryFolder: string): string => {
  const path = join(dataFolder, "run.sock");
  if (Buffer.byteLength(path) <= MAX_PATH_BYTES) return path;
  const name = createHash("sha256").update(dataFolder).digest("hex").slice(0, 16);
  return join(temporaryFolder, `keepwarm-${userInfo().uid}`, `${name}.sock`);
};

const makePrivateFolder = (folder: string): void => {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const stat = lstatSync(folder);
  // A folder for everybody's temporary files is also one in which somebody else may have made ours first.
  if (!stat.isDirectory() || stat.uid !== userInfo().uid)
    throw new KeepwarmError("forbidden", `${folder} is not a folder of yours. Move it away and start Keepwarm again.`);
  if ((stat.mode & 0o077) !== 0) chmodSync(folder, 0o700);
};

const removeStaleSocket = (path: string): void => {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return;
  if (!stat.isSocket())
    throw new KeepwarmError("invalid-reference", `${path} is not a socket. Move it away and start Keepwarm again.`);
  rmSync(path);
};

/**
 * The right to listen at `path`, for as long as the lock is held: whoever has it knows that a socket found there was
 * left by a dead process, and it is removed. "busy" while another process has it.
 */
export const claimSocketPath = (path: string): FileLock | "busy" => {
  try {
    makePrivateFolder(dirname(path));
    const lock = acquireFileLock(`${path}.lock`);
    if (lock === "busy") return lock;
    try {
      removeStaleSocket(path);
      return lock;
    } catch (cause) {
      lock[Symbol.dispose]();
      throw cause;
    }
  } catch (cause) {
    throw systemFault(`Keepwarm could not listen at ${path}`, cause);
  }
};
