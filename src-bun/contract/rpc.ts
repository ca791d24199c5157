// Messages between the host and whoever drives it: the page over its WebSocket, the command line over the Unix socket.
// One JSON text each. `id` is chosen by the client and names one request for as long as it runs.
import type { AppState } from "./app-state.ts";
import type { EngineStatus, GenerateProgress, GenerateRequest, GenerateResult, WireError } from "./engine.ts";

export type ClientMessage =
  | { readonly kind: "generate"; readonly id: string; readonly request: GenerateRequest }
  | { readonly kind: "cancel"; readonly id: string }
  | { readonly kind: "status"; readonly id: string }
  /** Asks for a fresh page address with a single-use code; answered on the Unix socket only. */
  | { readonly kind: "open"; readonly id: string };

export type HostMessage =
  /** Sent at once on connecting and at each change. */
  | { readonly kind: "state"; readonly state: AppState }
  | { readonly kind: "progress"; readonly id: string; readonly progress: GenerateProgress }
  | { readonly kind: "result"; readonly id: string; readonly result: GenerateResult }
  | { readonly kind: "status"; readonly id: string; readonly status: EngineStatus }
  | { readonly kind: "opened"; readonly id: string; readonly url: string }
  /** `id` is null when the message it answers could not be read. */
  | { readonly kind: "error"; readonly id: string | null; readonly error: WireError };
