// Sets the theme on the document, now and at each change of the choice or of the system.
import type { AppStore } from "../app-store.ts";
import { themeInUse } from "./theme.ts";

export const followTheme = (app: AppStore, page: Window): void => {
  const systemDark = page.matchMedia("(prefers-color-scheme: dark)");
  const apply = (): void => {
    page.document.documentElement.dataset["theme"] = themeInUse(app.getState().theme, systemDark.matches);
  };
  systemDark.addEventListener("change", apply);
  app.subscribe(apply);
  apply();
};
