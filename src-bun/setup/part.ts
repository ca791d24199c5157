// One thing that set-up obtains into its own folder below the cache folder.
import type { Environment } from "../platform/paths.ts";

/** `doneBytes` left out: as before. */
export type PartReport = (now: { readonly doneBytes?: number; readonly detail: string }) => void;

export type PartWork = {
  readonly cacheFolder: string;
  /** Empty; becomes the part's folder when `make` has returned. */
  readonly folder: string;
  /** Empty; deleted afterwards. */
  readonly scratchFolder: string;
  /** Survives an interruption, for work that can go on from there; deleted when the part is ready. */
  readonly keptFolder: string;
  readonly environment: Environment;
  readonly signal: AbortSignal;
  readonly report: PartReport;
};

export type Part = {
  readonly id: string;
  readonly title: string;
  readonly version: string;
  /** The name of its folder; holds the version, so that two versions lie side by side. */
  readonly folder: string;
  /** Null where the work has no size, such as a build. */
  readonly totalBytes: number | null;
  /** What it needs while it is made. */
  readonly diskBytes: number;
  /** Relative to its folder; what must be there for the part to be ready. */
  readonly files: readonly string[];
  /** Changes when the same version would be made differently. */
  readonly recipe: string;
  make(work: PartWork): Promise<void>;
};
