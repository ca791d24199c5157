// mlx-lm as a peer process: the same weights, the same libmlx and the same BLAS as ours.
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { resolvePaths } from "../../src-bun/platform/paths.ts";
import type { SetupResult } from "../../src-bun/setup/setup.ts";

const oracle = join(import.meta.dir, "../oracle");

type Ready = { readonly libmlxSha256: string; readonly openBlas: string | null; readonly mlxLm: string };

const run = async (command: readonly string[]): Promise<void> => {
  const child = Bun.spawn([...command], { stdio: ["ignore", "inherit", "inherit"] });
  if ((await child.exited) !== 0) throw new Error(`"${command.join(" ")}" failed; the peer could not be made.`);
};

/** Makes the peer's Python environment and its copy of the weights once, below the downloads. */
const prepare = async (setup: SetupResult): Promise<{ python: string; weights: string }> => {
  const folder = join(resolvePaths(process.platform, process.env, homedir()).downloads, "oracle");
  const python = join(folder, "venv/bin/python");
  const weights = join(folder, "starter-float32");
  if (!existsSync(python)) await run([join(oracle, "make_venv.sh"), join(folder, "venv")]);
  if (!existsSync(join(weights, "config.json"))) {
    await run([python, join(oracle, "starter.py"), setup.starterModel, weights]);
  }
  return { python, weights };
};

const libmlxOf = (setup: SetupResult): string => {
  const parts = join(dirname(setup.mlxLibrary), "..");
  const found = [...new Bun.Glob("mlx-*/mlx/lib/libmlx.{so,dylib}").scanSync(parts)][0];
  if (found === undefined) throw new Error(`no libmlx below ${parts}`);
  return join(parts, found);
};

export class Peer implements AsyncDisposable {
  readonly description: Ready;
  readonly #child: Bun.Subprocess<"pipe", "pipe", "inherit">;
  readonly #lines: AsyncGenerator<string>;

  private constructor(child: Bun.Subprocess<"pipe", "pipe", "inherit">, lines: AsyncGenerator<string>, ready: Ready) {
    this.#child = child;
    this.#lines = lines;
    this.description = ready;
  }

  /** Throws when it would not compute with our libraries: a comparison would be void. */
  static async start(setup: SetupResult): Promise<Peer> {
    const { python, weights } = await prepare(setup);
    // Our libmlxc forwards to OpenBLAS; loaded first, it does so for the peer too.
    const child = Bun.spawn([python, join(oracle, "peer_bench.py"), weights], {
      env: { ...process.env, LD_PRELOAD: setup.mlxLibrary },
      stdio: ["pipe", "pipe", "inherit"],
    });
    const lines = linesOf(child.stdout);
    const ready = JSON.parse((await lines.next()).value ?? "{}") as Ready;
    const own = createHash("sha256")
      .update(readFileSync(libmlxOf(setup)))
      .digest("hex");
    if (ready.libmlxSha256 !== own) throw new Error("the peer loads another libmlx than ours");
    if (ready.openBlas === null) throw new Error("the peer does not multiply with OpenBLAS");
    return new Peer(child, lines, ready);
  }

  async ask<Answer>(request: object): Promise<Answer> {
    this.#child.stdin.write(`${JSON.stringify(request)}\n`);
    await this.#child.stdin.flush();
    const { value } = await this.#lines.next();
    const answer = JSON.parse(value ?? '{"error":"it ended"}');
    if (answer.error !== undefined) throw new Error(`The peer failed: ${answer.error}`);
    return answer;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.stdin.end();
    await this.#child.exited;
  }
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of stream) {
    rest += decoder.decode(chunk, { stream: true });
    for (let end = rest.indexOf("\n"); end >= 0; end = rest.indexOf("\n")) {
      yield rest.slice(0, end);
      rest = rest.slice(end + 1);
    }
  }
}
