// An answer's text as it grows: tokens in, and out what may be shown, with the log-probabilities that belong to it.
import type { ChosenLogprob, GenerateProgress, TokenLogprob } from "../contract/engine.ts";
import type { TextStream } from "../model/text-stream.ts";
import { StopStrings } from "./stop-strings.ts";
import { type IdLogprob, tokenLogprobs } from "./token-logprobs.ts";

export type AnswerTextOptions = {
  /** Fresh: it has seen no token of the answer. */
  readonly stream: Pick<TextStream, "push" | "end">;
  /** Null for a control token, which is no text. */
  readonly bytesOf: (id: number) => Uint8Array | null;
  readonly stop: readonly string[];
  /** Alternatives told for each token; null: no log-probabilities at all. */
  readonly topLogprobs: number | null;
  readonly onProgress: (progress: GenerateProgress) => void;
};

type Waiting = { readonly logprob: ChosenLogprob; readonly start: number };

export class AnswerText {
  readonly #options: AnswerTextOptions;
  readonly #stopStrings: StopStrings;
  readonly #logprobs: ChosenLogprob[] = [];
  /** Of tokens whose text is not shown yet. */
  #waiting: Waiting[] = [];
  #text = "";
  /** Code units of the answer so far, shown or held back. */
  #length = 0;

  constructor(options: AnswerTextOptions) {
    this.#options = options;
    this.#stopStrings = new StopStrings(options.stop);
  }

  /** What was shown. */
  get text(): string {
    return this.#text;
  }

  /** One for each token that has a part in the text; undefined when none were asked for. */
  get logprobs(): readonly ChosenLogprob[] | undefined {
    return this.#options.topLogprobs === null ? undefined : this.#logprobs;
  }

  /**
   * Takes a token, and gives the logits it was chosen from where log-probabilities are wanted. Returns whether a stop
   * string has ended the answer.
   */
  push(id: number, logits: () => Float32Array): boolean {
    const { topLogprobs } = this.#options;
    if (topLogprobs !== null) {
      this.#waiting.push({ logprob: this.#describe(id, logits(), topLogprobs), start: this.#length });
    }
    return this.#grow(this.#options.stream.push(id));
  }

  /** Shows what was held back. Returns whether a stop string was complete in it. */
  end(): boolean {
    if (this.#grow(this.#options.stream.end())) return true;
    this.#show(this.#stopStrings.end(), this.#waiting.length);
    return false;
  }

  #grow(text: string): boolean {
    this.#length += text.length;
    const { shown, isStopped } = this.#stopStrings.push(text);
    const end = this.#text.length + shown.length;
    const count = this.#waiting.findIndex(({ start }) => start >= end);
    this.#show(shown, count === -1 ? this.#waiting.length : count);
    return isStopped;
  }

  #show(text: string, tokens: number): void {
    if (text === "" && tokens === 0) return;
    this.#text += text;
    const logprobs = this.#waiting.slice(0, tokens).map(({ logprob }) => logprob);
    this.#waiting = this.#waiting.slice(tokens);
    this.#logprobs.push(...logprobs);
    const isAsked = this.#options.topLogprobs !== null;
    this.#options.onProgress({ kind: "text", text, ...(isAsked ? { logprobs } : {}) });
  }

  #describe(id: number, logits: Float32Array, count: number): ChosenLogprob {
    const { top, ...chosen } = tokenLogprobs(logits, id, count);
    return { ...this.#named(chosen), top: top.map((one) => this.#named(one)) };
  }

  #named({ id, logprob }: IdLogprob): TokenLogprob {
    const bytes = this.#options.bytesOf(id);
    if (bytes === null) return { token: "", bytes: null, logprob };
    return { token: new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes), bytes: [...bytes], logprob };
  }
}
