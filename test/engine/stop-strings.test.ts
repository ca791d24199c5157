import { describe, expect, test } from "bun:test";
import { StopStrings } from "../../src-bun/engine/stop-strings.ts";
import { Random } from "../support/random.ts";

/** Every step's text, and how it ended. */
const run = (strings: readonly string[], pieces: readonly string[]) => {
  const stop = new StopStrings(strings);
  const shown: string[] = [];
  for (const piece of pieces) {
    const step = stop.push(piece);
    shown.push(step.shown);
    if (step.isStopped) return { shown, isStopped: true };
  }
  shown.push(stop.end());
  return { shown, isStopped: false };
};

describe("by example", () => {
  test.each([
    ["without strings all is shown at once", [], ["a", "b"], ["a", "b", ""], false],
    ["a string in one piece", ["END"], ["one END two"], ["one "], true],
    ["across pieces", ["END"], ["one E", "N", "D two"], ["one ", "", ""], true],
    ["what was held back is shown when it is no stop", ["END"], ["one E", "N", "d"], ["one ", "", "ENd", ""], false],
    ["what is still held at the end is shown", ["END"], ["one EN"], ["one ", "EN"], false],
    ["a part of what is held can begin the string", ["aab"], ["aa", "a", "b"], ["", "a", ""], true],
    ["the one that is complete first stops", ["abc", "b"], ["a", "bc"], ["", "a"], true],
    ["of two that end together the longer goes", ["b", "ab"], ["xab"], ["x"], true],
    ["at the very beginning", ["a"], ["a"], [""], true],
    ["a character of two code units", ["\u{1f600}"], ["x\u{1f601}", "\u{1f600}"], ["x\u{1f601}", ""], true],
    ["a line break", ["\n\n"], ["one\n", "two\n", "\nthree"], ["one", "\ntwo", ""], true],
  ] as const)("%s", (_name, strings, pieces, shown, isStopped) => {
    expect(run(strings, pieces)).toEqual({ shown: [...shown], isStopped });
  });
});

/** Where the text is cut: searched anew at every character. */
const cutOf = (strings: readonly string[], text: string): number | null => {
  for (let end = 1; end <= text.length; end++) {
    const complete = strings.filter((one) => text.slice(0, end).endsWith(one));
    if (complete.length > 0) return end - Math.max(...complete.map(({ length }) => length));
  }
  return null;
};

/** The longest end of the text that a stop string begins with. */
const heldOf = (strings: readonly string[], text: string): number => {
  for (let length = Math.min(text.length, 8); length > 0; length--) {
    if (strings.some((one) => one.length > length && one.startsWith(text.slice(-length)))) return length;
  }
  return 0;
};

test("5,000 random texts in random pieces: cut where a search would, and nothing held back without need", () => {
  const seed = Number(process.env["SEED"] ?? Math.floor(Math.random() * 2 ** 31));
  console.log(`seed ${seed}`);
  const random = new Random(seed);
  const word = (length: number): string =>
    Array.from({ length }, () => "abc".charAt(random.below(2 + random.below(2)))).join("");
  for (let round = 0; round < 5000; round++) {
    const strings = Array.from({ length: 1 + random.below(4) }, () => word(1 + random.below(6)));
    const text = word(random.below(30));
    const pieces: string[] = [];
    for (let at = 0; at < text.length; at += pieces.at(-1)?.length ?? 0) {
      pieces.push(text.slice(at, at + 1 + random.below(5)));
    }
    const { shown, isStopped } = run(strings, pieces);
    const cut = cutOf(strings, text);
    expect(isStopped).toBe(cut !== null);
    expect(shown.join("")).toBe(text.slice(0, cut ?? text.length));
    let given = "";
    const steps = isStopped ? shown.length - 1 : pieces.length;
    for (let step = 0; step < steps; step++) {
      given += pieces[step];
      expect(shown.slice(0, step + 1).join("").length).toBe(given.length - heldOf(strings, given));
    }
  }
});
