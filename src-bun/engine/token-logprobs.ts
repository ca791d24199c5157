// Log-probabilities of tokens as the model itself sees them: softmax of its logits, nothing added.

export type IdLogprob = { readonly id: number; readonly logprob: number };

/** What OpenAI's dialect gives for a token that is next to impossible; JSON knows no infinity. */
const LEAST = -9999;

/** The `count` likeliest ids, likeliest first, of equals the smallest id first. */
const likeliest = (logits: Float32Array, count: number): readonly number[] => {
  const ids: number[] = [];
  if (count === 0) return ids;
  let bar = Number.NEGATIVE_INFINITY;
  for (let id = 0; id < logits.length; id++) {
    const logit = logits[id] as number;
    if (ids.length === count && !(logit > bar)) continue;
    let place = ids.length;
    while (place > 0 && logit > (logits[ids[place - 1] as number] as number)) place--;
    ids.splice(place, 0, id);
    if (ids.length > count) ids.pop();
    bar = logits[ids.at(-1) as number] as number;
  }
  return ids;
};

/** The chosen token's log-probability, and those of the `top` likeliest. */
export const tokenLogprobs = (
  logits: Float32Array,
  chosen: number,
  top: number,
): IdLogprob & { readonly top: readonly IdLogprob[] } => {
  let largest = Number.NEGATIVE_INFINITY;
  for (let id = 0; id < logits.length; id++) largest = Math.max(largest, logits[id] as number);
  let sum = 0;
  for (let id = 0; id < logits.length; id++) sum += Math.exp((logits[id] as number) - largest);
  const logSum = Math.log(sum);
  const of = (id: number): IdLogprob => ({ id, logprob: Math.max(LEAST, (logits[id] ?? 0) - largest - logSum) });
  return { ...of(chosen), top: likeliest(logits, top).map(of) };
};
