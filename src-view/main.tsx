// Entry of the page: builds what it is made of, and mounts it.
import "./main.css";
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import { createAppStore } from "./app-store.ts";
import { browserDoor } from "./browser-door.ts";
import { findChat } from "./chat/chat-storage.ts";
import { createChat } from "./chat/chat-store.ts";
import { keepChatCurrent } from "./chat/keep-chat-current.ts";
import { HostClient } from "./host-client.ts";
import markAddress from "./mark.svg";
import { browserStorage } from "./page-storage.ts";
import { followTheme } from "./ui/follow-theme.ts";
import { findTheme, keepTheme } from "./ui/theme.ts";

/** Without one a browser asks for /favicon.ico, which the host does not serve. */
const setIcon = (page: Document): void => {
  const link = page.createElement("link");
  link.rel = "icon";
  link.type = "image/svg+xml";
  link.href = markAddress;
  page.head.append(link);
};

const mount = (root: HTMLElement): void => {
  const storage = browserStorage(window);
  const door = browserDoor(window);
  const app = createAppStore(findTheme(storage));
  const client = new HostClient(door, {
    onState: (state) => app.setState({ app: state }),
    onConnection: (connection) => app.setState({ connection }),
  });
  const chat = createChat(client, () => crypto.randomUUID(), findChat(storage));

  setIcon(document);
  followTheme(app, window);
  app.subscribe((now, before) => {
    if (now.theme !== before.theme) keepTheme(storage, now.theme);
  });
  window.addEventListener("pagehide", keepChatCurrent(chat, storage, door.after));
  const connect = (): void => void client.connect();
  // A fresh link opened in this tab changes only the fragment.
  window.addEventListener("hashchange", connect);
  window.addEventListener("online", connect);
  // A hidden page's timers are slow, and another tab may have brought the session meanwhile.
  document.addEventListener("visibilitychange", connect);
  createRoot(root).render(<App app={app} chat={chat} onTryNow={connect} onReload={() => window.location.reload()} />);
  connect();
};

const root = document.getElementById("root");
if (root === null) throw new Error("the page's shell has no element with the id root");
mount(root);
