// What a screen reader is told of an answer while it is written: whole sentences, now and then.
const sentenceEnd = /[.!?:;。！？؟…](?=\s)|\n/g;

/** Returns where the last whole sentence after `from` ends; `from` when there is none yet. */
export const spokenUntil = (text: string, from: number): number => {
  const last = [...text.slice(from).matchAll(sentenceEnd)].at(-1);
  return last === undefined ? from : from + last.index + 1;
};
