// The name, the pages there are, and what the model is doing.
import { useStore } from "zustand";
import { type AppStore, type AppStoreState, readinessOf } from "../app-store.ts";
import { Icon } from "../ui/icon.tsx";
import { Mark } from "../ui/mark.tsx";
import { texts } from "../ui/texts.ts";
import { ThemeSwitch } from "./theme-switch.tsx";

const modelName = ({ app }: AppStoreState): string => {
  if (app?.kind === "ready") return app.model.name;
  return app?.kind === "loading" ? app.modelName : texts.noModel;
};

const ModelStatus = ({ app, isAnswering }: SidebarProps) => {
  const readiness = useStore(app, readinessOf);
  const name = useStore(app, modelName);
  const status = readiness === "ready" && isAnswering ? "answering" : readiness;
  return (
    <div className="model-status">
      <span className={`dot dot-${status}`} aria-hidden="true" />
      <span className="model-name" title={name}>
        {name}
      </span>
      <span className="model-state">{texts.status[status]}</span>
    </div>
  );
};

export type SidebarProps = { readonly app: AppStore; readonly isAnswering: boolean };

export const Sidebar = ({ app, isAnswering }: SidebarProps) => (
  <header className="sidebar">
    <div className="brand">
      <Mark />
      <span>{texts.name}</span>
    </div>
    <nav aria-label={texts.navigation}>
      <span className="page" aria-current="page">
        <Icon name="chat" />
        {texts.chat}
      </span>
    </nav>
    <div className="sidebar-foot">
      <ModelStatus app={app} isAnswering={isAnswering} />
      <ThemeSwitch app={app} />
    </div>
  </header>
);
