import type { ModelInfo, WireError } from "./engine.ts";

export type SetupPart = {
  readonly id: string;
  /** Shown to a person: "MLX 0.32.2". */
  readonly title: string;
  readonly state: "waiting" | "working" | "ready" | "failed";
  readonly doneBytes: number;
  /** Null where the work has no size, such as a build. */
  readonly totalBytes: number | null;
  /** What is happening now, or what went wrong and what to do. */
  readonly detail: string;
};

/** What the app as a whole is doing; the page shows one face for each. */
export type AppState =
  | { readonly kind: "setting-up"; readonly parts: readonly SetupPart[] }
  | { readonly kind: "loading"; readonly modelName: string }
  | {
      readonly kind: "ready";
      readonly model: ModelInfo;
      /** Why new prompts are not kept on the SSD; null while they are. */
      readonly ssdFault: string | null;
    }
  | { readonly kind: "failed"; readonly error: WireError };
