// What makes single tokens more or less likely before one is drawn: repetition, presence, frequency, bias.
import type { Sampling } from "../contract/sampling.ts";

export type PenaltyOptions = Pick<Sampling, "repetitionPenalty" | "presencePenalty" | "frequencyPenalty" | "logitBias">;

export class Penalties {
  readonly isNeutral: boolean;
  readonly #options: PenaltyOptions;
  readonly #held: Set<number>;
  readonly #answerCounts = new Map<number, number>();

  constructor(options: PenaltyOptions, prompt: Uint32Array) {
    const { repetitionPenalty, presencePenalty, frequencyPenalty, logitBias } = options;
    this.#options = options;
    this.isNeutral =
      repetitionPenalty === 1 && presencePenalty === 0 && frequencyPenalty === 0 && logitBias.length === 0;
    this.#held = new Set(repetitionPenalty === 1 ? [] : prompt);
  }

  /** Tells of a token that the answer now holds. */
  accept(id: number): void {
    if (this.isNeutral) return;
    this.#held.add(id);
    this.#answerCounts.set(id, (this.#answerCounts.get(id) ?? 0) + 1);
  }

  /** Changes the logits in place. */
  apply(logits: Float32Array): void {
    const { repetitionPenalty, presencePenalty, frequencyPenalty, logitBias } = this.#options;
    if (repetitionPenalty !== 1) {
      for (const id of this.#held) {
        const logit = logits[id] ?? 0;
        logits[id] = logit > 0 ? logit / repetitionPenalty : logit * repetitionPenalty;
      }
    }
    for (const [id, count] of this.#answerCounts) {
      logits[id] = (logits[id] ?? 0) - presencePenalty - count * frequencyPenalty;
    }
    for (const [id, bias] of logitBias) logits[id] = (logits[id] ?? 0) + bias;
  }
}
