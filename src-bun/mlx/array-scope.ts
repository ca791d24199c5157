import type { MlxArray } from "./array.ts";

/** Frees the arrays made while it is open, but for those that were kept. Scopes nest: the innermost one takes part. */
export class ArrayScope implements Disposable {
  readonly #arrays = new Set<MlxArray>();
  readonly #onClose: () => void;
  readonly #onKeep: (array: MlxArray) => void;

  constructor(onClose: () => void, onKeep: (array: MlxArray) => void) {
    this.#onClose = onClose;
    this.#onKeep = onKeep;
  }

  add(array: MlxArray): void {
    this.#arrays.add(array);
  }

  /** Moves an array out: from now on the caller owns it. */
  keep(array: MlxArray): MlxArray {
    if (this.#arrays.delete(array)) this.#onKeep(array);
    return array;
  }

  [Symbol.dispose](): void {
    this.#onClose();
    for (const array of this.#arrays) array[Symbol.dispose]();
    this.#arrays.clear();
  }
}
