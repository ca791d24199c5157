// A model's chat template and tokenizer, as the thread for templates has them.
import type { Conversation } from "./conversation.ts";
import type { ModelText } from "./model-text.ts";
import type { TemplateThread } from "./template-thread.ts";

/** JSON of the text, in memory that both threads see: it need not be copied when a thread is started anew. */
const shared = (text: ModelText): SharedArrayBuffer => {
  const json = new TextEncoder().encode(JSON.stringify(text));
  const memory = new SharedArrayBuffer(json.byteLength);
  new Uint8Array(memory).set(json);
  return memory;
};

export class ChatTemplate {
  readonly #text: SharedArrayBuffer;
  readonly #thread: TemplateThread;

  constructor(text: ModelText, thread: TemplateThread) {
    this.#text = shared(text);
    this.#thread = thread;
  }

  /** Readies the thread, so that the first prompt need not wait for it. Rejects when the tokenizer cannot be opened. */
  prepare(): Promise<void> {
    return this.#thread.open(this.#text);
  }

  /**
   * Ids of the whole conversation and of the opening of the next answer. Special tokens in a message stay text.
   * Rejects with "template-failed", "bad-request" or "too-large", or with "cancelled" once the signal aborts.
   */
  encode(conversation: Conversation, signal: AbortSignal): Promise<Uint32Array> {
    return this.#thread.encode(this.#text, conversation, signal);
  }
}
