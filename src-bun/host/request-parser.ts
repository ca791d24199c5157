// Parses what clients send: small texts at once, large ones on a thread of its own, so that the main thread never stalls.
import { Worker } from "node:worker_threads";
import { errorFromWire } from "../base/errors.ts";
import type { ClientMessage } from "../contract/rpc.ts";
import type { ChatCompletion } from "../server/chat-request.ts";
import {
  type ParseInput,
  type ParseJob,
  type ParseOutcome,
  type ParseReply,
  type ParseResults,
  parseRequest,
} from "./parse-request.ts";

/** A MiB takes some 4 ms to parse, and 5 ms is what the main thread may take. */
const INLINE_BYTES = 256 * 1024;

type Waiting = { readonly resolve: (outcome: never) => void; readonly reject: (error: Error) => void };

/** What can move to the other thread without a copy: a piece that shares its memory with none. */
const ownBuffers = (pieces: readonly Uint8Array[]): ArrayBuffer[] =>
  pieces.flatMap(({ buffer, byteLength }) =>
    buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : [],
  );

export class RequestParser implements Disposable {
  readonly #workerSource: () => Promise<string>;
  #worker: Promise<Worker> | null = null;
  readonly #waiting = new Map<number, Waiting>();
  #nextId = 1;

  /** `workerSource` gives the bundled text of `request-parser.worker.ts`; it is asked for at the first large text. */
  constructor(workerSource: () => Promise<string>) {
    this.#workerSource = workerSource;
  }

  /** Rejects with a "bad-request" that names the field. */
  chat(body: readonly Uint8Array[]): Promise<ChatCompletion> {
    const size = body.reduce((bytes, piece) => bytes + piece.byteLength, 0);
    return this.#parse("chat", body, size);
  }

  /** Rejects with a "bad-request" that names the field. */
  message(text: string): Promise<ClientMessage> {
    return this.#parse("message", text, text.length);
  }

  /** Safe to call twice. */
  [Symbol.dispose](): void {
    this.#worker?.then((worker) => worker.terminate()).catch(() => undefined);
    this.#worker = null;
  }

  async #parse<Kind extends keyof ParseResults>(
    kind: Kind,
    input: ParseInput,
    size: number,
  ): Promise<ParseResults[Kind]> {
    const outcome = size <= INLINE_BYTES ? parseRequest(kind, input) : await this.#post(kind, input);
    if (outcome.kind === "parsed") return outcome.value;
    throw errorFromWire(outcome.error);
  }

  async #post<Kind extends keyof ParseResults>(kind: Kind, input: ParseInput): Promise<ParseOutcome<Kind>> {
    this.#worker ??= this.#start().catch((thrown) => {
      this.#worker = null;
      throw thrown;
    });
    const worker = await this.#worker;
    const id = this.#nextId++;
    const job: ParseJob = { id, kind, input };
    const { promise, resolve, reject } = Promise.withResolvers<ParseOutcome<Kind>>();
    this.#waiting.set(id, { resolve, reject });
    worker.postMessage(job, typeof input === "string" ? [] : ownBuffers(input));
    return promise;
  }

  async #start(): Promise<Worker> {
    const worker = new Worker(await this.#workerSource(), { eval: true });
    // An idle parser keeps no process alive.
    worker.unref();
    let fault: unknown = null;
    worker.on("message", ({ id, outcome }: ParseReply) => {
      this.#waiting.get(id)?.resolve(outcome as never);
      this.#waiting.delete(id);
    });
    worker.on("error", (error) => {
      fault = error;
    });
    worker.on("exit", () => {
      this.#worker = null;
      const error = new Error("The thread that parses requests has ended.", { cause: fault });
      for (const { reject } of this.#waiting.values()) reject(error);
      this.#waiting.clear();
    });
    return worker;
  }
}
