// Makes one part in a staging folder and gives it its name when it is whole. Requires the set-up lock.
import { mkdir, mkdtemp, readdir, rename, rm, statfs } from "node:fs/promises";
import { join } from "node:path";
import { KeepwarmError, messageOf } from "../base/errors.ts";
import type { Environment } from "../platform/paths.ts";
import type { Part } from "./part.ts";
import { writeStamp } from "./part-stamp.ts";
import type { ProgressBoard } from "./progress-board.ts";
import { throwIfCancelled } from "./run-tool.ts";
import { setupFault } from "./setup-fault.ts";

export type ObtainContext = {
  readonly cacheFolder: string;
  readonly environment: Environment;
  readonly signal: AbortSignal;
};

const STAGING = "staging";
const KEPT = "kept-";
const MEGABYTE = 1_000_000;

/** Removes what an interrupted run left behind, but for what the next run can go on with. */
export const tidyStaging = async (cacheFolder: string): Promise<void> => {
  const staging = join(cacheFolder, STAGING);
  await mkdir(staging, { recursive: true, mode: 0o700 });
  const leftovers = (await readdir(staging)).filter((name) => !name.startsWith(KEPT));
  for (const name of leftovers) await rm(join(staging, name), { recursive: true, force: true });
};

const requireSpace = async (cacheFolder: string, part: Part): Promise<void> => {
  const { bavail, bsize } = await statfs(cacheFolder);
  const freeBytes = bavail * bsize;
  if (freeBytes >= part.diskBytes) return;
  const megabytes = (bytes: number) => `${Math.ceil(bytes / MEGABYTE).toLocaleString("en")} MB`;
  throw new KeepwarmError(
    "no-space",
    `${megabytes(part.diskBytes)} of free space are needed in ${cacheFolder}, ${megabytes(freeBytes)} are there. Free some space and start again; what is already here is kept.`,
  );
};

const make = async (part: Part, context: ObtainContext, board: ProgressBoard): Promise<void> => {
  const { cacheFolder } = context;
  throwIfCancelled(context.signal);
  await requireSpace(cacheFolder, part);
  const work = await mkdtemp(join(cacheFolder, STAGING, `${part.id}-`));
  const [folder, scratchFolder] = [join(work, "part"), join(work, "scratch")];
  const keptFolder = join(cacheFolder, STAGING, `${KEPT}${part.id}-${part.recipe.slice(0, 16)}`);
  const target = join(cacheFolder, part.folder);
  try {
    for (const one of [folder, scratchFolder, keptFolder]) await mkdir(one, { recursive: true });
    await part.make({ ...context, folder, scratchFolder, keptFolder, report: board.reporterFor(part.id) });
    writeStamp(folder, part);
    await rm(target, { recursive: true, force: true });
    await rename(folder, target);
    await rm(keptFolder, { recursive: true, force: true });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
};

export const obtainPart = async (part: Part, context: ObtainContext, board: ProgressBoard): Promise<void> => {
  try {
    board.reporterFor(part.id)({ detail: "Starting" });
    await make(part, context, board);
    board.ready(part.id);
  } catch (thrown) {
    const fault = setupFault(part.title, thrown);
    board.fail(part.id, messageOf(fault));
    throw fault;
  }
};
