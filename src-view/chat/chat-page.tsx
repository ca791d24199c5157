import { type ReactNode, useEffect, useRef } from "react";
import { useStore } from "zustand";
import { type AppStore, readinessOf } from "../app-store.ts";
import { Strip } from "../ui/strip.tsx";
import { texts } from "../ui/texts.ts";
import { Announcer } from "./announcer.tsx";
import type { Chat } from "./chat-store.ts";
import { Composer } from "./composer.tsx";
import { EmptyChat } from "./empty-chat.tsx";
import { TopBar } from "./top-bar.tsx";
import { TurnList } from "./turn-list.tsx";

type ClearedStripProps = { readonly onUndo: () => void; readonly onDismiss: () => void };

const ClearedStrip = ({ onUndo, onDismiss }: ClearedStripProps) => (
  <Strip icon="compose" tone="plain" text={texts.cleared}>
    <button type="button" className="button-small" onClick={onUndo}>
      {texts.undo}
    </button>
    <button type="button" className="button-small" onClick={onDismiss}>
      {texts.dismiss}
    </button>
  </Strip>
);

export type ChatPageProps = {
  readonly app: AppStore;
  readonly chat: Chat;
  /** Said above the conversation, about the app as a whole. */
  readonly strips: ReactNode;
  /** Stands in place of an empty chat while nothing can be asked; null when it can. */
  readonly face: ReactNode;
};

export const ChatPage = ({ app, chat, strips, face }: ChatPageProps) => {
  const isEmpty = useStore(chat.store, (state) => state.turns.length === 0);
  const isCleared = useStore(chat.store, (state) => state.cleared !== null);
  const isKept = useStore(chat.store, (state) => state.isKept);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus(), []);
  /** What was pressed goes away with what it did: the writing goes on in the field. */
  const andFocus = (act: () => void) => (): void => {
    act();
    field.current?.focus();
  };
  const example = (text: string): void => {
    const isReady = readinessOf(app.getState()) === "ready";
    andFocus(() => (isReady ? chat.send(text) : chat.setDraft(text)))();
  };
  return (
    <main className="chat">
      <TopBar app={app} chat={chat} onNewChat={andFocus(chat.newChat)} />
      {strips}
      {isCleared && <ClearedStrip onUndo={andFocus(chat.undoNewChat)} onDismiss={andFocus(chat.dismissCleared)} />}
      {!isKept && <Strip icon="alert" tone="warn" text={texts.notKept} />}
      {isEmpty ? (
        <div className="face">
          <div className="column">{face ?? <EmptyChat onExample={example} />}</div>
        </div>
      ) : (
        <TurnList app={app} chat={chat} />
      )}
      <Announcer chat={chat} />
      <Composer app={app} chat={chat} field={field} />
    </main>
  );
};
