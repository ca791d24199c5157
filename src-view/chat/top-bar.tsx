import { useStore } from "zustand";
import { type AppStore, modelOf } from "../app-store.ts";
import { Icon } from "../ui/icon.tsx";
import { texts } from "../ui/texts.ts";
import type { Chat } from "./chat-store.ts";
import { titleOf, usedTokensOf } from "./conversation.ts";

export type TopBarProps = { readonly app: AppStore; readonly chat: Chat; readonly onNewChat: () => void };

export const TopBar = ({ app, chat, onNewChat }: TopBarProps) => {
  const title = useStore(chat.store, (state) => titleOf(state.turns));
  const usedTokens = useStore(chat.store, (state) => usedTokensOf(state.turns));
  const contextTokens = useStore(app, (state) => modelOf(state)?.contextTokens ?? null);
  return (
    <div className="top-bar">
      <h1 dir="auto" title={title ?? undefined}>
        {title ?? texts.untitled}
      </h1>
      {usedTokens !== null && contextTokens !== null && (
        <span className="top-bar-tokens">{texts.tokensOf(usedTokens, contextTokens)}</span>
      )}
      {title !== null && (
        <button type="button" className="button" onClick={onNewChat}>
          <Icon name="compose" />
          <span>{texts.newChat}</span>
        </button>
      )}
    </div>
  );
};
