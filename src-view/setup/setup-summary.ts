import type { SetupPart } from "../../src-bun/contract/app-state.ts";
import { texts } from "../ui/texts.ts";

export const setupSummary = (parts: readonly SetupPart[]): string =>
  texts.setup.summary(parts.filter((part) => part.state === "ready").length, parts.length);
