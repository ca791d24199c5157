import type { Candidate, RetentionPolicy } from "./retention-policy.ts";

/** The least recently used goes first. */
export class LruRetention implements RetentionPolicy {
  readonly name = "lru";

  accessed(entry: Candidate): void {
    entry.priority = entry.lastUsed;
  }

  victim<Entry extends Candidate>(entries: readonly Entry[]): Entry {
    const [first, ...rest] = entries;
    if (first === undefined) throw new RangeError("a victim was asked for among none");
    let oldest = first;
    for (const entry of rest) if (entry.lastUsed < oldest.lastUsed) oldest = entry;
    return oldest;
  }

  evicted(): void {
    // Nothing ages: `lastUsed` alone decides.
  }
}
