import { describe, expect, test } from "bun:test";
import { type AnswerState, type Turn, titleOf, usedTokensOf } from "../../../src-view/chat/conversation.ts";
import { someResult } from "../fake-host.ts";

const { text, ...figures } = someResult();
const turn = (question: string, state: AnswerState = { kind: "finished", figures }): Turn => ({
  id: question,
  question,
  answer: { text, state },
});
const failed: AnswerState = { kind: "failed", failure: { kind: "lost" } };

describe("the title", () => {
  test("is the first line of the first question", () => {
    expect(titleOf([])).toBeNull();
    expect(titleOf([turn("Trip to Lisbon\nwith children"), turn("more")])).toBe("Trip to Lisbon");
  });

  test("is cut at a word, and never inside a character", () => {
    expect(titleOf([turn("word ".repeat(30))])).toBe(`${"word ".repeat(12).trim()}…`);
    expect(titleOf([turn("🫖".repeat(100))])).toBe(`${"🫖".repeat(60)}…`);
  });
});

describe("the tokens in use", () => {
  test("are those of the last answer that has figures", () => {
    expect(usedTokensOf([])).toBeNull();
    expect(usedTokensOf([turn("a"), turn("b", failed)])).toBe(1310);
  });

  test("are the prompt's while it is read", () => {
    const prefill = { doneTokens: 512, totalTokens: 1500, cachedTokens: { ram: 0, ssd: 0 } };
    const state: AnswerState = { kind: "running", requestId: "r", isStopping: false, prefill };
    expect(usedTokensOf([turn("a"), turn("b", state)])).toBe(1500);
  });
});
