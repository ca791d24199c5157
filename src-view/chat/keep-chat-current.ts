// Writes the chat down while it changes: soon after a change, not at every token.
import type { PageStorage } from "../page-storage.ts";
import { keepChat } from "./chat-storage.ts";
import type { Chat } from "./chat-store.ts";

const quietMs = 500;

/** Returns what writes at once, for when the page goes away. */
export const keepChatCurrent = (
  { store }: Chat,
  storage: PageStorage,
  after: (delayMs: number, run: () => void) => () => void,
): (() => void) => {
  let callOff: (() => void) | null = null;
  const keep = (): void => {
    callOff?.();
    callOff = null;
    const isKept = keepChat(storage, store.getState());
    if (isKept !== store.getState().isKept) store.setState({ isKept });
  };
  store.subscribe((now, before) => {
    const isChanged = now.turns !== before.turns || now.draft !== before.draft;
    if (isChanged && callOff === null) callOff = after(quietMs, keep);
  });
  return keep;
};
