// The fingerprint of a model's weights, from memory where its files are those that it was computed from.
import type { FingerprintMemory } from "./fingerprint-memory.ts";
import type { ModelFile } from "./model-file.ts";
import type { StoredTensor } from "./stored-tensor.ts";
import { tensorFingerprint } from "./tensor-fingerprint.ts";

/** A file written so lately may be written again within one tick of its clock, and look the same. */
const SETTLED_MS = 2_000;

export type IdentityHelp = {
  /** Null: nothing is remembered. */
  readonly memory: FingerprintMemory | null;
  /** Milliseconds since 1970. */
  readonly wallClock: () => number;
  readonly turn: () => Promise<void>;
};

const filesOf = (tensors: ReadonlyMap<string, StoredTensor>): ModelFile[] => [
  ...new Set([...tensors.values()].map(({ file }) => file)),
];

export const weightsFingerprint = async (
  tensors: ReadonlyMap<string, StoredTensor>,
  { memory, wallClock, turn }: IdentityHelp,
): Promise<string> => {
  const stamps = filesOf(tensors).map((file) => file.stamp());
  const identity = stamps
    .map(({ text }) => text)
    .sort()
    .join(" ");
  const known = memory?.find(identity) ?? null;
  if (known !== null) return known;
  const fingerprint = await tensorFingerprint(tensors, turn);
  const after = filesOf(tensors)
    .map((file) => file.stamp().text)
    .sort()
    .join(" ");
  const isSettled = stamps.every(({ changedMs }) => changedMs + SETTLED_MS < wallClock());
  if (after === identity && isSettled) memory?.put(identity, fingerprint);
  return fingerprint;
};
