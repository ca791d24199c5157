// Stand-ins for the programs that set-up calls, as shell scripts on a PATH of their own. A folder tells them how to
// behave (`pip`, `cargo`, `unzip`, `c++`: one word each) and keeps a line for each call.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Environment } from "../../src-bun/platform/paths.ts";
import type { Crate, Wheel } from "../../src-bun/setup/versions.ts";

type Mood = "good" | "cut" | "full" | "damaged" | "hang" | "no-pip" | "broken";

/** The one that runs here: a version manager's stand-in needs programs that the fake PATH lacks. */
let knownPython: string | undefined;
const realPython = (): string => {
  knownPython ??= findPython();
  return knownPython;
};

const findPython = (): string => {
  const found = Bun.spawnSync(["python3", "-c", "import sys; print(sys.executable)"]);
  if (!found.success) throw new Error("python3 is needed to make a test wheel");
  return found.stdout.toString().trim();
};

/** `hang` says that it has come so far by opening one pipe, and goes on when the other is opened. */
const preamble = `#!/bin/sh
control=$(dirname "$0")/..
mood() { cat "$control/$1" 2>/dev/null || echo good; }
log() { echo "$*" >> "$control/calls"; }
hang() { echo $$ > "$control/arrived"; cat "$control/go" > /dev/null; }
`;

const python = `${preamble}
while [ "$1" = -m ]; do module=$2; shift 2; done
if [ "$1" = --version ] && [ "$module" = pip ]; then echo "pip 23.2.1 from somewhere (python 3.11)"; exit; fi
if [ "$1" = --version ]; then echo "Python 3.11.2"; exit; fi
if [ "$module" = zipfile ]; then
  log unzip "$2"
  [ "$(mood unzip)" = hang ] && { mkdir -p "$3/half"; hang; }
  [ "$(mood unzip)" = full ] && { echo "OSError: [Errno 28] No space left on device" >&2; exit 1; }
  exec "$REAL_PYTHON" -m zipfile "$@"
fi
while [ $# -gt 1 ]; do [ "$1" = -d ] && target=$2; shift; done
log pip "$1"
wheel="$control/\${1%%==*}.whl"
half() { mkdir "$TMPDIR/pip-unpack"; head -c 200 "$wheel" > "$TMPDIR/pip-unpack/half.whl"; }
case $(mood pip) in
  no-pip) echo "/usr/bin/python3: No module named pip" >&2; exit 1;;
  full) half; echo "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device" >&2; exit 1;;
  cut) half
    echo "WARNING: Retrying after connection broken by 'NewConnectionError: Temporary failure in name resolution'" >&2
    echo "ERROR: No matching distribution found for $1" >&2; exit 1;;
  damaged) head -c -3 "$wheel" > "$target/x.whl"; printf XYZ >> "$target/x.whl";;
  hang) half; hang; cp "$wheel" "$target/x.whl";;
  *) cp "$wheel" "$target/x.whl";;
esac
`;

const cargo = `${preamble}
if [ "$1" = --version ]; then echo "cargo 1.95.0"; exit; fi
log cargo "$1"
case $(mood cargo) in
  cut) echo "error: failed to get a crate" >&2; echo "  [6] Could not resolve hostname" >&2; exit 101;;
  damaged) sum=0000;;
  *) sum=abcd;;
esac
folder=vendor/sources-1.0.0
mkdir -p "$folder/c/mlx/c"
echo "{\\"package\\":\\"$sum\\"}" > "$folder/.cargo-checksum.json"
for name in mlx.h version.cpp array.cpp ops.cpp; do echo x > "$folder/c/mlx/c/$name"; done
`;

const compiler = `${preamble}
if [ "$1" = --version ]; then echo "g++ (Debian) 12.2.0"; exit; fi
for word; do last=$word; done
[ -e "$last" ] && name=link || name=$(basename "$last")
while [ $# -gt 0 ]; do [ "$1" = -o ] && { out=$2; name=$(basename "$2"); }; shift; done
log c++ "$name"
case $(mood c++) in
  hang) [ "$name" = ops.cpp.o ] && hang;;
  broken) [ "$name" = ops.cpp.o ] && { echo "ops.cpp:3:1: error: no such thing" >&2; exit 1; };;
esac
echo built > "$out"
`;

export class FakeTools implements Disposable {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), "keepwarm-setup-")));
  readonly cacheFolder = join(this.folder, "cache");
  readonly environment: Environment;

  constructor(present: readonly ("python3" | "cargo" | "g++")[] = ["python3", "cargo", "g++"]) {
    const bin = join(this.folder, "bin");
    mkdirSync(bin);
    const scripts = { python3: python, cargo, "g++": compiler };
    for (const name of present) {
      writeFileSync(join(bin, name), scripts[name]);
      chmodSync(join(bin, name), 0o755);
    }
    // Their own tools lie in /bin; a real compiler or Python there must not stand in for a missing one.
    const plain = join(this.folder, "plain");
    mkdirSync(plain);
    for (const name of ["basename", "cat", "cp", "dirname", "head", "mkdir"]) {
      const script = `#!/bin/sh\nexec ${Bun.which(name)} "$@"\n`;
      writeFileSync(join(plain, name), script);
      chmodSync(join(plain, name), 0o755);
    }
    this.environment = { PATH: `${bin}:${plain}`, REAL_PYTHON: realPython() };
    for (const pipe of ["arrived", "go"]) Bun.spawnSync(["mkfifo", join(this.folder, pipe)]);
  }

  set(tool: "pip" | "cargo" | "unzip" | "c++", mood: Mood): void {
    writeFileSync(join(this.folder, tool), `${mood}\n`);
  }

  /** One line a call, in order. */
  get calls(): string[] {
    const file = join(this.folder, "calls");
    return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
  }

  forgetCalls(): void {
    rmSync(join(this.folder, "calls"), { force: true });
  }

  /** Resolves when a tool hangs; returns its process id. */
  async arrived(): Promise<number> {
    return Number(await readFile(join(this.folder, "arrived"), "utf8"));
  }

  async letGo(): Promise<void> {
    await writeFile(join(this.folder, "go"), "");
  }

  /** A wheel with one file, which pip will find under this name. */
  wheel(distribution: string, file: string): Wheel {
    const content = join(this.folder, "content", distribution);
    mkdirSync(join(content, file, ".."), { recursive: true });
    writeFileSync(join(content, file), `${distribution} `.repeat(100));
    const path = join(this.folder, `${distribution}.whl`);
    const top = join(content, file.split("/")[0] ?? file);
    const { success } = Bun.spawnSync([this.environment["REAL_PYTHON"] ?? "", "-m", "zipfile", "-c", path, top]);
    if (!success) throw new Error("python3 is needed to make a test wheel");
    const bytes = readFileSync(path);
    return {
      distribution,
      version: "1.0",
      platformTag: null,
      bytes: bytes.length,
      sha256: new Bun.CryptoHasher("sha256").update(bytes).digest("hex"),
      unpackedBytes: bytes.length,
      opens: [file],
    };
  }

  readonly crate: Crate = {
    name: "sources",
    version: "1.0.0",
    bytes: 100,
    sha256: "abcd",
    unpackedBytes: 1000,
    sourceFolder: "c",
  };

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
