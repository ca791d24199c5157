// Renders chat templates in a thread of their own: a template is a program from a stranger, so that thread is ended
// when it takes too long or too much memory, and the next render starts another.
import { Worker } from "node:worker_threads";
import { KeepwarmError } from "../base/errors.ts";
import type { TemplateContext } from "./render-template.ts";

export type TemplateJob = { readonly source: string; readonly context: TemplateContext };

export type TemplateReply =
  | { readonly kind: "ready" }
  | { readonly kind: "done"; readonly text: string }
  | { readonly kind: "failed"; readonly why: string };

/** "ended": the thread must go, or has gone. */
type Outcome =
  | Exclude<TemplateReply, { kind: "ready" }>
  | { readonly kind: "cancelled" }
  | { readonly kind: "ended"; readonly why: string };

export type TemplateLimits = {
  readonly timeMs: number;
  /** How much the process may grow during one render; Bun does not hold a worker to memory limits of its own. */
  readonly growthBytes: number;
};

const LIMITS: TemplateLimits = { timeMs: 2_000, growthBytes: 512 << 20 };
const WATCH_MS = 25;

export class TemplateRenderer {
  readonly #workerSource: string;
  readonly #limits: TemplateLimits;
  #worker: Promise<Worker> | null = null;
  #tail: Promise<unknown> = Promise.resolve();
  #ending: Promise<unknown> = Promise.resolve();

  constructor(options: { readonly workerSource: string; readonly limits?: TemplateLimits }) {
    this.#workerSource = options.workerSource;
    this.#limits = options.limits ?? LIMITS;
  }

  /** Rejects with "template-failed", or with "cancelled" once the signal aborts. One render runs at a time. */
  render(source: string, context: TemplateContext, signal: AbortSignal): Promise<string> {
    const run = this.#tail.then(() => this.#render({ source, context }, signal));
    this.#tail = run.catch(() => undefined);
    return run;
  }

  async close(): Promise<void> {
    await this.#tail;
    this.#end();
    await this.#ending;
  }

  async #render(job: TemplateJob, signal: AbortSignal): Promise<string> {
    const worker = await this.#open();
    worker.ref();
    const outcome = await this.#run(worker, job, signal);
    worker.unref();
    switch (outcome.kind) {
      case "done":
        return outcome.text;
      case "cancelled":
        this.#end();
        throw new KeepwarmError("cancelled", "The request was cancelled before it started.");
      case "ended":
        this.#end();
        throw templateFailed(outcome.why);
      case "failed":
        throw templateFailed(outcome.why);
    }
  }

  /** Resolves with the first thing that happens to the job. */
  async #run(worker: Worker, job: TemplateJob, signal: AbortSignal): Promise<Outcome> {
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    using listening = new DisposableStack();
    const listen = <Value>(event: string, say: (value: Value) => void): void => {
      worker.on(event, say);
      listening.defer(() => worker.off(event, say));
    };
    listen<Outcome>("message", resolve);
    listen<Error>("error", ({ message }) => resolve({ kind: "ended", why: message }));
    listen("exit", () => resolve({ kind: "ended", why: "its thread ended" }));
    const cancel = (): void => resolve({ kind: "cancelled" });
    signal.addEventListener("abort", cancel);
    listening.defer(() => signal.removeEventListener("abort", cancel));
    const watch = this.#watch((why) => resolve({ kind: "ended", why }));
    listening.defer(() => clearInterval(watch));
    if (signal.aborted) cancel();
    else worker.postMessage(job);
    return await promise;
  }

  #watch(stop: (why: string) => void): NodeJS.Timeout {
    const { timeMs, growthBytes } = this.#limits;
    const startMs = performance.now();
    const startBytes = process.memoryUsage.rss();
    return setInterval(() => {
      if (performance.now() - startMs >= timeMs) stop(`it was stopped after ${timeMs / 1000} s`);
      else if (process.memoryUsage.rss() - startBytes >= growthBytes) {
        stop(`it was stopped when it had taken ${Math.round(growthBytes / 2 ** 20)} MB`);
      }
    }, WATCH_MS);
  }

  async #open(): Promise<Worker> {
    this.#worker ??= this.#start();
    try {
      return await this.#worker;
    } catch (thrown) {
      this.#worker = null;
      throw thrown;
    }
  }

  async #start(): Promise<Worker> {
    const worker = new Worker(this.#workerSource, { eval: true });
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    worker.once("message", resolve);
    worker.once("error", reject);
    worker.once("exit", () => reject(new Error("the thread for templates ended when it started")));
    await promise;
    worker.removeAllListeners();
    // A thread that ends while nothing runs shows at the next render.
    worker.on("error", () => undefined);
    return worker;
  }

  /** A thread in the middle of a long step takes its time to end; nobody but a close waits for that. */
  #end(): void {
    const worker = this.#worker;
    this.#worker = null;
    this.#ending = Promise.all([this.#ending, worker?.then((running) => running.terminate())]);
  }
}

const templateFailed = (why: string): KeepwarmError =>
  new KeepwarmError("template-failed", `This model's template failed: ${why}. Choose another model or template.`);
