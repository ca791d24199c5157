// What leaves RAM as one: a tip, or a block that no other continues.
import type { Candidate } from "./retention-policy.ts";

type Kept = Candidate & {
  readonly namespace: string;
  /** Length of the prompt whose answer ended here: a next turn shares at least this much. */
  readonly promptTokens: number;
  /** Requests that need it now; while there are any, it stays. */
  holds: number;
};

export type Tip<Kv> = Kept & { readonly kind: "tip"; readonly tokens: Uint32Array; readonly kv: Kv };

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

/** A chat's next turn shares the whole prompt before it but for the token that is always computed. */
export const isNextTurn = (promptTokens: number, keptTokens: number, shared: number): boolean =>
  shared >= Math.min(promptTokens, keptTokens) - 1;
