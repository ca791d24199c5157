/** What a chat template is given, all of it JSON. */
export type Conversation = {
  readonly messages: readonly { readonly role: string; readonly content: string | null }[];
  /** OpenAI's tool declarations; the template decides what it makes of them. */
  readonly tools?: readonly object[];
};
