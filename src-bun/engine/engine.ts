// The engine as the main thread holds it: typed calls over a worker that owns MLX.
import { Worker } from "node:worker_threads";
import { errorFromWire, KeepwarmError } from "../base/errors.ts";
import type {
  EnginePort,
  EngineStatus,
  GenerateProgress,
  GenerateRequest,
  GenerateResult,
  ModelInfo,
} from "../contract/engine.ts";
import type { EngineCommand, EngineEvent, EngineOptions, EngineReplies } from "./messages.ts";

type Waiting = {
  readonly resolve: (value: never) => void;
  readonly reject: (error: Error) => void;
  readonly onProgress: (progress: GenerateProgress) => void;
};

type Command = { [Kind in keyof EngineReplies]: Omit<EngineCommand & { kind: Kind }, "id"> };

export type EngineListener = {
  /** Hears of an end that nobody asked for. */
  readonly onExit: (error: KeepwarmError) => void;
  /** Hears why new prompts are not kept on the SSD, and null once they are again. */
  readonly onSsdFault: (message: string | null) => void;
  readonly onLog: (line: string) => void;
};

export class Engine implements EnginePort {
  readonly #worker: Worker;
  readonly #listener: EngineListener;
  readonly #waiting = new Map<number, Waiting>();
  #nextId = 1;
  #exit: KeepwarmError | null = null;

  /** Starts the worker from its bundled text. */
  constructor(workerSource: string, options: EngineOptions, listener: EngineListener) {
    this.#listener = listener;
    this.#worker = new Worker(workerSource, { eval: true, workerData: options });
    let fault: unknown = null;
    this.#worker.on("message", (event: EngineEvent) => this.#receive(event));
    this.#worker.on("error", (error) => {
      fault = error;
    });
    this.#worker.on("exit", () => {
      const why = fault instanceof Error ? `: ${fault.message}` : "";
      this.#exit = new KeepwarmError("engine-exited", `The engine stopped${why}. Start Keepwarm again.`, {
        cause: fault,
      });
      const wasAsked = this.#waiting.size === 0 && fault === null;
      for (const { reject } of this.#waiting.values()) reject(this.#exit);
      this.#waiting.clear();
      if (!wasAsked) listener.onExit(this.#exit);
    });
  }

  load(modelPath: string): Promise<ModelInfo> {
    return this.#send<"load">({ kind: "load", modelPath }).reply;
  }

  async unload(): Promise<void> {
    await this.#send<"unload">({ kind: "unload" }).reply;
  }

  async generate(
    request: GenerateRequest,
    onProgress: (progress: GenerateProgress) => void,
    signal: AbortSignal,
  ): Promise<GenerateResult> {
    if (signal.aborted) throw new KeepwarmError("cancelled", "The request was cancelled before it started.");
    const { id, reply } = this.#send<"generate">({ kind: "generate", request }, onProgress);
    const cancel = (): void => this.#post({ kind: "cancel", target: id });
    signal.addEventListener("abort", cancel, { once: true });
    try {
      return await reply;
    } finally {
      signal.removeEventListener("abort", cancel);
    }
  }

  status(): Promise<EngineStatus> {
    return this.#send<"status">({ kind: "status" }).reply;
  }

  /** Ends after what was computed is durable or, after `flushMs`, counted as dropped. */
  async close(flushMs: number): Promise<{ readonly droppedJobs: number }> {
    // A worker that died has nothing left to write.
    if (this.#exit !== null) return { droppedJobs: 0 };
    const result = await this.#send<"close">({ kind: "close", flushMs }).reply;
    await this.#worker.terminate();
    return result;
  }

  #send<Kind extends keyof EngineReplies>(
    command: Command[Kind],
    onProgress: (progress: GenerateProgress) => void = () => undefined,
  ): { readonly id: number; readonly reply: Promise<EngineReplies[Kind]> } {
    const id = this.#nextId++;
    const reply = new Promise<EngineReplies[Kind]>((resolve, reject) => {
      if (this.#exit !== null) {
        reject(this.#exit);
        return;
      }
      this.#waiting.set(id, { resolve, reject, onProgress });
      this.#post({ ...command, id } as unknown as EngineCommand);
    });
    return { id, reply };
  }

  #post(command: EngineCommand): void {
    this.#worker.postMessage(command);
  }

  #receive(event: EngineEvent): void {
    if (event.kind === "ssd-fault") this.#listener.onSsdFault(event.message);
    else if (event.kind === "log") this.#listener.onLog(event.line);
    else this.#answer(event);
  }

  #answer(event: Extract<EngineEvent, { id: number }>): void {
    const waiting = this.#waiting.get(event.id);
    if (waiting === undefined) return;
    switch (event.kind) {
      case "progress":
        waiting.onProgress(event.progress);
        return;
      case "reply":
        this.#waiting.delete(event.id);
        waiting.resolve(event.value as never);
        return;
      case "failed":
        this.#waiting.delete(event.id);
        waiting.reject(errorFromWire(event.error));
        return;
    }
  }
}
