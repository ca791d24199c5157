// What the main thread and the parser's own thread both do with a text from outside.
import { KeepwarmError, wireError } from "../base/errors.ts";
import type { WireError } from "../contract/engine.ts";
import type { ClientMessage } from "../contract/rpc.ts";
import { type ChatCompletion, parseChatRequest } from "../server/chat-request.ts";
import { parseClientMessage } from "./client-message.ts";

export type ParseResults = { readonly chat: ChatCompletion; readonly message: ClientMessage };

export type ParseOutcome<Kind extends keyof ParseResults> =
  | { readonly kind: "parsed"; readonly value: ParseResults[Kind] }
  | { readonly kind: "refused"; readonly error: WireError };

/** Bytes come in the pieces in which they arrived. */
export type ParseInput = string | readonly Uint8Array[];

export type ParseJob = { readonly id: number; readonly kind: keyof ParseResults; readonly input: ParseInput };
export type ParseReply = { readonly id: number; readonly outcome: ParseOutcome<keyof ParseResults> };

const parsers: { readonly [Kind in keyof ParseResults]: (text: string) => ParseResults[Kind] } = {
  chat: parseChatRequest,
  message: parseClientMessage,
};

const textOf = (input: ParseInput): string => {
  if (typeof input === "string") return input;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(input));
  } catch (cause) {
    throw new KeepwarmError("bad-request", "What was sent is not UTF-8 text.", { cause });
  }
};

export const parseRequest = <Kind extends keyof ParseResults>(kind: Kind, input: ParseInput): ParseOutcome<Kind> => {
  try {
    return { kind: "parsed", value: parsers[kind](textOf(input)) };
  } catch (thrown) {
    return { kind: "refused", error: wireError(thrown) };
  }
};
