// What stands in place of a chat while nothing can be asked yet: each state of the app in words.
import type { AppState, SetupPart } from "../../src-bun/contract/app-state.ts";
import type { WireError } from "../../src-bun/contract/engine.ts";
import { Command, Notice } from "../ui/notice.tsx";
import { texts } from "../ui/texts.ts";
import { SetupPartRow } from "./setup-part.tsx";
import { setupSummary } from "./setup-summary.ts";

const SettingUp = ({ parts }: { readonly parts: readonly SetupPart[] }) => (
  <Notice title={texts.setup.title}>
    <p>{texts.setup.body}</p>
    <output className="unseen">{setupSummary(parts)}</output>
    <ul className="parts" aria-label={texts.setup.parts}>
      {parts.map((part) => (
        <SetupPartRow key={part.id} part={part} />
      ))}
    </ul>
    <p className="dim">{texts.setup.next}</p>
  </Notice>
);

const Loading = ({ modelName }: { readonly modelName: string }) => (
  <Notice title={texts.loading.title(modelName)}>
    <progress aria-label={texts.loading.title(modelName)} />
    <p className="dim">{texts.loading.body}</p>
  </Notice>
);

const Failed = ({ error }: { readonly error: WireError }) => (
  <Notice title={texts.failed.title} tone="bad">
    <p dir="auto" className="notice-error">
      {error.message}
    </p>
    <p className="dim">
      {texts.failed.doctor} <Command>{texts.failed.command}</Command>
    </p>
    <p className="dim">{texts.failed.after}</p>
  </Notice>
);

const Connecting = () => (
  <Notice title={texts.connecting.title}>
    <p className="dim">{texts.connecting.body}</p>
  </Notice>
);

export type SetupFaceProps = { readonly state: Exclude<AppState, { kind: "ready" }> | null };

export const SetupFace = ({ state }: SetupFaceProps) => {
  switch (state?.kind) {
    case undefined:
      return <Connecting />;
    case "setting-up":
      return <SettingUp parts={state.parts} />;
    case "loading":
      return <Loading modelName={state.modelName} />;
    case "failed":
      return <Failed error={state.error} />;
  }
};
