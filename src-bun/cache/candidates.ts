import { isSideRequest, type KeptUnit } from "./kept-unit.ts";
import type { RetentionPolicy } from "./retention-policy.ts";

/** The units that may leave RAM now, in classes: side requests go before the policy's order. */
export class Candidates<Kv, Block> {
  readonly #side = new Set<KeptUnit<Kv, Block>>();
  readonly #rest = new Set<KeptUnit<Kv, Block>>();

  /** Again after its uses changed. */
  add(unit: KeptUnit<Kv, Block>): void {
    this.delete(unit);
    (isSideRequest(unit) ? this.#side : this.#rest).add(unit);
  }

  delete(unit: KeptUnit<Kv, Block>): void {
    this.#side.delete(unit);
    this.#rest.delete(unit);
  }

  /** Null when nothing may go. */
  victim(policy: RetentionPolicy, canEvict: (unit: KeptUnit<Kv, Block>) => boolean): KeptUnit<Kv, Block> | null {
    for (const units of [this.#side, this.#rest]) {
      const free = [...units].filter(canEvict);
      if (free.length > 0) return policy.victim(free);
    }
    return null;
  }
}
