// A response of server-sent events that is written while the answer is computed.
export type EventStream = {
  readonly response: Response;
  /** After the reader went away or `end`, these do nothing. */
  send(data: string): void;
  /** A line that readers skip: it shows that somebody is at work. */
  comment(text: string): void;
  end(): void;
};

export const openEventStream = (): EventStream => {
  const encoder = new TextEncoder();
  let controller: ReadableStreamDefaultController<Uint8Array> | null = null;
  const body = new ReadableStream<Uint8Array>({
    start(opened) {
      controller = opened;
    },
    cancel() {
      controller = null;
    },
  });
  const write = (text: string): void => controller?.enqueue(encoder.encode(text));
  return {
    response: new Response(body, { headers: { "Content-Type": "text/event-stream" } }),
    send: (data) => write(`data: ${data}\n\n`),
    comment: (text) => write(`: ${text}\n\n`),
    end() {
      controller?.close();
      controller = null;
    },
  };
};
