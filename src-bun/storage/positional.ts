// Reads and writes whole lists of views where the system may stop short.
import { KeepwarmError } from "../base/errors.ts";
import type { Filesystem } from "../platform/filesystem.ts";

/** The system takes at most 1,024 in one call. */
const MAX_VIEWS = 512;

type Call = (views: readonly Uint8Array[], position: number) => number;

/** What is left of the views after their first `bytes`. */
const behind = (views: readonly Uint8Array[], bytes: number): Uint8Array[] => {
  let skip = bytes;
  const left: Uint8Array[] = [];
  for (const view of views) {
    if (skip < view.length) left.push(view.subarray(skip));
    skip = Math.max(0, skip - view.length);
  }
  return left;
};

/** Repeats a call that may stop short until it has done all or does nothing. Returns the bytes done. */
const repeat = (call: Call, views: readonly Uint8Array[], position: number): number => {
  let done = 0;
  for (let left = behind(views, 0); left.length > 0; ) {
    const bytes = call(left.slice(0, MAX_VIEWS), position + done);
    if (bytes === 0) break;
    done += bytes;
    left = behind(left, bytes);
  }
  return done;
};

/** Returns the bytes read: fewer than the views hold only at the file's end. */
export const readFully = (filesystem: Filesystem, fd: number, views: readonly Uint8Array[], position: number): number =>
  repeat((left, at) => filesystem.read(fd, left, at), views, position);

export const writeFully = (
  filesystem: Filesystem,
  fd: number,
  views: readonly Uint8Array[],
  position: number,
): number => {
  const done = repeat((left, at) => filesystem.write(fd, left, at), views, position);
  const wanted = views.reduce((sum, view) => sum + view.length, 0);
  if (done === wanted) return done;
  throw new KeepwarmError("no-progress", `Writing stopped after ${done} of ${wanted} bytes. Check the disk.`);
};
