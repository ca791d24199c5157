import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isSizeRelease } from "../support/size.ts";
import { TemporaryFolder } from "../support/temporary-folder.ts";
import { testSetup } from "../support/test-setup.ts";

const COUNT = 500;
const ROUNDS = isSizeRelease ? 10 : 1;
const LIMIT_MS = COUNT * 400;
/** A Bun with MLX takes 150 MiB, and collects what it read only now and then. */
const LIMIT_MIB = 1_200;
const SLOWEST_MS = 10_000;

type Told = { refused: number; accepted: number; slowestMs: number; peakMiB: number; faults: string[] };

const rounds = ["safetensors", "gguf"].flatMap((kind) =>
  Array.from({ length: ROUNDS }, (_, round) => [kind, round + 1]),
);

test.each(rounds)("mutants of %s are refused with file and reason, or run (round %d)", async (kind) => {
  using folder = new TemporaryFolder();
  const { mlxLibrary } = await testSetup();
  const seed = crypto.getRandomValues(new Uint32Array(1))[0] ?? 0;
  const child = join(import.meta.dir, "mutants-child.ts");
  const { exitCode, stdout, stderr } = Bun.spawnSync(
    [process.execPath, child, String(kind), String(seed), String(COUNT), folder.path, mlxLibrary],
    { timeout: LIMIT_MS },
  );
  const last = join(folder.path, "last");
  const context = `seed ${seed}, ${existsSync(last) ? readFileSync(last, "utf8") : "no mutant"}: ${stderr.toString().slice(-2000)}`;
  expect(exitCode, context).toBe(0);
  const told = JSON.parse(stdout.toString()) as Told;
  console.log(`${kind}: seed ${seed}, ${told.refused} refused, ${told.accepted} accepted, peak ${told.peakMiB} MiB`);
  expect(told.faults, context).toEqual([]);
  expect(told.refused + told.accepted).toBe(COUNT);
  expect(told.refused).toBeGreaterThan(COUNT / 4);
  expect(told.accepted).toBeGreaterThan(COUNT / 20);
  expect(told.peakMiB).toBeLessThan(LIMIT_MIB);
  expect(told.slowestMs).toBeLessThan(SLOWEST_MS);
});
