// The whole page: the sidebar, and the chat in the state the app is in.
import { useStore } from "zustand";
import type { AppStore } from "./app-store.ts";
import { ChatPage } from "./chat/chat-page.tsx";
import type { Chat } from "./chat/chat-store.ts";
import { runningOf } from "./chat/conversation.ts";
import { SetupFace } from "./setup/setup-face.tsx";
import { SetupStrip } from "./setup/setup-strip.tsx";
import { ConnectionStrip } from "./shell/connection-strip.tsx";
import { Refused } from "./shell/refused.tsx";
import { Sidebar } from "./shell/sidebar.tsx";
import { Strip } from "./ui/strip.tsx";
import { texts } from "./ui/texts.ts";

export type AppProps = {
  readonly app: AppStore;
  readonly chat: Chat;
  readonly onTryNow: () => void;
  readonly onReload: () => void;
};

export const App = ({ app, chat, onTryNow, onReload }: AppProps) => {
  const state = useStore(app, (store) => store.app);
  const isRefused = useStore(app, (store) => store.connection.kind === "refused");
  const isAnswering = useStore(chat.store, (store) => runningOf(store.turns) !== null);
  const isEmpty = useStore(chat.store, (store) => store.turns.length === 0);
  if (isRefused) return <Refused />;
  const blocked = state?.kind === "ready" ? null : state;
  return (
    <div className="app">
      <Sidebar app={app} isAnswering={isAnswering} />
      <ChatPage
        app={app}
        chat={chat}
        strips={
          <>
            <ConnectionStrip app={app} onTryNow={onTryNow} onReload={onReload} />
            {blocked !== null && !isEmpty && <SetupStrip state={blocked} />}
            {state?.kind === "ready" && state.ssdFault !== null && (
              <Strip icon="alert" tone="warn" text={texts.ssdFault(state.ssdFault)} />
            )}
          </>
        }
        face={state?.kind === "ready" ? null : <SetupFace state={blocked} />}
      />
    </div>
  );
};
