import type { SetupPart } from "../../src-bun/contract/app-state.ts";
import { Icon, type IconName } from "../ui/icon.tsx";
import { texts } from "../ui/texts.ts";

const icons: Record<SetupPart["state"], IconName> = {
  waiting: "wait",
  working: "down",
  ready: "check",
  failed: "alert",
};

const titleOf = ({ title, state, doneBytes, totalBytes }: SetupPart): string =>
  state === "working" && totalBytes !== null ? texts.setup.part(title, doneBytes, totalBytes) : title;

/** A build has no size: its bar moves without saying how far. */
const Bar = ({ part }: { readonly part: SetupPart }) => {
  if (part.state !== "working") return null;
  return part.totalBytes === null ? (
    <progress aria-label={part.title} />
  ) : (
    <progress aria-label={part.title} value={part.doneBytes} max={Math.max(1, part.totalBytes)} />
  );
};

export const SetupPartRow = ({ part }: { readonly part: SetupPart }) => (
  <li className={`part part-${part.state}`}>
    <Icon name={icons[part.state]} />
    <span className="part-title">{titleOf(part)}</span>
    <span className="part-state">{texts.setup[part.state]}</span>
    <Bar part={part} />
    {part.detail !== "" && (
      <p className="part-detail" dir="auto">
        {part.detail}
      </p>
    )}
  </li>
);
