import { useStore } from "zustand";
import type { AppStore } from "../app-store.ts";
import { Icon, type IconName } from "../ui/icon.tsx";
import { texts } from "../ui/texts.ts";
import { type ThemeChoice, themeChoices } from "../ui/theme.ts";

const icons: Record<ThemeChoice, IconName> = { light: "sun", dark: "moon", system: "system" };

export const ThemeSwitch = ({ app }: { readonly app: AppStore }) => {
  const theme = useStore(app, (state) => state.theme);
  return (
    <fieldset className="theme-switch">
      <legend className="unseen">{texts.theme.legend}</legend>
      {themeChoices.map((choice) => (
        <label key={choice} title={texts.theme[choice]}>
          <input
            type="radio"
            name="theme"
            checked={theme === choice}
            onChange={() => app.setState({ theme: choice })}
            aria-label={texts.theme[choice]}
          />
          <Icon name={icons[choice]} />
        </label>
      ))}
    </fieldset>
  );
};
