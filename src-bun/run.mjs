// Finds the Bun that npm installed and runs it with the arguments given; works where npm skips install scripts.
import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { constants } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const platform = `${process.platform}-${process.arch === "arm64" ? "aarch64" : process.arch}`;

// A processor without AVX2 needs "baseline", a system without glibc "musl": the first that starts is the right one.
const bun = ["", "-baseline", "-musl", "-musl-baseline"]
  .map((variant) => join(root, "node_modules/@oven", `bun-${platform}${variant}`, "bin/bun"))
  .find((path) => existsSync(path) && spawnSync(path, ["--version"]).status === 0);

if (bun === undefined) {
  console.error(`Keepwarm needs Bun for ${platform}, which is not installed here. Run "npm ci" in ${root} first.`);
  process.exit(1);
}
const [, , ...args] = process.argv;
const child = spawn(bun, args[0] === "test" ? args : ["run", ...args], { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("exit", (code, signal) => process.exit(signal ? 128 + (constants.signals[signal] ?? 0) : (code ?? 1)));
