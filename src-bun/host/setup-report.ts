// Set-up as lines of text, for a terminal: a line when a part begins, ends or has moved on by a quarter.
import type { AppState, SetupPart } from "../contract/app-state.ts";

const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(bytes < 10e6 ? 1 : 0);

const quarterOf = ({ doneBytes, totalBytes }: SetupPart): number =>
  totalBytes === null || totalBytes === 0 ? 0 : Math.min(3, Math.floor((doneBytes / totalBytes) * 4));

const lineOf = (part: SetupPart): string => {
  if (part.state === "ready") return `${part.title}: ready`;
  if (part.state === "failed") return `${part.title}: ${part.detail}`;
  const size = part.totalBytes === null ? "" : `, ${megabytes(part.doneBytes)} of ${megabytes(part.totalBytes)} MB`;
  return `${part.title}: ${part.detail}${size}`;
};

/** Returns a listener for the app's state that writes each step once. */
export const setupReport = (write: (line: string) => void): ((state: AppState) => void) => {
  const told = new Map<string, string>();
  let wasWorking = false;
  return (state) => {
    if (state.kind === "ready" && state.ssdFault !== null) write(`New prompts stay in RAM only: ${state.ssdFault}`);
    if (state.kind === "loading" && wasWorking) write("Loading the model");
    if (state.kind !== "setting-up") return;
    for (const part of state.parts) {
      if (part.state === "waiting") continue;
      // A part that was there from the beginning is no news.
      if (part.state === "ready" && !told.has(part.id)) continue;
      const step = `${part.state} ${part.state === "working" ? `${part.detail} ${quarterOf(part)}` : ""}`;
      if (told.get(part.id) === step) continue;
      told.set(part.id, step);
      wasWorking = true;
      write(lineOf(part));
    }
  };
};
