import type { AppState } from "../contract/app-state.ts";

/** What the app is doing, for whoever wants to hear of changes. */
export class AppStateStore {
  readonly #listeners = new Set<(state: AppState) => void>();
  #state: AppState = { kind: "setting-up", parts: [] };

  current(): AppState {
    return this.#state;
  }

  set(state: AppState): void {
    this.#state = state;
    for (const listener of this.#listeners) listener(state);
  }

  /** Returns the way to stop listening. */
  subscribe(listener: (state: AppState) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
