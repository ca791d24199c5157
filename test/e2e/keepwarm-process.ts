// The product as its user starts it: a process of its own, whose words a test waits for.
import { join } from "node:path";
import { sharedDownloads } from "../support/test-setup.ts";

export type StartOptions = {
  /** KEEPWARM_HOME: the data of this copy alone. */
  readonly home: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** Standard input, whole. */
  readonly input?: string;
};

const cli = join(import.meta.dir, "../../src-bun/cli.ts");

export class KeepwarmProcess implements AsyncDisposable {
  /** What it has written so far. */
  out = "";
  err = "";
  readonly #child: Bun.Subprocess<Blob, "pipe", "pipe">;
  readonly #ended: Promise<unknown>;
  #hasEnded = false;
  #news = Promise.withResolvers<void>();

  constructor(args: readonly string[], { home, environment = {}, input = "" }: StartOptions) {
    this.#child = Bun.spawn([process.execPath, "run", cli, ...args], {
      env: { ...process.env, KEEPWARM_HOME: home, KEEPWARM_DOWNLOADS: sharedDownloads(), ...environment },
      stdin: new Blob([input]),
      stdout: "pipe",
      stderr: "pipe",
    });
    const { stdout, stderr } = this.#child;
    const read = [
      this.#read(stdout, (text) => {
        this.out += text;
      }),
      this.#read(stderr, (text) => {
        this.err += text;
      }),
    ];
    this.#ended = Promise.all(read).then(() => {
      this.#hasEnded = true;
      this.#tell();
    });
  }

  /** Waits for words on either stream. Rejects when the process ends without having said them. */
  async says(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = pattern.exec(this.out) ?? pattern.exec(this.err);
      if (found !== null) return found;
      if (this.#hasEnded) throw new Error(`Keepwarm ended and never said ${pattern}:\n${this.out}\n${this.err}`);
      await this.#news.promise;
    }
  }

  /** Resolves to the exit code when all it wrote is there; a process that a signal ended has 128 and more. */
  async exit(): Promise<number> {
    await this.#ended;
    return this.#child.exited;
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.kill("SIGKILL");
    await this.exit();
  }

  async #read(stream: ReadableStream<Uint8Array>, add: (text: string) => void): Promise<void> {
    for await (const text of stream.pipeThrough(new TextDecoderStream() as never) as ReadableStream<string>) {
      add(text);
      this.#tell();
    }
  }

  #tell(): void {
    this.#news.resolve();
    this.#news = Promise.withResolvers();
  }
}
