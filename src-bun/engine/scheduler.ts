import { KeepwarmError } from "../base/errors.ts";

const cancelled = (): KeepwarmError => new KeepwarmError("cancelled", "The request was cancelled before it started.");

/** Runs requests one after the other, in the order they came; one that is cancelled while it waits ends at once. */
export class Scheduler {
  #tail: Promise<unknown> = Promise.resolve();
  #active = 0;

  /** Requests that run or wait. */
  get active(): number {
    return this.#active;
  }

  run<T>(job: () => Promise<T>, signal: AbortSignal): Promise<T> {
    if (signal.aborted) return Promise.reject(cancelled());
    this.#active++;
    const gaveUp = Promise.withResolvers<never>();
    const giveUp = (): void => gaveUp.reject(cancelled());
    signal.addEventListener("abort", giveUp, { once: true });
    const result = this.#tail.then(() => {
      signal.removeEventListener("abort", giveUp);
      if (signal.aborted) throw cancelled();
      return job();
    });
    const settled = (): void => {
      this.#active--;
    };
    this.#tail = result.then(settled, settled);
    return Promise.race([result, gaveUp.promise]);
  }

  /** Resolves when everything accepted so far has ended. */
  idle(): Promise<unknown> {
    return this.#tail;
  }
}
