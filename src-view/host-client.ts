// The page's line to the host: exchanges the link's code for a session, keeps a WebSocket open, and carries requests.
import type { AppState } from "../src-bun/contract/app-state.ts";
import type { GenerateProgress, GenerateRequest, GenerateResult, WireError } from "../src-bun/contract/engine.ts";
import type { ClientMessage } from "../src-bun/contract/rpc.ts";
import { type PageMessage, readPageMessage } from "./host-message.ts";

export type Connection =
  | { readonly kind: "connecting" }
  | { readonly kind: "open" }
  /** Nobody answers; tries again by itself. */
  | { readonly kind: "offline" }
  /** The host answers but knows no session of this browser: a fresh link is needed. */
  | { readonly kind: "refused" }
  /** The host speaks a newer language than this page: only a reload helps. */
  | { readonly kind: "outdated" };

export type GenerateEvent =
  | { readonly kind: "progress"; readonly progress: GenerateProgress }
  | { readonly kind: "result"; readonly result: GenerateResult }
  | { readonly kind: "error"; readonly error: WireError }
  /** The connection ended first; the host cancels what it was doing for it. */
  | { readonly kind: "lost" };

export type HostListener = {
  readonly onState: (state: AppState) => void;
  readonly onConnection: (connection: Connection) => void;
};

/** What the client needs of the browser. */
export type HostDoor = {
  readonly openSocket: () => WebSocket;
  readonly fetch: (path: string, init?: RequestInit) => Promise<Response>;
  /** The single-use code of the page's address; null when it carries none. */
  readonly code: () => string | null;
  readonly forgetCode: () => void;
  /** Returns what calls it off. */
  readonly after: (delayMs: number, run: () => void) => () => void;
  /** At least 0 and below 1. */
  readonly random: () => number;
};

const firstDelayMs = 500;
const longestDelayMs = 10_000;

/** Spread by a quarter each way, so that several pages do not knock at the same moment. */
export const retryDelayMs = (failures: number, random: number): number =>
  Math.min(longestDelayMs, firstDelayMs * 2 ** Math.max(0, failures - 1)) * (0.75 + random / 2);

export class HostClient {
  readonly #door: HostDoor;
  readonly #listener: HostListener;
  readonly #requests = new Map<string, (event: GenerateEvent) => void>();
  #socket: WebSocket | null = null;
  #isConnecting = false;
  #isOpen = false;
  #failures = 0;
  #callOffRetry: (() => void) | null = null;

  constructor(door: HostDoor, listener: HostListener) {
    this.#door = door;
    this.#listener = listener;
  }

  /** Connects now, and from then on reconnects by itself. Safe to call at any time. */
  async connect(): Promise<void> {
    if (this.#isConnecting) return;
    this.#callOffRetry?.();
    this.#callOffRetry = null;
    this.#isConnecting = true;
    // Also beside an open socket: a code is used up, not left in the address.
    const isReachable = await this.#exchangeCode();
    this.#isConnecting = false;
    if (this.#socket !== null) return;
    if (isReachable) this.#openSocket();
    else this.#retryLater();
  }

  /** The last event of a request is a result, an error or "lost"; it comes exactly once. */
  generate(id: string, request: GenerateRequest, listen: (event: GenerateEvent) => void): void {
    if (this.#isOpen) {
      this.#requests.set(id, listen);
      this.#send({ kind: "generate", id, request });
    } else listen({ kind: "lost" });
  }

  /** The request still ends with its own last event. */
  cancel(id: string): void {
    if (this.#requests.has(id)) this.#send({ kind: "cancel", id });
  }

  async #exchangeCode(): Promise<boolean> {
    const code = this.#door.code();
    if (code === null) return true;
    const answer = await this.#reach("/session", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ code }),
    });
    if (answer === "unreachable") return false;
    // A refused code is used up as well; an older session may still hold, which the socket finds out.
    this.#door.forgetCode();
    return true;
  }

  #openSocket(): void {
    const socket = this.#door.openSocket();
    this.#socket = socket;
    socket.addEventListener("open", () => {
      this.#isOpen = true;
      this.#failures = 0;
      this.#listener.onConnection({ kind: "open" });
    });
    socket.addEventListener("message", (event) => this.#receive(readPageMessage(event.data)));
    socket.addEventListener("close", () => void this.#closed());
  }

  async #closed(): Promise<void> {
    const wasOpen = this.#isOpen;
    this.#isOpen = false;
    this.#endRequests();
    // A browser tells a refused upgrade from a dead host only through a plain request.
    const isRefused = !wasOpen && (await this.#isRefused());
    this.#socket = null;
    if (isRefused) this.#listener.onConnection({ kind: "refused" });
    else this.#retryLater();
  }

  async #isRefused(): Promise<boolean> {
    const answer = await this.#reach("/session");
    return answer !== "unreachable" && (answer.status === 401 || answer.status === 403);
  }

  /** `fetch` rejects only when no answer came at all. */
  #reach(path: string, init?: RequestInit): Promise<Response | "unreachable"> {
    return this.#door.fetch(path, init).catch(() => "unreachable" as const);
  }

  #retryLater(): void {
    this.#failures += 1;
    const delayMs = retryDelayMs(this.#failures, this.#door.random());
    this.#callOffRetry = this.#door.after(delayMs, () => void this.connect());
    this.#listener.onConnection({ kind: "offline" });
  }

  #receive(message: PageMessage | null): void {
    switch (message?.kind) {
      case undefined:
        this.#listener.onConnection({ kind: "outdated" });
        break;
      case "state":
        this.#listener.onState(message.state);
        break;
      case "error":
        // Without an id the host could not read one of ours, and cannot say which.
        if (message.id === null) this.#endRequests(message);
        else this.#tell(message.id, message);
        break;
      case "progress":
      case "result":
        this.#tell(message.id, message);
        break;
    }
  }

  #tell(id: string, event: GenerateEvent): void {
    const listen = this.#requests.get(id);
    if (event.kind !== "progress") this.#requests.delete(id);
    listen?.(event);
  }

  #endRequests(event: GenerateEvent = { kind: "lost" }): void {
    const listeners = [...this.#requests.values()];
    this.#requests.clear();
    for (const listen of listeners) listen(event);
  }

  #send(message: ClientMessage): void {
    this.#socket?.send(JSON.stringify(message));
  }
}
