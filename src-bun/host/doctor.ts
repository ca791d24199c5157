// `doctor`: what set-up needs and has, part by part, in words.

import { messageOf } from "../base/errors.ts";
import { MLX_VERSION, MlxLibrary } from "../mlx/library.ts";
import type { Environment } from "../platform/paths.ts";
import { type Finding, inspectSetup } from "../setup/inspect.ts";
import { ensureSetup } from "../setup/setup.ts";

export type DoctorOptions = {
  readonly downloads: string;
  readonly givenLibraryFolder: string | null;
  readonly environment: Environment;
  readonly write: (line: string) => void;
};

const MARKS = { ready: "ok", missing: "missing", broken: "broken" } as const;

const lineOf = ({ title, state, version, detail }: Finding): string =>
  `  ${MARKS[state].padEnd(8)}${title}${version === null ? "" : ` ${version}`}: ${detail}`;

/** Opens the library the way the engine does. Requires that every part is there. */
const inspectOpening = async (options: DoctorOptions, signal: AbortSignal): Promise<Finding> => {
  const title = "MLX opens";
  const { downloads: cacheFolder, givenLibraryFolder, environment } = options;
  try {
    const { mlxLibrary } = await ensureSetup({
      cacheFolder,
      givenLibraryFolder,
      environment,
      signal,
      onProgress: () => undefined,
    });
    using _library = new MlxLibrary(mlxLibrary);
    return { title, state: "ready", version: MLX_VERSION, detail: mlxLibrary };
  } catch (thrown) {
    return { title, state: "broken", version: null, detail: messageOf(thrown) };
  }
};

/** Returns the process's exit code: 0 when everything that the app needs is there. */
export const doctor = async (options: DoctorOptions): Promise<number> => {
  const { downloads: cacheFolder, givenLibraryFolder, environment, write } = options;
  const { signal } = new AbortController();
  const { parts, tools } = await inspectSetup({ cacheFolder, givenLibraryFolder, environment, signal });
  const isComplete = parts.every(({ state }) => state === "ready");
  const opening = isComplete ? [await inspectOpening(options, signal)] : [];
  write("What Keepwarm runs on:");
  for (const finding of [...parts, ...opening]) write(lineOf(finding));
  write(isComplete ? "Tools, needed only to set up again:" : "Tools that set-up needs:");
  for (const finding of tools) write(lineOf(finding));
  return [...parts, ...opening].every(({ state }) => state === "ready") ? 0 : 1;
};
