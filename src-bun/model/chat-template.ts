// A conversation as the token ids that the model was trained on.
import { setImmediate as nextTurn } from "node:timers/promises";
import { KeepwarmError } from "../base/errors.ts";
import { defaultTemplate } from "./default-template.ts";
import type { ModelText } from "./model-text.ts";
import type { TemplateRenderer } from "./template-renderer.ts";
import { type MarkSide, mapTexts, readMarks, textsIn, unusedCharacter, withMarks } from "./text-marks.ts";
import type { ModelTokenizer } from "./tokenizer.ts";

/** Messages to the thread are served after so many tokens of a long text. */
const TURN_TOKENS = 4096;

type Message = { readonly role: string; readonly content: string };

export type Conversation = {
  readonly messages: readonly Message[];
  /** OpenAI's tool declarations, as JSON; the template decides what it makes of them. */
  readonly tools?: readonly unknown[];
};

/** What a template wrote; special tokens beside a mark came from a message. */
type Written = { readonly text: string; readonly mark: string | null; readonly side: MarkSide };

const isWellFormed = (conversation: Conversation): boolean =>
  textsIn(conversation).every((text) => text.isWellFormed());

export class ChatTemplate {
  readonly #text: ModelText;
  readonly #tokenizer: ModelTokenizer;
  readonly #renderer: TemplateRenderer;

  constructor(text: ModelText, tokenizer: ModelTokenizer, renderer: TemplateRenderer) {
    this.#text = text;
    this.#tokenizer = tokenizer;
    this.#renderer = renderer;
  }

  /**
   * Ids of the whole conversation and of the opening of the next answer. Special tokens in a message stay text.
   * Rejects with "template-failed", or with "cancelled" once the signal aborts.
   */
  async encode(conversation: Conversation, signal: AbortSignal): Promise<Uint32Array> {
    const ids = await this.#encodeWritten(await this.#write(conversation, signal), signal);
    if (ids.length > 0) return Uint32Array.from(ids);
    throw new KeepwarmError("template-failed", "This model's template failed: it writes nothing for these messages.");
  }

  async #write(conversation: Conversation, signal: AbortSignal): Promise<Written> {
    const plain = await this.#render(conversation, signal);
    const pattern = this.#tokenizer.specialPattern;
    const texts = textsIn([conversation.messages, conversation.tools]);
    if (pattern === null || texts.every((text) => text.search(pattern) < 0)) {
      return { text: plain, mark: null, side: "before" };
    }
    const mark = unusedCharacter([...texts, plain]);
    const tries: Written[] = [];
    for (const side of ["before", "after"] as const) {
      const marked = withMarks(conversation, pattern, mark, side) as Conversation;
      const written = { text: readMarks(await this.#render(marked, signal), mark), mark, side };
      if (written.text.replaceAll(mark, "") === plain) return written;
      tries.push(written);
    }
    // The template looked for a passage and missed it for its mark. Safe is worth more here than what it meant.
    return tries[0] ?? { text: plain, mark, side: "before" };
  }

  async #encodeWritten({ text, mark, side }: Written, signal: AbortSignal): Promise<number[]> {
    const pattern = this.#tokenizer.specialPattern;
    const ids: number[] = [];
    let from = 0;
    let isInside = false;
    let stripsRight = false;
    let sinceTurn = 0;
    const addText = async (to: number, stripsLeft: boolean): Promise<void> => {
      let piece = text.slice(from, to);
      if (mark !== null) piece = piece.replaceAll(mark, "");
      if (stripsRight) piece = piece.trimStart();
      if (stripsLeft) piece = piece.trimEnd();
      for (const part of this.#tokenizer.encodeInParts(piece, isInside)) {
        for (const id of part) ids.push(id);
        sinceTurn += part.length;
        if (sinceTurn < TURN_TOKENS) continue;
        sinceTurn = 0;
        await nextTurn();
        if (signal.aborted) throw new KeepwarmError("cancelled", "The request was cancelled before it started.");
      }
    };
    for (const { 0: content, index } of pattern === null ? [] : text.matchAll(pattern)) {
      const end = index + content.length;
      if (mark !== null && text[side === "before" ? index - 1 : end] === mark) continue;
      const special = this.#tokenizer.special(content);
      await addText(index, special.stripsLeft);
      ids.push(special.id);
      from = end;
      isInside = true;
      stripsRight = special.stripsRight;
    }
    await addText(text.length, false);
    return ids;
  }

  #render(conversation: Conversation, signal: AbortSignal): Promise<string> {
    const { messages, tools = [] } = isWellFormed(conversation) ? conversation : wellFormed(conversation);
    const { template, toolTemplate, namedTokens } = this.#text;
    const source = (tools.length > 0 ? toolTemplate : null) ?? template ?? defaultTemplate(this.#text);
    const context = {
      bos_token: "",
      eos_token: "",
      ...namedTokens,
      messages,
      tools: tools.length > 0 ? tools : null,
      add_generation_prompt: true,
    };
    return this.#renderer.render(source, context, signal);
  }
}

/** A lone surrogate has no bytes; the replacement character is what any encoder writes for it. */
const wellFormed = (conversation: Conversation): Conversation =>
  mapTexts(conversation, (text) => text.toWellFormed()) as Conversation;
