// What leaves RAM as one: a tip, or a block that no other continues.
import type { Candidate } from "./retention-policy.ts";

type Kept = Candidate & {
  readonly namespace: string;
  /** Length of the prompt whose answer ended here: a next turn shares at least this much. */
  readonly promptTokens: number;
  /** Who asked for it; null when that is not known. */
  readonly label: string | null;
  /** By the cache's monotonic clock; infinity when it has no such time. */
  expiresAtMs: number;
  /** A block that is pinned pins those it continues: they stay as long as it does. */
  isPinned: boolean;
  /** Requests that need it now; while there are any, it stays. */
  holds: number;
};

export type Tip<Kv> = Kept & {
  readonly kind: "tip";
  readonly tokens: Uint32Array;
  readonly kv: Kv;
  /** Only its own chat's next turn may have it, and it never becomes blocks. */
  readonly noStore: boolean;
};

export type KeptBlock<Block> = Kept & {
  readonly kind: "block";
  /** In its namespace's tree. */
  readonly key: string;
  readonly end: number;
  readonly block: Block;
};

export type KeptUnit<Kv, Block> = Tip<Kv> | KeptBlock<Block>;

/** A side request is short and was never gone on from. */
const SIDE_TOKENS = 256;

export const isSideRequest = (unit: KeptUnit<unknown, unknown>): boolean =>
  unit.uses === 0 && (unit.kind === "tip" ? unit.tokens.length : unit.end) <= SIDE_TOKENS;

/** Whether the policy may be asked about it. Of blocks only those that no other continues may. */
export const mayLeave = (unit: KeptUnit<unknown, unknown>): boolean => unit.holds === 0 && !unit.isPinned;

/** A chat's next turn shares the whole prompt before it but for the token that is always computed. */
export const isNextTurn = (promptTokens: number, keptTokens: number, shared: number): boolean =>
  shared >= Math.min(promptTokens, keptTokens) - 1;

/** Whether a prompt that shares so much with a no-store tip is not its chat's next turn. */
export const isHidden = (tip: Tip<unknown>, shared: number): boolean =>
  tip.noStore && shared > 0 && !isNextTurn(tip.promptTokens, tip.tokens.length, shared);
