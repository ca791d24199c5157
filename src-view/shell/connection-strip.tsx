// Says that the line to the host is broken, and what can be done; nothing while it holds.
import { useStore } from "zustand";
import type { AppStore } from "../app-store.ts";
import { Strip } from "../ui/strip.tsx";
import { texts } from "../ui/texts.ts";

export type ConnectionStripProps = {
  readonly app: AppStore;
  readonly onTryNow: () => void;
  readonly onReload: () => void;
};

export const ConnectionStrip = ({ app, onTryNow, onReload }: ConnectionStripProps) => {
  const kind = useStore(app, (state) => state.connection.kind);
  if (kind === "offline")
    return (
      <Strip icon="wait" tone="warn" text={texts.connection.offline}>
        <button type="button" className="button-small" onClick={onTryNow}>
          {texts.connection.tryNow}
        </button>
      </Strip>
    );
  if (kind === "outdated")
    return (
      <Strip icon="alert" tone="warn" text={texts.connection.outdated}>
        <button type="button" className="button-small" onClick={onReload}>
          {texts.connection.reload}
        </button>
      </Strip>
    );
  return null;
};
