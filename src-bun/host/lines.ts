// Text over a stream of bytes: one line a message, in both directions.

/** Cuts what arrives into lines, at their bytes, so that no character is split. */
export class LineReader {
  readonly #maxBytes: number;
  #parts: Uint8Array[] = [];
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Returns the lines that end in these bytes; null stands for one that was too long. */
  push(chunk: Uint8Array): (string | null)[] {
    const lines: (string | null)[] = [];
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      this.#keep(chunk.subarray(start, end));
      lines.push(this.#take());
      start = end + 1;
    }
    this.#keep(chunk.slice(start));
    return lines;
  }

  /** Of a line that is too long only the length is kept. */
  #keep(part: Uint8Array): void {
    this.#bytes += part.byteLength;
    if (this.#bytes <= this.#maxBytes) this.#parts.push(part);
    else this.#parts = [];
  }

  #take(): string | null {
    const line = this.#bytes <= this.#maxBytes ? Buffer.concat(this.#parts).toString("utf8") : null;
    this.#parts = [];
    this.#bytes = 0;
    return line;
  }
}

/** Holds what the socket did not take yet; the socket's owner calls `flush` when it has room again. */
export class LineWriter {
  readonly #write: (bytes: Uint8Array) => number;
  #waiting: Uint8Array[] = [];

  /** `write` returns how many bytes it took. */
  constructor(write: (bytes: Uint8Array) => number) {
    this.#write = write;
  }

  put(message: object): void {
    this.#waiting.push(Buffer.from(`${JSON.stringify(message)}\n`));
    if (this.#waiting.length === 1) this.flush();
  }

  flush(): void {
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      const taken = Math.max(0, this.#write(next));
      if (taken < next.byteLength) {
        this.#waiting[0] = next.subarray(taken);
        return;
      }
      this.#waiting.shift();
    }
  }
}
