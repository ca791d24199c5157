// A worker thread that reads and writes blocks, one job after the other. Memory named in a job belongs to the job until
// its promise settles, and it settles only when the worker has answered or can no longer touch that memory.
import { Worker } from "node:worker_threads";
import { errorFromWire, KeepwarmError, messageOf } from "../base/errors.ts";
import type { JobMetrics, KvReply, KvRequest, ReadRequest, WriteRequest, WriteResult } from "./kv-jobs.ts";

const MAX_STARTS = 3;
const START_WINDOW_MS = 60_000;

export type KvWriterOptions = {
  /** The worker's text, as `bundleWorker` makes it from kv-writer.worker.ts. */
  readonly workerSource: string;
  /** Monotonic milliseconds. */
  readonly now?: () => number;
};

type Pending = PromiseWithResolvers<WriteResult | null>;

export class KvWriter implements AsyncDisposable {
  /** Of the last job that succeeded. */
  lastMetrics: JobMetrics | null = null;
  readonly #source: string;
  readonly #now: () => number;
  readonly #pending = new Map<number, Pending>();
  #worker: Worker | null = null;
  #lastError = "";
  #startedAt: number[] = [];
  #nextId = 1;
  #isClosed = false;

  constructor({ workerSource, now = () => performance.now() }: KvWriterOptions) {
    this.#source = workerSource;
    this.#now = now;
  }

  /** Resolves when the frames are durable; rejects with a KeepwarmError, and nothing of them is in the file. */
  async write(request: WriteRequest): Promise<WriteResult> {
    const written = await this.#run({ kind: "write", request });
    if (written === null) throw new Error("The worker answered a write without a place.");
    return written;
  }

  /** Resolves when every destination holds verified bytes; after a rejection they hold anything. */
  async read(request: ReadRequest): Promise<void> {
    await this.#run({ kind: "read", request });
  }

  /** Waits for the pending jobs, then ends the worker. Safe to call twice. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled([...this.#pending.values()].map(({ promise }) => promise));
    const worker = this.#worker;
    if (worker === null) return;
    const exited = new Promise<void>((resolve) => worker.once("exit", () => resolve()));
    worker.ref();
    worker.postMessage({ kind: "close" });
    await exited;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #run(request: KvRequest): Promise<WriteResult | null> {
    if (this.#isClosed) throw new KeepwarmError("worker-exited", "The persistence worker was closed.");
    const worker = this.#worker ?? this.#start();
    const id = this.#nextId;
    this.#nextId += 1;
    const job: Pending = Promise.withResolvers();
    this.#pending.set(id, job);
    worker.ref();
    try {
      worker.postMessage({ ...request, id });
    } catch (cause) {
      this.#settle(id)?.reject(
        new KeepwarmError(
          "invalid-reference",
          `A job could not be sent to the persistence worker: ${messageOf(cause)}`,
          {
            cause,
          },
        ),
      );
    }
    return job.promise;
  }

  #start(): Worker {
    const now = this.#now();
    this.#startedAt = this.#startedAt.filter((at) => now - at < START_WINDOW_MS);
    if (this.#startedAt.length >= MAX_STARTS)
      throw new KeepwarmError(
        "worker-exited",
        `The persistence worker stopped ${MAX_STARTS} times within a minute, so prompts are not kept on the SSD for now. ${this.#lastError}`,
      );
    this.#startedAt.push(now);
    this.#lastError = "";
    const worker = new Worker(this.#source, { eval: true });
    worker.unref();
    worker.on("message", (reply: KvReply) => this.#answered(reply));
    // Settles nothing: the thread may still be reading borrowed memory.
    worker.on("error", (thrown: unknown) => {
      this.#lastError = messageOf(thrown);
    });
    worker.on("exit", () => this.#exited());
    this.#worker = worker;
    return worker;
  }

  #answered(reply: KvReply): void {
    const job = this.#settle(reply.id);
    if (job === undefined) return;
    if (reply.kind === "failed") {
      job.reject(errorFromWire(reply.error));
      return;
    }
    this.lastMetrics = reply.metrics;
    job.resolve(reply.written);
  }

  #exited(): void {
    this.#worker = null;
    const reason =
      this.#lastError === "" ? "persistence worker exited" : `persistence worker exited: ${this.#lastError}`;
    const jobs = [...this.#pending.values()];
    this.#pending.clear();
    for (const job of jobs) job.reject(new KeepwarmError("worker-exited", reason));
  }

  /** Takes a job out; the worker keeps the process alive only while there is another. */
  #settle(id: number): Pending | undefined {
    const job = this.#pending.get(id);
    this.#pending.delete(id);
    if (this.#pending.size === 0) this.#worker?.unref();
    return job;
  }
}
