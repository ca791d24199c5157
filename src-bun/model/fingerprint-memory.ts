// Remembers what was computed from files, by the identity of those files: reading gigabytes once is enough.
import { randomBytes } from "node:crypto";
import * as v from "valibot";
import { KeepwarmError } from "../base/errors.ts";
import type { Filesystem } from "../platform/filesystem.ts";

const MAX_ENTRIES = 256;
const MAX_BYTES = 1 << 20;

const schema = v.object({
  version: v.literal(1),
  fingerprints: v.array(v.tuple([v.string(), v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/))])),
});

export class FingerprintMemory {
  readonly #filesystem: Filesystem;
  readonly #path: string;
  #entries: Map<string, string> | null = null;

  /** `path`: in a folder that is there and this process's own. */
  constructor(options: { readonly filesystem: Filesystem; readonly path: string }) {
    this.#filesystem = options.filesystem;
    this.#path = options.path;
  }

  find(identity: string): string | null {
    return this.#open().get(identity) ?? null;
  }

  /** The oldest leave when there are many. A disk that takes no file costs the next load's time and nothing else. */
  put(identity: string, fingerprint: string): void {
    const entries = this.#open();
    entries.delete(identity);
    entries.set(identity, fingerprint);
    for (const oldest of [...entries.keys()].slice(0, -MAX_ENTRIES)) entries.delete(oldest);
    try {
      this.#write(JSON.stringify({ version: 1, fingerprints: [...entries] }, null, 1));
    } catch (thrown) {
      if (!(thrown instanceof KeepwarmError)) throw thrown;
    }
  }

  #open(): Map<string, string> {
    this.#entries ??= new Map(this.#read());
    return this.#entries;
  }

  /** Nothing is remembered where the file is absent, damaged or of another version. */
  #read(): readonly (readonly [string, string])[] {
    try {
      const parsed = v.safeParse(schema, JSON.parse(this.#readText()));
      return parsed.success ? parsed.output.fingerprints : [];
    } catch (thrown) {
      if (thrown instanceof KeepwarmError || thrown instanceof SyntaxError) return [];
      throw thrown;
    }
  }

  #readText(): string {
    const fd = this.#filesystem.open(this.#path, "read");
    try {
      const bytes = new Uint8Array(Math.min(this.#filesystem.sizeBytes(fd), MAX_BYTES));
      for (let done = 0; done < bytes.length; ) {
        const read = this.#filesystem.read(fd, [bytes.subarray(done)], done);
        if (read === 0) break;
        done += read;
      }
      return new TextDecoder().decode(bytes);
    } finally {
      this.#filesystem.close(fd);
    }
  }

  #write(text: string): void {
    const beside = `${this.#path}.${randomBytes(6).toString("hex")}`;
    const fd = this.#filesystem.open(beside, "create");
    try {
      const bytes = new TextEncoder().encode(text);
      for (let done = 0; done < bytes.length; ) {
        done += this.#filesystem.write(fd, [bytes.subarray(done)], done);
      }
      this.#filesystem.rename(beside, this.#path);
    } catch (thrown) {
      this.#filesystem.unlink(beside);
      throw thrown;
    } finally {
      this.#filesystem.close(fd);
    }
  }
}
