// Which of the kept units leaves RAM first. A policy sees neither tensors nor storage nor scheduling.

export type Candidate = {
  /** What its going frees. */
  readonly bytes: number;
  /** Tokens of prefill that keeping it saves. */
  readonly cost: number;
  /** A logical counter, higher for later. */
  lastUsed: number;
  /** How often a later prompt went on from it. */
  uses: number;
  /** The policy's own. */
  priority: number;
};

export type RetentionPolicy = {
  readonly name: string;
  /** It was kept or used just now; its counters say so already. */
  accessed(entry: Candidate): void;
  /** Which goes first. Never asked with none. */
  victim<Entry extends Candidate>(entries: readonly Entry[]): Entry;
  evicted(entry: Candidate): void;
};
