// A conversation as the token ids that the model was trained on. Takes as long as its text is long and as the template
// pleases: it runs on the thread for templates.
import { messageOf } from "../base/errors.ts";
import type { Conversation } from "./conversation.ts";
import { defaultTemplate } from "./default-template.ts";
import type { ModelText } from "./model-text.ts";
import { TemplateRuns } from "./render-template.ts";
import { notShown, templateFailed } from "./template-faults.ts";
import { type MarkSide, mapTexts, readMarks, textsIn, unusedCharacter, withMarks } from "./text-marks.ts";
import { ModelTokenizer } from "./tokenizer.ts";

/** What a template wrote; special tokens beside a mark came from a message. */
type Written = { readonly text: string; readonly mark: string | null; readonly side: MarkSide };

const isWellFormed = (conversation: Conversation): boolean =>
  textsIn(conversation).every((text) => text.isWellFormed());

/** A lone surrogate has no bytes; the replacement character is what any encoder writes for it. */
const wellFormed = (conversation: Conversation): Conversation =>
  mapTexts(conversation, (text) => text.toWellFormed()) as Conversation;

export class PromptEncoder {
  readonly #text: ModelText;
  readonly #tokenizer: ModelTokenizer;
  readonly #runs = new TemplateRuns();

  /** Throws where the tokenizer's description is none. */
  constructor(text: ModelText) {
    this.#text = text;
    this.#tokenizer = new ModelTokenizer(text);
    this.#tokenizer.prepare();
  }

  /**
   * Ids of the whole conversation and of the opening of the next answer. Special tokens in a message stay text.
   * `onWritten` hears how many characters the template wrote, before they become tokens. Throws "template-failed", or
   * "bad-request" for what the template cannot show.
   */
  encode(conversation: Conversation, onWritten: (characters: number) => void): Uint32Array<ArrayBuffer> {
    const source = this.#sourceFor(conversation);
    const written = this.#write(source, isWellFormed(conversation) ? conversation : wellFormed(conversation));
    onWritten(written.text.length);
    const ids = this.#encodeWritten(written);
    if (ids.length > 0) return Uint32Array.from(ids);
    throw templateFailed("it writes nothing for these messages");
  }

  #sourceFor({ messages, tools = [] }: Conversation): string {
    const { template, toolTemplate } = this.#text;
    const source = (tools.length > 0 ? toolTemplate : null) ?? template ?? defaultTemplate(this.#text);
    if (tools.length > 0 && !/\btools\b/.test(source)) throw notShown("tools");
    const hasCalls = messages.some((message) => "tool_calls" in message);
    if (hasCalls && !/\btool_calls\b/.test(source)) throw notShown("tool_calls");
    return source;
  }

  #write(source: string, conversation: Conversation): Written {
    const plain = this.#render(source, conversation);
    const pattern = this.#tokenizer.specialPattern;
    const texts = textsIn([conversation.messages, conversation.tools]);
    if (pattern === null || texts.every((text) => text.search(pattern) < 0)) {
      return { text: plain, mark: null, side: "before" };
    }
    const mark = unusedCharacter([...texts, plain]);
    const tries: Written[] = [];
    for (const side of ["before", "after"] as const) {
      const marked = withMarks(conversation, pattern, mark, side) as Conversation;
      const written = { text: readMarks(this.#render(source, marked), mark), mark, side };
      if (written.text.replaceAll(mark, "") === plain) return written;
      tries.push(written);
    }
    // The template looked for a passage and missed it for its mark. Safe is worth more here than what it meant.
    return tries[0] ?? { text: plain, mark, side: "before" };
  }

  #encodeWritten({ text, mark, side }: Written): number[] {
    const pattern = this.#tokenizer.specialPattern;
    const ids: number[] = [];
    let from = 0;
    let isInside = false;
    let stripsRight = false;
    const addText = (to: number, stripsLeft: boolean): void => {
      let piece = text.slice(from, to);
      if (mark !== null) piece = piece.replaceAll(mark, "");
      if (stripsRight) piece = piece.trimStart();
      if (stripsLeft) piece = piece.trimEnd();
      for (const id of this.#tokenizer.encodeText(piece, isInside)) ids.push(id);
    };
    for (const { 0: content, index } of pattern === null ? [] : text.matchAll(pattern)) {
      const end = index + content.length;
      if (mark !== null && text[side === "before" ? index - 1 : end] === mark) continue;
      const special = this.#tokenizer.special(content);
      addText(index, special.stripsLeft);
      ids.push(special.id);
      from = end;
      isInside = true;
      stripsRight = special.stripsRight;
    }
    addText(text.length, false);
    return ids;
  }

  #render(source: string, { messages, tools = [] }: Conversation): string {
    const context = {
      bos_token: "",
      eos_token: "",
      ...this.#text.namedTokens,
      messages,
      tools: tools.length > 0 ? tools : null,
      add_generation_prompt: true,
    };
    try {
      return this.#runs.render(source, context);
    } catch (thrown) {
      throw templateFailed(messageOf(thrown));
    }
  }
}
