// One client, page or command line, whatever carries its messages. Main thread only.
import { KeepwarmError, wireError } from "../base/errors.ts";
import type { AppState } from "../contract/app-state.ts";
import type { EnginePort, GenerateRequest } from "../contract/engine.ts";
import type { ClientMessage, HostMessage } from "../contract/rpc.ts";

/** Where the app's state is read and followed. */
export type StateSource = {
  current(): AppState;
  /** Returns how to stop following. */
  subscribe(listener: (state: AppState) => void): () => void;
};

export type SessionOptions = {
  /** Throws "not-ready" while no model can answer. */
  readonly engine: () => EnginePort;
  readonly state: StateSource;
  readonly parse: (text: string) => Promise<ClientMessage>;
  readonly send: (message: HostMessage) => void;
  /** Makes a page address with a fresh code; absent where the client may not have one. */
  readonly openPage?: () => string;
  /** Hears of faults of ours; it is never given what a client sent. */
  readonly reportFault?: (thrown: unknown) => void;
};

export type Session = {
  receive(text: string): void;
  /** Answers what could not be taken as a message at all. */
  refuse(reason: string): void;
  /** Cancels what runs. Nothing is sent afterwards. Safe to call twice. */
  close(): void;
};

/** One message's bound, so that a client cannot fill the memory. */
export const MAX_MESSAGE_BYTES = 8 * 2 ** 20;
/** More than a page can show; the rest would only wait in the engine's queue. */
const MAX_RUNNING = 64;

class ClientSession implements Session {
  readonly #options: SessionOptions;
  readonly #running = new Map<string, AbortController>();
  readonly #unsubscribe: () => void;
  /** Messages are handled in the order they came, also when one takes long to parse. */
  #queue: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#unsubscribe = options.state.subscribe((state) => this.#send({ kind: "state", state }));
    this.#send({ kind: "state", state: options.state.current() });
  }

  receive(text: string): void {
    this.#queue = this.#queue.then(() => this.#handle(text));
  }

  refuse(reason: string): void {
    this.#fail(null, new KeepwarmError("bad-request", reason));
  }

  close(): void {
    this.#isClosed = true;
    this.#unsubscribe();
    for (const controller of this.#running.values()) controller.abort();
  }

  async #handle(text: string): Promise<void> {
    try {
      const message = await this.#options.parse(text);
      if (!this.#isClosed) this.#obey(message);
    } catch (thrown) {
      this.#fail(null, thrown);
    }
  }

  #obey(message: ClientMessage): void {
    switch (message.kind) {
      case "generate":
        this.#start(message.id, message.request);
        return;
      case "cancel":
        // An answer that has just ended is as good as cancelled.
        this.#running.get(message.id)?.abort();
        return;
      case "status":
        this.#answer(message.id, async () => ({
          kind: "status",
          id: message.id,
          status: await this.#options.engine().status(),
        }));
        return;
      case "open":
        this.#answer(message.id, () => this.#open(message.id));
        return;
    }
  }

  #start(id: string, request: GenerateRequest): void {
    // The error carries no id: the client would take it for the end of the request that runs under it.
    if (this.#running.has(id)) throw new KeepwarmError("bad-request", `A request with the id "${id}" is running.`);
    if (this.#running.size >= MAX_RUNNING) {
      this.#fail(id, new KeepwarmError("busy", `${MAX_RUNNING} requests are running. Wait for one to end.`));
      return;
    }
    const controller = new AbortController();
    this.#running.set(id, controller);
    this.#answer(id, async () => {
      try {
        const result = await this.#options
          .engine()
          .generate(request, (progress) => this.#send({ kind: "progress", id, progress }), controller.signal);
        return { kind: "result", id, result };
      } finally {
        this.#running.delete(id);
      }
    });
  }

  async #open(id: string): Promise<HostMessage> {
    const { openPage } = this.#options;
    if (openPage === undefined)
      throw new KeepwarmError("forbidden", "A page cannot open another. Run: npm run -s keepwarm -- open");
    return { kind: "opened", id, url: openPage() };
  }

  #answer(id: string, work: () => Promise<HostMessage>): void {
    work().then(
      (message) => this.#send(message),
      (thrown) => this.#fail(id, thrown),
    );
  }

  #fail(id: string | null, thrown: unknown): void {
    if (!(thrown instanceof KeepwarmError)) this.#options.reportFault?.(thrown);
    this.#send({ kind: "error", id, error: wireError(thrown) });
  }

  #send(message: HostMessage): void {
    if (!this.#isClosed) this.#options.send(message);
  }
}

/** Sends the state at once and at each change. */
export const openSession = (options: SessionOptions): Session => new ClientSession(options);
