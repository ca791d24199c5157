// The same in one line, above a chat that is already there.
import type { AppState } from "../../src-bun/contract/app-state.ts";
import { Strip } from "../ui/strip.tsx";
import { texts } from "../ui/texts.ts";
import { setupSummary } from "./setup-summary.ts";

export const SetupStrip = ({ state }: { readonly state: Exclude<AppState, { kind: "ready" }> }) => {
  switch (state.kind) {
    case "setting-up":
      return <Strip icon="down" tone="plain" text={setupSummary(state.parts)} />;
    case "loading":
      return <Strip icon="wait" tone="plain" text={`${texts.loading.title(state.modelName)}.`} />;
    case "failed":
      return <Strip icon="alert" tone="bad" text={state.error.message} />;
  }
};
