// The parts as a person sees them while set-up runs. Also written to a file, so that a second process that waits for
// this one can show the same.
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { array, literal, nullable, number, object, parse, string, union } from "valibot";
import type { SetupPart } from "../contract/app-state.ts";
import type { Part, PartReport } from "./part.ts";

const boardSchema = array(
  object({
    id: string(),
    title: string(),
    state: union([literal("waiting"), literal("working"), literal("ready"), literal("failed")]),
    doneBytes: number(),
    totalBytes: nullable(number()),
    detail: string(),
  }),
);

type Change = Partial<Pick<SetupPart, "state" | "doneBytes" | "detail">>;

export class ProgressBoard {
  #parts: readonly SetupPart[];
  readonly #file: string;
  readonly #onProgress: (parts: readonly SetupPart[]) => void;

  constructor(parts: readonly Part[], file: string, onProgress: (parts: readonly SetupPart[]) => void) {
    this.#file = file;
    this.#onProgress = onProgress;
    this.#parts = parts.map(({ id, title, totalBytes }) => {
      return { id, title, state: "waiting", doneBytes: 0, totalBytes, detail: "" };
    });
  }

  /** Requires that this process holds the lock: there is one file. */
  change(id: string, change: Change): void {
    this.#parts = this.#parts.map((part) => (part.id === id ? { ...part, ...change } : part));
    writeFileSync(`${this.#file}.new`, JSON.stringify(this.#parts), { mode: 0o600 });
    renameSync(`${this.#file}.new`, this.#file);
    this.#onProgress(this.#parts);
  }

  reporterFor(id: string): PartReport {
    return (now) => this.change(id, { state: "working", ...now });
  }

  ready(id: string): void {
    const totalBytes = this.#parts.find((part) => part.id === id)?.totalBytes ?? 0;
    this.change(id, { state: "ready", doneBytes: totalBytes, detail: "" });
  }

  /** Tells the page even where the file cannot be written, as on a full disk. */
  fail(id: string, detail: string): void {
    this.#parts = this.#parts.map((part) => (part.id === id ? { ...part, state: "failed", detail } : part));
    this.#onProgress(this.#parts);
  }

  /** Shows what another process does: its board where it has written one, else our parts as waiting. */
  showOther(): void {
    const other = this.#readOther() ?? this.#parts;
    this.#onProgress(
      other.map((part) =>
        part.state === "ready" ? part : { ...part, detail: `${part.detail} (by another Keepwarm)`.trimStart() },
      ),
    );
  }

  #readOther(): readonly SetupPart[] | null {
    try {
      return parse(boardSchema, JSON.parse(readFileSync(this.#file, "utf8")));
    } catch {
      // Not written yet: there is nothing of the other's to show.
      return null;
    }
  }
}
