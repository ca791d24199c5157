// A host at the page's door: a socket that the test opens, speaks through and closes, and a clock it moves.
import type { AppState } from "../../src-bun/contract/app-state.ts";
import type { GenerateResult } from "../../src-bun/contract/engine.ts";
import type { Connection, HostDoor } from "../../src-view/host-client.ts";
import { HostClient } from "../../src-view/host-client.ts";

class FakeSocket extends EventTarget {
  readonly sent: unknown[] = [];

  send(text: string): void {
    this.sent.push(JSON.parse(text));
  }

  open(): void {
    this.dispatchEvent(new Event("open"));
  }

  say(message: unknown): void {
    const data = typeof message === "string" ? message : JSON.stringify(message);
    this.dispatchEvent(new MessageEvent("message", { data }));
  }

  drop(): void {
    this.dispatchEvent(new Event("close"));
  }
}

/** What has been promised by now is settled once every microtask ran. */
export const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
};

export const fakeHost = () => {
  const sockets: FakeSocket[] = [];
  const asked: { readonly path: string; readonly body: unknown }[] = [];
  const delays: number[] = [];
  const states: AppState[] = [];
  const connections: Connection["kind"][] = [];
  const host = {
    sockets,
    asked,
    delays,
    states,
    connections,
    code: null as string | null,
    /** By path; no status: nobody answers. */
    answers: new Map<string, number>(),
    retry: null as (() => void) | null,
    socket: (): FakeSocket => {
      const last = sockets.at(-1);
      if (last === undefined) throw new Error("no socket was opened");
      return last;
    },
  };
  const door: HostDoor = {
    openSocket: () => {
      const socket = new FakeSocket();
      sockets.push(socket);
      return socket as unknown as WebSocket;
    },
    fetch: (path, init) => {
      asked.push({ path, body: typeof init?.body === "string" ? JSON.parse(init.body) : null });
      const status = host.answers.get(path);
      return status === undefined
        ? Promise.reject(new TypeError("failed"))
        : Promise.resolve(new Response("", { status }));
    },
    code: () => host.code,
    forgetCode: () => {
      host.code = null;
    },
    after: (delayMs, run) => {
      delays.push(delayMs);
      host.retry = run;
      return () => {
        host.retry = null;
      };
    },
    random: () => 0.5,
  };
  const client = new HostClient(door, {
    onState: (state) => states.push(state),
    onConnection: (connection) => connections.push(connection.kind),
  });
  return { ...host, host, client };
};

export const someResult = (over: Partial<GenerateResult> = {}): GenerateResult => ({
  text: "Paris.",
  model: "starter",
  promptTokens: 1250,
  completionTokens: 60,
  cachedTokens: { ram: 1000, ssd: 204 },
  missReason: null,
  ttftMs: 312,
  prefillTokensPerSecond: 210.4,
  decodeTokensPerSecond: 13.2,
  finishReason: "stop",
  ...over,
});
