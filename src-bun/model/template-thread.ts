// Chat templates and tokenizers run in a thread of their own: a template is a program from a stranger, and a long text
// takes seconds. So that thread is ended when a job takes too long or too much memory, and the next job starts another.
import { Worker } from "node:worker_threads";
import { errorFromWire, KeepwarmError } from "../base/errors.ts";
import type { Conversation } from "./conversation.ts";
import { templateFailed, textUnencoded, tokenizerUnopened } from "./template-faults.ts";

export type TemplateJob =
  /** JSON of the `ModelText` that the prompts after it are written with. */
  | { readonly kind: "open"; readonly text: SharedArrayBuffer }
  | { readonly kind: "encode"; readonly conversation: Conversation };

type Failed = { readonly kind: "failed"; readonly error: { readonly code: string; readonly message: string } };

export type TemplateReply =
  | { readonly kind: "ready" | "opened" }
  /** The template is through; so many characters now become tokens. */
  | { readonly kind: "written"; readonly characters: number }
  | { readonly kind: "encoded"; readonly ids: Uint32Array }
  | Failed;

type Outcome =
  | { readonly kind: "opened" }
  | { readonly kind: "encoded"; readonly ids: Uint32Array }
  | Failed
  /** The thread must go, or has gone. */
  | { readonly kind: "ended"; readonly error: Error };

export type TemplateLimits = {
  readonly timeMs: number;
  /** How much the process may grow during one job; Bun does not hold a worker to memory limits of its own. */
  readonly growthBytes: number;
};

type Watch = TemplateLimits & { readonly startMs: number; readonly failure: (why: string) => KeepwarmError };

const TEMPLATE_LIMITS: TemplateLimits = { timeMs: 2_000, growthBytes: 512 << 20 };
const OPEN_LIMITS: TemplateLimits = { timeMs: 60_000, growthBytes: 4 * 2 ** 30 };
/** Some ten times what text without a blank takes, the slowest there is. */
const ENCODE_MS = { least: 5_000, perCharacter: 0.04 } as const;
const ENCODE_BYTES = { least: 512 << 20, perCharacter: 1024 } as const;
const WATCH_MS = 25;

const encodeLimits = (characters: number): TemplateLimits => ({
  timeMs: ENCODE_MS.least + ENCODE_MS.perCharacter * characters,
  growthBytes: ENCODE_BYTES.least + ENCODE_BYTES.perCharacter * characters,
});

export class TemplateThread {
  readonly #workerSource: string;
  readonly #limits: TemplateLimits;
  #worker: Promise<Worker> | null = null;
  /** What the thread has open. */
  #text: SharedArrayBuffer | null = null;
  #tail: Promise<unknown> = Promise.resolve();
  #ending: Promise<unknown> = Promise.resolve();

  /** `limits` hold for a template; what opens and encodes has its own. */
  constructor(options: { readonly workerSource: string; readonly limits?: TemplateLimits }) {
    this.#workerSource = options.workerSource;
    this.#limits = options.limits ?? TEMPLATE_LIMITS;
  }

  /** Has the thread read JSON of a `ModelText`. Rejects with "unsupported-model". */
  open(text: SharedArrayBuffer): Promise<void> {
    return this.#inTurn(() => this.#open(text, new AbortController().signal));
  }

