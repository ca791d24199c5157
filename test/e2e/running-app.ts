// `serve` on a free port, ready to answer.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { KeepwarmProcess, type StartOptions } from "./keepwarm-process.ts";

export class RunningApp implements AsyncDisposable {
  readonly process: KeepwarmProcess;
  readonly home: string;
  readonly port: number;
  /** Lets one browser in, once. */
  readonly link: string;

  private constructor(process: KeepwarmProcess, home: string, port: number, link: string) {
    this.process = process;
    this.home = home;
    this.port = port;
    this.link = link;
  }

  /** Resolves when the page can be opened, whether or not a model can answer. Port 0 is a free one. */
  static async open(options: StartOptions, port = 0): Promise<RunningApp> {
    const process = new KeepwarmProcess(["serve", "--port", String(port)], options);
    try {
      const [, link = "", found = ""] = await process.says(/^Open (http:\/\/127\.0\.0\.1:(\d+)\/#code=\S+)/m);
      return new RunningApp(process, options.home, Number(found), link);
    } catch (thrown) {
      await process[Symbol.asyncDispose]();
      throw thrown;
    }
  }

  /** Resolves when the model can answer. */
  static async start(options: StartOptions, port = 0): Promise<RunningApp> {
    const app = await RunningApp.open(options, port);
    try {
      await app.process.says(/^Ready\.$/m);
      return app;
    } catch (thrown) {
      await app[Symbol.asyncDispose]();
      throw thrown;
    }
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** What opens the HTTP API. */
  get token(): string {
    return readFileSync(join(this.home, "api-token"), "utf8").trim();
  }

  /** Ends it as a user's system would, and resolves to the exit code. */
  stop(): Promise<number> {
    this.process.kill("SIGTERM");
    return this.process.exit();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.process[Symbol.asyncDispose]();
  }
}
