// A Keepwarm that runs in another process, as the command line holds it.
import { errorFromWire, KeepwarmError, wireError } from "../base/errors.ts";
import type { AppState } from "../contract/app-state.ts";
import type {
  EnginePort,
  EngineStatus,
  GenerateProgress,
  GenerateRequest,
  GenerateResult,
} from "../contract/engine.ts";
import type { ClientMessage, HostMessage } from "../contract/rpc.ts";
import type { StateSource } from "./session.ts";

type Reply = Extract<HostMessage, { kind: "result" | "status" | "opened" }>;
type Waiting = {
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: Error) => void;
  readonly onProgress: (progress: GenerateProgress) => void;
};

const gone = (): KeepwarmError =>
  new KeepwarmError("engine-exited", "The running Keepwarm closed the connection. Start it again.");

export class RunningHost implements EnginePort, Disposable {
  readonly #send: (message: ClientMessage) => void;
  readonly #end: () => void;
  readonly #waiting = new Map<string, Waiting>();
  readonly #listeners = new Set<(state: AppState) => void>();
  #state: AppState;
  #isGone = false;
  #nextId = 1;

  constructor(first: AppState, send: (message: ClientMessage) => void, end: () => void) {
    this.#state = first;
    this.#send = send;
    this.#end = end;
  }

  readonly state: StateSource = {
    current: () => this.#state,
    subscribe: (listener) => {
      this.#listeners.add(listener);
      return () => this.#listeners.delete(listener);
    },
  };

  async generate(
    request: GenerateRequest,
    onProgress: (progress: GenerateProgress) => void,
    signal: AbortSignal,
  ): Promise<GenerateResult> {
    if (signal.aborted) throw new KeepwarmError("cancelled", "The request was cancelled before it started.");
    const id = this.#newId();
    const cancel = (): void => this.#send({ kind: "cancel", id });
    signal.addEventListener("abort", cancel, { once: true });
    try {
      const reply = await this.#ask({ kind: "generate", id, request }, onProgress);
      if (reply.kind === "result") return reply.result;
      throw new Error(`A request to generate was answered with "${reply.kind}".`);
    } finally {
      signal.removeEventListener("abort", cancel);
    }
  }

  async status(): Promise<EngineStatus> {
    const reply = await this.#ask({ kind: "status", id: this.#newId() });
    if (reply.kind === "status") return reply.status;
    throw new Error(`A request for the status was answered with "${reply.kind}".`);
  }

  /** An address that lets one browser in, once. */
  async openPage(): Promise<string> {
    const reply = await this.#ask({ kind: "open", id: this.#newId() });
    if (reply.kind === "opened") return reply.url;
    throw new Error(`A request for a page was answered with "${reply.kind}".`);
  }

  /** What the host cannot finish any more is rejected. Safe to call twice. */
  [Symbol.dispose](): void {
    this.#end();
    this.hangUp();
  }

  /** For the connection, when it ended: nobody waits any longer, not for an answer and not for another state. */
  hangUp(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    for (const { reject } of this.#waiting.values()) reject(gone());
    this.#waiting.clear();
    this.#follow({ kind: "failed", error: wireError(gone()) });
  }

  /** For the connection, when a message came. */
  receive(message: HostMessage): void {
    switch (message.kind) {
      case "state":
        this.#follow(message.state);
        return;
      case "progress":
        this.#waiting.get(message.id)?.onProgress(message.progress);
        return;
      case "error":
        if (message.id !== null) this.#take(message.id)?.reject(errorFromWire(message.error));
        // Our own message could not be read, and which one is not known.
        else for (const id of [...this.#waiting.keys()]) this.#take(id)?.reject(errorFromWire(message.error));
        return;
      case "result":
      case "status":
      case "opened":
        this.#take(message.id)?.resolve(message);
        return;
    }
  }

  #follow(state: AppState): void {
    this.#state = state;
    for (const listener of this.#listeners) listener(state);
  }

  #newId(): string {
    return String(this.#nextId++);
  }

  #take(id: string): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    return waiting;
  }

  #ask(message: ClientMessage, onProgress: (progress: GenerateProgress) => void = () => undefined): Promise<Reply> {
    if (this.#isGone) return Promise.reject(gone());
    return new Promise((resolve, reject) => {
      this.#waiting.set(message.id, { resolve, reject, onProgress });
      this.#send(message);
    });
  }
}
