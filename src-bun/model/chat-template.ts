// A conversation as the token ids that the model was trained on.
import { Template } from "@huggingface/jinja";
import { KeepwarmError, messageOf } from "../base/errors.ts";
import type { GgufVocabulary } from "./gguf-metadata.ts";
import type { ModelTokenizer } from "./tokenizer.ts";

type Message = { readonly role: string; readonly content: string };

const PRIVATE_USE = { first: 0xe000, last: 0xf8ff } as const;

/** A character that occurs in none of the texts: it may mark places in them. */
const unusedCharacter = (texts: readonly string[]): string => {
  for (let code = PRIVATE_USE.first; code <= PRIVATE_USE.last; code++) {
    const character = String.fromCharCode(code);
    if (!texts.some((text) => text.includes(character))) return character;
  }
  throw new KeepwarmError("bad-request", "The messages use every private character, so none is left to mark places.");
};

export class ChatTemplate {
  readonly #template: Template;
  readonly #vocabulary: GgufVocabulary;
  readonly #tokenizer: ModelTokenizer;

  constructor(vocabulary: GgufVocabulary, tokenizer: ModelTokenizer) {
    this.#vocabulary = vocabulary;
    this.#tokenizer = tokenizer;
    try {
      this.#template = new Template(vocabulary.chatTemplate);
    } catch (cause) {
      throw new KeepwarmError("template-failed", `This model's chat template cannot be read: ${messageOf(cause)}`, {
        cause,
      });
    }
  }

  /** Ids of the whole conversation and of the opening of the next answer. Special tokens in a message stay text. */
  encode(messages: readonly Message[]): Uint32Array {
    const pattern = this.#tokenizer.specialPattern;
    if (pattern === null) return Uint32Array.from(this.#tokenizer.encodeText(this.#render(messages)));
    const mark = unusedCharacter(messages.map(({ content }) => content));
    const hidden: string[] = [];
    const hide = (text: string): string =>
      text.replace(pattern, (special) => `${mark}${hidden.push(special) - 1}${mark}`);
    const marked = this.#render(messages.map(({ role, content }) => ({ role, content: hide(content) })));
    const show = (text: string): string =>
      text.replace(new RegExp(`${mark}(\\d+)${mark}`, "gu"), (_, index) => hidden[Number(index)] ?? "");
    return Uint32Array.from(this.#encodeRendered(marked, pattern, show));
  }

  #encodeRendered(text: string, pattern: RegExp, show: (text: string) => string): number[] {
    const ids: number[] = [];
    const append = (more: readonly number[]): void => {
      for (const id of more) ids.push(id);
    };
    let from = 0;
    for (const match of text.matchAll(pattern)) {
      append(this.#tokenizer.encodeText(show(text.slice(from, match.index))));
      ids.push(this.#tokenizer.specialId(match[0]));
      from = match.index + match[0].length;
    }
    append(this.#tokenizer.encodeText(show(text.slice(from))));
    return ids;
  }

  #render(messages: readonly Message[]): string {
    try {
      return this.#template.render({
        messages: messages.map(({ role, content }) => ({ role, content })),
        add_generation_prompt: true,
        bos_token: this.#vocabulary.bosToken ?? "",
        eos_token: this.#vocabulary.eosToken ?? "",
      });
    } catch (cause) {
      throw new KeepwarmError("template-failed", `This model's chat template failed: ${messageOf(cause)}`, { cause });
    }
  }
}
