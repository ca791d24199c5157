// The command line's way in: the page's messages, one line each, over a Unix socket that only this user may open.
import { claimSocketPath } from "../data/socket-file.ts";
import { LineReader, LineWriter } from "./lines.ts";
import { MAX_MESSAGE_BYTES, openSession, type Session, type SessionOptions } from "./session.ts";

export type SocketHostOptions = Omit<SessionOptions, "send" | "openPage"> & {
  readonly path: string;
  readonly openPage: () => string;
};

export type SocketHost = {
  /** Ends all connections and cancels what runs for them. */
  stop(): void;
};

type Connection = { readonly session: Session; readonly reader: LineReader; readonly writer: LineWriter };

const connect = (socket: Bun.Socket<Connection>, options: SocketHostOptions): void => {
  const writer = new LineWriter((bytes) => socket.write(bytes));
  const session = openSession({ ...options, send: (message) => writer.put(message) });
  socket.data = { session, writer, reader: new LineReader(MAX_MESSAGE_BYTES) };
};

const handlers = (options: SocketHostOptions): Bun.SocketHandler<Connection> => ({
  open: (socket) => connect(socket, options),
  data({ data: { session, reader } }, bytes) {
    for (const line of reader.push(bytes)) {
      if (line === null) session.refuse("The message is larger than 8 MiB.");
      else session.receive(line);
    }
  },
  drain: ({ data }) => data.writer.flush(),
  close: ({ data }) => data.session.close(),
  // The close that follows ends the session.
  error: (socket) => socket.terminate(),
});

/** Returns "busy", and disturbs nothing, while another process listens there. */
export const startSocketHost = (options: SocketHostOptions): SocketHost | "busy" => {
  const lock = claimSocketPath(options.path);
  if (lock === "busy") return lock;
  // The socket is born with this mode: between making it and changing it, somebody could come in.
  const mask = process.umask(0o177);
  try {
    const listener = Bun.listen<Connection>({ unix: options.path, socket: handlers(options) });
    return {
      stop() {
        listener.stop(true);
        lock[Symbol.dispose]();
      },
    };
  } catch (cause) {
    lock[Symbol.dispose]();
    throw cause;
  } finally {
    process.umask(mask);
  }
};
