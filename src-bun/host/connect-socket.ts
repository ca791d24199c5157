import { KeepwarmError } from "../base/errors.ts";
import type { HostMessage } from "../contract/rpc.ts";
import { LineReader, LineWriter } from "./lines.ts";
import { RunningHost } from "./running-host.ts";

/** An answer is one line, whole. */
const MAX_LINE_BYTES = 64 * 2 ** 20;
/** Long enough for a host that is busy, short enough for one that hangs. */
const GREETING_MS = 10_000;

type Greeting = PromiseWithResolvers<RunningHost | null>;

const greet = (socket: Bun.Socket<undefined>, message: HostMessage): { host: RunningHost; writer: LineWriter } => {
  if (message.kind !== "state") throw new Error(`The running Keepwarm greeted with "${message.kind}".`);
  const writer = new LineWriter((bytes) => socket.write(bytes));
  const host = new RunningHost(
    message.state,
    (sent) => writer.put(sent),
    () => socket.end(),
  );
  return { host, writer };
};

const handlers = (greeting: Greeting): Bun.SocketHandler<undefined> => {
  const reader = new LineReader(MAX_LINE_BYTES);
  let open: { host: RunningHost; writer: LineWriter } | null = null;
  const receive = (socket: Bun.Socket<undefined>, line: string): void => {
    const message = JSON.parse(line) as HostMessage;
    if (open !== null) {
      open.host.receive(message);
      return;
    }
    open = greet(socket, message);
    greeting.resolve(open.host);
  };
  return {
    data(socket, bytes) {
      for (const line of reader.push(bytes)) {
        // A line beyond any answer's size: what it answers is not known, so nothing can go on.
        if (line === null) socket.terminate();
        else receive(socket, line);
      }
    },
    drain: () => open?.writer.flush(),
    close() {
      open?.host.hangUp();
      greeting.resolve(null);
    },
    error(socket, thrown) {
      greeting.reject(thrown);
      socket.terminate();
    },
    // `Bun.connect` rejects with the same.
    connectError: () => undefined,
  };
};

const connect = async (path: string, greeting: Greeting): Promise<Bun.Socket<undefined> | null> => {
  try {
    return await Bun.connect({ unix: path, socket: handlers(greeting) });
  } catch (cause) {
    // Bun gives every failure this code, that of a dead owner's socket too.
    if (cause instanceof Error && "code" in cause && (cause.code === "ENOENT" || cause.code === "ECONNREFUSED"))
      return null;
    throw new KeepwarmError("io-failed", `Keepwarm could not open ${path}.`, { cause });
  }
};

/** Returns null when nobody listens at `path`. The caller closes the connection. */
export const connectSocket = async (path: string): Promise<RunningHost | null> => {
  const greeting: Greeting = Promise.withResolvers();
  const socket = await connect(path, greeting);
  if (socket === null) return null;
  const timer = setTimeout(() => {
    greeting.reject(new KeepwarmError("busy", "The running Keepwarm does not answer. Quit it and try again."));
    socket.terminate();
  }, GREETING_MS);
  try {
    return await greeting.promise;
  } finally {
    clearTimeout(timer);
  }
};