  /** Rejects with a KeepwarmError, which is "cancelled" once the signal aborts. One job runs at a time. */
  encode(text: SharedArrayBuffer, conversation: Conversation, signal: AbortSignal): Promise<Uint32Array> {
    return this.#inTurn(async () => {
      await this.#open(text, signal);
      const watch = { ...this.#limits, failure: templateFailed };
      const outcome = await this.#do({ kind: "encode", conversation }, watch, signal);
      if (outcome.kind === "encoded") return outcome.ids;
      throw new Error(`a prompt was answered with "${outcome.kind}"`);
    });
  }

  async close(): Promise<void> {
    await this.#tail;
    this.#end();
    await this.#ending;
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const run = this.#tail.then(work);
    this.#tail = run.catch(() => undefined);
    return run;
  }

  async #open(text: SharedArrayBuffer, signal: AbortSignal): Promise<void> {
    if (this.#text === text) return;
    // Until it has the new one it has none.
    this.#text = null;
    await this.#do({ kind: "open", text }, { ...OPEN_LIMITS, failure: tokenizerUnopened }, signal);
    this.#text = text;
  }

  async #do(
    job: TemplateJob,
    watch: Omit<Watch, "startMs">,
    signal: AbortSignal,
  ): Promise<Exclude<Outcome, { kind: "failed" | "ended" }>> {
    const worker = await this.#running(watch.failure);
    worker.ref();
    const outcome = await this.#outcome(worker, job, { ...watch, startMs: performance.now() }, signal);
    worker.unref();
    if (outcome.kind === "failed") throw errorFromWire(outcome.error);
    if (outcome.kind !== "ended") return outcome;
    this.#end();
    throw outcome.error;
  }

  /** Resolves with the first thing that ends the job. */
  async #outcome(worker: Worker, job: TemplateJob, first: Watch, signal: AbortSignal): Promise<Outcome> {
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    const end = (error: Error): void => resolve({ kind: "ended", error });
    using listening = new DisposableStack();
    const listen = <Value>(event: string, say: (value: Value) => void): void => {
      worker.on(event, say);
      listening.defer(() => worker.off(event, say));
    };
    let watch = first;
    listen<TemplateReply>("message", (reply) => {
      if (reply.kind === "written") {
        watch = { ...encodeLimits(reply.characters), startMs: performance.now(), failure: textUnencoded };
      } else if (reply.kind !== "ready") resolve(reply as Outcome);
    });
    listen<Error>("error", ({ message }) => end(watch.failure(message)));
    listen("exit", () => end(watch.failure("its thread ended")));
    const cancel = (): void => end(new KeepwarmError("cancelled", "The request was cancelled before it started."));
    signal.addEventListener("abort", cancel);
    listening.defer(() => signal.removeEventListener("abort", cancel));
    const timer = this.#watch(() => watch, end);
    listening.defer(() => clearInterval(timer));
    if (signal.aborted) cancel();
    else worker.postMessage(job);
    return await promise;
  }

  #watch(current: () => Watch, end: (error: Error) => void): NodeJS.Timeout {
    const startBytes = process.memoryUsage.rss();
    return setInterval(() => {
      const { timeMs, growthBytes, startMs, failure } = current();
      if (performance.now() - startMs >= timeMs) end(failure(`it was stopped after ${Math.round(timeMs / 1000)} s`));
      else if (process.memoryUsage.rss() - startBytes >= growthBytes) {
        end(failure(`it was stopped when it had taken ${Math.round(growthBytes / 2 ** 20)} MB`));
      }
    }, WATCH_MS);
  }

  async #running(failure: (why: string) => KeepwarmError): Promise<Worker> {
    this.#worker ??= this.#start(failure);
    try {
      return await this.#worker;
    } catch (thrown) {
      this.#worker = null;
      throw thrown;
    }
  }

  async #start(failure: (why: string) => KeepwarmError): Promise<Worker> {
    const worker = new Worker(this.#workerSource, { eval: true });
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    worker.once("message", resolve);
    worker.once("error", ({ message }) => reject(failure(message)));
    worker.once("exit", () => reject(failure("its thread ended when it started")));
    await promise;
    worker.removeAllListeners();
    // A thread that ends while nothing runs shows at the next job.
    worker.on("error", () => undefined);
    return worker;
  }

  /** A thread in the middle of a long step takes its time to end; nobody but a close waits for that. */
  #end(): void {
    const worker = this.#worker;
    this.#worker = null;
    this.#text = null;
    this.#ending = Promise.all([this.#ending, worker?.then((running) => running.terminate())]);
  }
}
