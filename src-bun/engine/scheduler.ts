import { KeepwarmError } from "../base/errors.ts";

/** Runs requests one after the other, in the order they came; one that is cancelled while it waits never starts. */
export class Scheduler {
  #tail: Promise<unknown> = Promise.resolve();
  #active = 0;

  /** Requests that run or wait. */
  get active(): number {
    return this.#active;
  }

  run<T>(job: () => Promise<T>, signal: AbortSignal): Promise<T> {
    this.#active++;
    const result = this.#tail.then(() => {
      if (signal.aborted) throw new KeepwarmError("cancelled", "The request was cancelled before it started.");
      return job();
    });
    const settled = (): void => {
      this.#active--;
    };
    this.#tail = result.then(settled, settled);
    return result;
  }

  /** Resolves when everything accepted so far has ended. */
  idle(): Promise<unknown> {
    return this.#tail;
  }
}
