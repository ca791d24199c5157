// A tab of the page without a browser: its cookie and its WebSocket.
import type { GenerateResult } from "../../src-bun/contract/engine.ts";
import type { ClientMessage, HostMessage } from "../../src-bun/contract/rpc.ts";
import type { RunningApp } from "./running-app.ts";

/** Uses the link up; returns the cookie. */
export const letIn = async (app: Pick<RunningApp, "link" | "url">): Promise<string> => {
  const code = new URL(app.link).hash.slice("#code=".length);
  const answer = await fetch(`${app.url}/session`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code }),
  });
  if (answer.status !== 204) throw new Error(await answer.text());
  return (answer.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
};

/** Bun's takes headers, the DOM's type does not know them. */
const openSocket = (url: string, cookie: string): WebSocket =>
  Reflect.construct(WebSocket, [url, { headers: { cookie } }]);

export class PageSession implements Disposable {
  readonly #socket: WebSocket;
  readonly #results = new Map<string, PromiseWithResolvers<GenerateResult>>();

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => this.#receive(JSON.parse(String(data))));
  }

  static async open(app: RunningApp, cookie: string): Promise<PageSession> {
    const socket = openSocket(`ws://127.0.0.1:${app.port}/ws`, cookie);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    socket.addEventListener("open", () => resolve());
    socket.addEventListener("close", () => reject(new Error("the page was not let in")));
    const session = new PageSession(socket);
    await promise;
    return session;
  }

  /** Asks greedily and for few tokens. */
  ask(question: string): Promise<GenerateResult> {
    const id = crypto.randomUUID();
    const result = Promise.withResolvers<GenerateResult>();
    this.#results.set(id, result);
    const messages = [{ role: "user" as const, content: question }];
    const message: ClientMessage = {
      kind: "generate",
      id,
      request: { messages, model: null, maxTokens: 16, sampling: { temperature: 0 } },
    };
    this.#socket.send(JSON.stringify(message));
    return result.promise;
  }

  #receive(message: HostMessage): void {
    if (message.kind === "result") this.#results.get(message.id)?.resolve(message.result);
    if (message.kind === "error") this.#results.get(message.id ?? "")?.reject(new Error(message.error.message));
  }

  [Symbol.dispose](): void {
    this.#socket.close();
  }
}
