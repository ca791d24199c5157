import { KeepwarmError } from "../base/errors.ts";

/** A file that contradicts itself or lacks what it promises. */
export const damagedModel = (path: string, why: string, cause?: unknown): KeepwarmError =>
  new KeepwarmError("damaged-file", `The model file ${path} cannot be used: ${why}. Download it again.`, { cause });

/** A sound file of something that does not run here. */
export const unsupportedModel = (path: string, why: string): KeepwarmError =>
  new KeepwarmError("unsupported-model", `Keepwarm cannot run ${path}: ${why}.`);
