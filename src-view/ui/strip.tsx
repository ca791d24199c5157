// One line across the page about something that goes on, with at most two things to do about it.
import type { ReactNode } from "react";
import { Icon, type IconName } from "./icon.tsx";

export type StripProps = {
  readonly icon: IconName;
  readonly tone: "plain" | "warn" | "bad";
  readonly text: string;
  readonly children?: ReactNode;
};

export const Strip = ({ icon, tone, text, children }: StripProps) => (
  <div className={`strip strip-${tone}`}>
    <Icon name={icon} />
    <output className="strip-text" dir="auto">
      {text}
    </output>
    {children}
  </div>
);
