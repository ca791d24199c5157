// Light, dark, or as the system is; the choice is remembered.
import type { PageStorage } from "../page-storage.ts";

export const themeChoices = ["light", "dark", "system"] as const;
export type ThemeChoice = (typeof themeChoices)[number];

const key = "keepwarm.theme";

export const findTheme = (storage: PageStorage): ThemeChoice => {
  const kept = storage.find(key);
  return themeChoices.find((choice) => choice === kept) ?? "system";
};

export const keepTheme = (storage: PageStorage, choice: ThemeChoice): void => {
  // Where the browser keeps nothing, the choice holds until the page is closed.
  storage.keep(key, choice);
};

export const themeInUse = (choice: ThemeChoice, isSystemDark: boolean): "light" | "dark" => {
  if (choice !== "system") return choice;
  return isSystemDark ? "dark" : "light";
};
