import type { ModelTokenizer } from "./tokenizer.ts";

/** Turns token ids into text as they come, and never shows half a character. */
export class TextStream {
  readonly #tokenizer: ModelTokenizer;
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  #stripsBlank: boolean;

  constructor(tokenizer: ModelTokenizer) {
    this.#tokenizer = tokenizer;
    this.#stripsBlank = tokenizer.stripsFirstBlank;
  }

  /** The characters that this token completes; "" while one is unfinished. */
  push(id: number): string {
    const bytes = this.#tokenizer.bytesOf(id);
    return bytes === null ? this.end() : this.#show(this.#decoder.decode(bytes, { stream: true }));
  }

  /** What is left; an unfinished character becomes U+FFFD. */
  end(): string {
    return this.#show(this.#decoder.decode());
  }

  #show(text: string): string {
    if (!this.#stripsBlank || text === "") return text;
    this.#stripsBlank = false;
    return text.startsWith(" ") ? text.slice(1) : text;
  }
}
