// Ends an answer where one of several strings is complete, wherever the borders of the pieces lie that text comes in.

/** Follows how much of one string the text's end is (Knuth, Morris and Pratt 1977). */
class Matcher {
  readonly text: string;
  /** For each length of a beginning of the string: the longest shorter beginning that it also ends with. */
  readonly #shorter: Uint32Array;
  matched = 0;

  /** `text` is not empty. */
  constructor(text: string) {
    this.text = text;
    this.#shorter = new Uint32Array(text.length + 1);
    for (let length = 2; length <= text.length; length++) {
      this.#shorter[length] = this.#after(this.#shorter[length - 1] ?? 0, text.charCodeAt(length - 1));
    }
  }

  /** Returns whether the string is complete with this code unit. */
  push(unit: number): boolean {
    this.matched = this.#after(this.matched, unit);
    return this.matched === this.text.length;
  }

  #after(matched: number, unit: number): number {
    let length = matched;
    while (length > 0 && this.text.charCodeAt(length) !== unit) length = this.#shorter[length] ?? 0;
    return this.text.charCodeAt(length) === unit ? length + 1 : 0;
  }
}

export type StoppedText = { readonly shown: string; readonly isStopped: boolean };

export class StopStrings {
  readonly #matchers: readonly Matcher[];
  #held = "";

  /** Each is well-formed and not empty. */
  constructor(strings: readonly string[]) {
    this.#matchers = strings.map((text) => new Matcher(text));
  }

  /**
   * The text that may be shown: what could still become a stop string is held back. The string that is complete first
   * stops, of those that end together the longest; neither it nor what follows is shown. Not to be called afterwards.
   */
  push(text: string): StoppedText {
    if (this.#matchers.length === 0) return { shown: text, isStopped: false };
    const all = this.#held + text;
    for (let at = 0; at < text.length; at++) {
      const longest = this.#completeAt(text.charCodeAt(at));
      const end = this.#held.length + at + 1;
      if (longest > 0) return { shown: all.slice(0, end - longest), isStopped: true };
    }
    const held = Math.max(...this.#matchers.map(({ matched }) => matched));
    this.#held = all.slice(all.length - held);
    return { shown: all.slice(0, all.length - held), isStopped: false };
  }

  /** What was held back, when no more text comes. */
  end(): string {
    return this.#held;
  }

  #completeAt(unit: number): number {
    let longest = 0;
    for (const matcher of this.#matchers) {
      if (matcher.push(unit)) longest = Math.max(longest, matcher.text.length);
    }
    return longest;
  }
}
