// What the page knows of the app as a whole: its state, the line to it, and the theme.
import { createStore, type StoreApi } from "zustand/vanilla";
import type { AppState } from "../src-bun/contract/app-state.ts";
import type { ModelInfo } from "../src-bun/contract/engine.ts";
import type { Connection } from "./host-client.ts";
import type { ThemeChoice } from "./ui/theme.ts";

export type AppStoreState = {
  /** Null until the host has said it for the first time. */
  readonly app: AppState | null;
  readonly connection: Connection;
  readonly theme: ThemeChoice;
};

export type AppStore = StoreApi<AppStoreState>;

export const createAppStore = (theme: ThemeChoice): AppStore =>
  createStore<AppStoreState>(() => ({ app: null, connection: { kind: "connecting" }, theme }));

/** Why nothing can be sent now; "ready" when it can. */
export type Readiness = "ready" | "connecting" | "offline" | "outdated" | "setting-up" | "loading" | "failed";

export const readinessOf = ({ app, connection }: AppStoreState): Readiness => {
  if (connection.kind === "refused") return "offline";
  if (connection.kind !== "open") return connection.kind;
  return app === null ? "connecting" : app.kind;
};

export const modelOf = ({ app }: AppStoreState): ModelInfo | null => (app?.kind === "ready" ? app.model : null);
