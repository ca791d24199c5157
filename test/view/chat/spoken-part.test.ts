import { expect, test } from "bun:test";
import { spokenUntil } from "../../../src-view/chat/spoken-part.ts";

test("whole sentences are spoken, and a half one waits", () => {
  const text = "It costs 2.40 € a day. Take the train. Then wal";
  expect(text.slice(0, spokenUntil(text, 0))).toBe("It costs 2.40 € a day. Take the train.");
  expect(spokenUntil(text, 38)).toBe(38);
});

test("a line's end counts as a sentence's", () => {
  expect(spokenUntil("- bread\n- mil", 0)).toBe(8);
});
