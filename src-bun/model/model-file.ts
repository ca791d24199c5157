// One open file of a model. Headers are checked and tensors read through the same descriptor, so that nobody can put
// another file in its place between the two.
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { messageOf } from "../base/errors.ts";
import { damagedModel } from "./model-faults.ts";

/** Linux reads no more than 2 GiB in one call. */
const MAX_READ_BYTES = 1 << 30;

export class ModelFile implements Disposable {
  readonly path: string;
  readonly sizeBytes: number;
  readonly #fd: number;

  private constructor(path: string, fd: number, sizeBytes: number) {
    this.path = path;
    this.#fd = fd;
    this.sizeBytes = sizeBytes;
  }

  /** Throws "damaged-file" for what is absent or no file. */
  static open(path: string): ModelFile {
    const fd = openOrThrow(path);
    const stat = fstatSync(fd);
    if (stat.isFile()) return new ModelFile(path, fd, stat.size);
    closeSync(fd);
    throw damagedModel(path, "it is no file");
  }

  /** Device, inode, size and times; `changedMs` is the later of its two times, in milliseconds since 1970. */
  stamp(): { readonly text: string; readonly changedMs: number } {
    const { dev, ino, size, mtimeNs, ctimeNs, mtimeMs, ctimeMs } = fstatSync(this.#fd, { bigint: true });
    const changedMs = Math.max(Number(mtimeMs), Number(ctimeMs));
    return { text: [dev, ino, size, mtimeNs, ctimeNs].join(":"), changedMs };
  }

  /** Fills `into` from byte `at` on. Throws "damaged-file" where the file ends before. */
  read(into: Uint8Array, at: number): void {
    for (let done = 0; done < into.length; ) {
      const length = Math.min(MAX_READ_BYTES, into.length - done);
      const bytes = readSync(this.#fd, into, done, length, at + done);
      if (bytes === 0) throw damagedModel(this.path, `it ends at byte ${at + done}, before what was to be read`);
      done += bytes;
    }
  }

  [Symbol.dispose](): void {
    closeSync(this.#fd);
  }
}

const openOrThrow = (path: string): number => {
  try {
    // A pipe would be waited for without end.
    return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (cause) {
    throw damagedModel(path, messageOf(cause), cause);
  }
};
