import { expect, test } from "bun:test";
import type { GenerateProgress } from "../../src-bun/contract/engine.ts";
import { AnswerText } from "../../src-bun/engine/answer-text.ts";

/** Each token is some bytes; null stands for a control token. */
const answerOf = (
  tokens: readonly (string | readonly number[] | null)[],
  stop: readonly string[],
  top: number | null,
) => {
  const bytes = tokens.map((token) =>
    token === null ? null : typeof token === "string" ? new TextEncoder().encode(token) : Uint8Array.from(token),
  );
  const decoder = new TextDecoder();
  const told: GenerateProgress[] = [];
  const answer = new AnswerText({
    stream: {
      push: (id) => decoder.decode(bytes[id] ?? new Uint8Array(0), { stream: true }),
      end: () => decoder.decode(),
    },
    bytesOf: (id) => bytes[id] ?? null,
    stop,
    topLogprobs: top,
    onProgress: (progress) => told.push(progress),
  });
  const logits = (): Float32Array => Float32Array.from(tokens, (_, id) => id);
  let isStopped = false;
  for (let id = 0; id < tokens.length && !isStopped; id++) isStopped = answer.push(id, logits);
  if (!isStopped) isStopped = answer.end();
  const texts = told.map((one) => (one.kind === "text" ? one.text : null));
  const tokensTold = told.map((one) => (one.kind === "text" ? one.logprobs?.map(({ token }) => token) : null));
  return { answer, isStopped, texts, tokensTold };
};

test("shows text as it comes, and speaks of log-probabilities only when asked", () => {
  const { answer, isStopped, texts, tokensTold } = answerOf(["Paris", " is", " warm"], ["END"], null);
  expect(answer.text).toBe("Paris is warm");
  expect(isStopped).toBe(false);
  expect(texts).toEqual(["Paris", " is", " warm"]);
  expect(tokensTold).toEqual([undefined, undefined, undefined]);
  expect(answer.logprobs).toBeUndefined();
});

test("a token's log-probability comes with its text, also when that was held back", () => {
  const { texts, tokensTold, answer } = answerOf(["one", " E", "N", "d", "E"], ["END"], 0);
  expect(texts).toEqual(["one", " ", "ENd", "E"]);
  expect(tokensTold).toEqual([["one"], [" E"], ["N", "d"], ["E"]]);
  expect(answer.logprobs?.map(({ token }) => token)).toEqual(["one", " E", "N", "d", "E"]);
});

test("tokens of the stop string are told only as far as they have a part in the text", () => {
  const { answer, isStopped, texts } = answerOf(["one", " tE", "N", "D more"], ["END"], 0);
  expect(isStopped).toBe(true);
  expect(answer.text).toBe("one t");
  expect(texts).toEqual(["one", " t"]);
  expect(answer.logprobs?.map(({ token }) => token)).toEqual(["one", " tE"]);
});

test("parts of a character are tokens of their own with their bytes", () => {
  const { answer, texts, tokensTold } = answerOf([[0xc3], [0xa9], null, [0xe2]], [], 2);
  expect(texts).toEqual(["\u00e9", "\ufffd"]);
  expect(tokensTold).toEqual([
    ["\ufffd", "\ufffd"],
    ["", "\ufffd"],
  ]);
  expect(answer.logprobs?.map(({ bytes }) => bytes)).toEqual([[0xc3], [0xa9], null, [0xe2]]);
  expect(answer.logprobs?.[0]?.top.map(({ bytes }) => bytes)).toEqual([[0xe2], null]);
});
