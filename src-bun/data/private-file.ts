// Small files that only this user may read: the token, the sessions, the lock beside the socket.
import { randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { KeepwarmError } from "../base/errors.ts";
import { systemFault } from "../platform/system-fault.ts";

const hasErrno = (thrown: unknown, code: string): boolean =>
  thrown instanceof Error && "code" in thrown && thrown.code === code;

const checkMode = (path: string, fd: number): void => {
  const stat = fstatSync(fd);
  if (!stat.isFile())
    throw new KeepwarmError("invalid-reference", `${path} is not a file. Move it away and start Keepwarm again.`);
  if ((stat.mode & 0o077) === 0) return;
  const mode = (stat.mode & 0o777).toString(8);
  throw new KeepwarmError(
    "forbidden",
    `Other users of this computer may read ${path} (mode ${mode}). Delete it and start Keepwarm again, which makes a new one.`,
  );
};

/** Returns the text, or null when there is no such file. Refuses a link and a file that others may read. */
export const findPrivateText = (path: string): string | null => {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  } catch (cause) {
    if (hasErrno(cause, "ENOENT")) return null;
    throw systemFault(`${path} could not be opened`, cause);
  }
  try {
    checkMode(path, fd);
    return readFileSync(fd, "utf8");
  } catch (cause) {
    throw systemFault(`${path} could not be read`, cause);
  } finally {
    closeSync(fd);
  }
};

/** Writes a new file beside `path`, hands its name to `use`, and leaves none behind. */
const withFileBeside = (path: string, text: string, use: (beside: string) => void): void => {
  const beside = `${path}.${randomBytes(6).toString("hex")}`;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(beside, text, { flag: "wx", mode: 0o600, flush: true });
    use(beside);
  } finally {
    rmSync(beside, { force: true });
  }
};

/** Replaces the whole file at once, or leaves the old one as it was. */
export const putPrivateText = (path: string, text: string): void => {
  try {
    withFileBeside(path, text, (beside) => renameSync(beside, path));
  } catch (cause) {
    throw systemFault(`${path} could not be written`, cause);
  }
};

/** Returns false, and changes nothing, when the file exists: of two that create it at once, one wins. */
export const createPrivateText = (path: string, text: string): boolean => {
  try {
    withFileBeside(path, text, (beside) => linkSync(beside, path));
    return true;
  } catch (cause) {
    if (hasErrno(cause, "EEXIST")) return false;
    throw systemFault(`${path} could not be written`, cause);
  }
};
