import type { ModelText } from "./model-text.ts";

const chatMl =
  "{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}{% endfor %}" +
  "{{ '<|im_start|>assistant\\n' }}";

const transcript =
  "{% for message in messages %}{{ message.role | capitalize }}: {{ message.content }}\n\n{% endfor %}Assistant:";

/**
 * For a model without a template: ChatML where it has the tokens for that, else a plain transcript, which is what a
 * model that was never trained to chat can go on with.
 */
export const defaultTemplate = ({ tokenizer, beginsWithBos }: ModelText): string => {
  const known = new Set(tokenizer.marks.map(({ content }) => content));
  const body = known.has("<|im_start|>") && known.has("<|im_end|>") ? chatMl : transcript;
  return beginsWithBos ? `{{ bos_token }}${body}` : body;
};
