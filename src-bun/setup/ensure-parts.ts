// Sees to it that every part is there. One process at a time works on a cache folder; another waits and shows the
// first one's progress.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { SetupPart } from "../contract/app-state.ts";
import { acquireFileLock, type FileLock } from "../platform/file-lock.ts";
import { type ObtainContext, obtainPart, tidyStaging } from "./obtain-part.ts";
import type { Part } from "./part.ts";
import { stateOf } from "./part-stamp.ts";
import { ProgressBoard } from "./progress-board.ts";
import { throwIfCancelled } from "./run-tool.ts";
import { setupFault } from "./setup-fault.ts";

export type EnsureContext = ObtainContext & { readonly onProgress: (parts: readonly SetupPart[]) => void };

const ASK_AGAIN_MS = 200;

const waitForLock = async (context: EnsureContext, board: ProgressBoard): Promise<FileLock> => {
  const path = join(context.cacheFolder, "setup.lock");
  for (;;) {
    throwIfCancelled(context.signal);
    const lock = acquireFileLock(path);
    if (lock !== "busy") return lock;
    board.showOther();
    await Bun.sleep(ASK_AGAIN_MS);
  }
};

/** Makes the cache folder usable and takes the lock. */
const enter = async (context: EnsureContext, board: ProgressBoard): Promise<FileLock> => {
  try {
    mkdirSync(context.cacheFolder, { recursive: true, mode: 0o700 });
    return await waitForLock(context, board);
  } catch (thrown) {
    throw setupFault("Preparing the cache folder", thrown);
  }
};

const isReady = (cacheFolder: string, part: Part): boolean => stateOf(cacheFolder, part).kind === "ready";

/** Makes what is missing or broken, in order. Throws the first part's fault; those before it stay. */
const obtainMissing = async (parts: readonly Part[], context: EnsureContext, board: ProgressBoard): Promise<void> => {
  await tidyStaging(context.cacheFolder);
  const missing = parts.filter((part) => !isReady(context.cacheFolder, part));
  for (const part of parts.filter((part) => !missing.includes(part))) board.ready(part.id);
  for (const part of missing) await obtainPart(part, context, board);
};

/** Calls nothing and starts nothing when every part is ready. */
export const ensureParts = async (parts: readonly Part[], context: EnsureContext): Promise<void> => {
  if (parts.every((part) => isReady(context.cacheFolder, part))) return;
  const board = new ProgressBoard(parts, join(context.cacheFolder, "setup-progress.json"), context.onProgress);
  using _lock = await enter(context, board);
  await obtainMissing(parts, context, board);
};
