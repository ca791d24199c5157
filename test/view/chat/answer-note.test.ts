import { expect, test } from "bun:test";
import { answerNote } from "../../../src-view/chat/answer-note.ts";
import { someResult } from "../fake-host.ts";

const none = { ram: 0, ssd: 0 };

test("a warm answer says how much was warm, when the first token came, and how fast the rest", () => {
  const { line, details } = answerNote(someResult());
  expect(line).toBe("1,204 of 1,250 prompt tokens were warm · first token after 0.31 s · 13.2 tokens/s");
  expect(details[0]).toBe("1,000 tokens from RAM, 204 from SSD, 46 new.");
});

test("a cold answer says why", () => {
  const { line } = answerNote(someResult({ cachedTokens: none, missReason: { kind: "cold" }, ttftMs: 1900 }));
  expect(line).toBe("new: first time this text was seen · first token after 1.90 s · 13.2 tokens/s");
  const damaged = { kind: "damaged-block", message: "its checksum differs." } as const;
  const note = answerNote(someResult({ cachedTokens: none, missReason: damaged }));
  expect(note.line).toStartWith("new: what was kept could not be read");
  expect(note.details).toContain("A kept block could not be used: its checksum differs.");
  const failed = { kind: "restore-failed", message: "the reader ended." } as const;
  const { details } = answerNote(someResult({ missReason: failed }));
  expect(details).toContain("What the SSD keeps could not be read this time: the reader ended.");
  const evicted = answerNote(someResult({ cachedTokens: none, missReason: { kind: "evicted" } }));
  expect(evicted.line).toStartWith("new: it was kept, but had to make room · ");
});

test("the tooltip says at which token the kept prompt parted", () => {
  const { details } = answerNote(someResult({ missReason: { kind: "diverged", atToken: 1204 } }));
  expect(details).toContain("The prompt parts from what was kept at token 1,204; from there it was computed.");
});

test("what did not happen is left out", () => {
  const stopped = { ttftMs: null, decodeTokensPerSecond: null, finishReason: "cancelled" } as const;
  expect(answerNote(someResult(stopped)).line).toBe("stopped · 1,204 of 1,250 prompt tokens were warm");
  expect(answerNote(someResult({ finishReason: "length" })).line).toStartWith("cut off: the context is full · ");
});
