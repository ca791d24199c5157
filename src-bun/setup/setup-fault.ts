import { KeepwarmError, messageOf } from "../base/errors.ts";
import { noSpace } from "./tool-failure.ts";

const errnoOf = (thrown: unknown): string | null =>
  thrown instanceof Error && "syscall" in thrown && "code" in thrown ? String(thrown.code) : null;

const translated = (thrown: unknown): unknown => {
  const errno = errnoOf(thrown);
  if (errno === "ENOSPC" || errno === "EDQUOT") return noSpace();
  if (errno === null) return thrown;
  return new KeepwarmError(
    "setup-failed",
    `${messageOf(thrown)}. Check that the cache folder can be written to and start again.`,
    { cause: thrown },
  );
};

/** The fault under the name of the step it happened in; what is no fault of the world is returned as it is. */
export const setupFault = (step: string, thrown: unknown): unknown => {
  const fault = translated(thrown);
  if (!(fault instanceof KeepwarmError) || fault.code === "cancelled") return fault;
  return new KeepwarmError(fault.code, `${step}: ${fault.message}`, { cause: fault });
};
