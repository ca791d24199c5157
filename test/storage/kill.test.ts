import { expect, test } from "bun:test";
import { join } from "node:path";
import { bundleWorker } from "../../src-bun/setup/bundle-workers.ts";
import { killGroups, killPrompt, restoreInto, StoreBench, workerEntry } from "./plain-tensors.ts";

const rounds = 20;

/** Runs the child for a while and kills it. Returns the prompts that it said were durable. */
const killedRun = async (folder: string, worker: string, from: number, lifeMs: number): Promise<number[]> => {
  const entry = join(import.meta.dir, "kill-child.ts");
  const child = Bun.spawn([process.execPath, "run", entry, folder, worker, String(from)], { stdout: "pipe" });
  const reader = child.stdout.getReader();
  const decoder = new TextDecoder();
  let output = "";
  // The first word comes after start-up, however long that takes here.
  const { value } = await reader.read();
  output += decoder.decode(value);
  const timer = setTimeout(() => child.kill("SIGKILL"), lifeMs);
  for (;;) {
    const { done, value: more } = await reader.read();
    if (done) break;
    output += decoder.decode(more);
  }
  await child.exited;
  clearTimeout(timer);
  const lines = output.split("\n").slice(0, -1);
  expect(lines).not.toContain("failed");
  return lines.map(Number);
};

test("every save that was acknowledged before a kill is there and right", async () => {
  await using bench = await StoreBench.start();
  const worker = `${bench.folder}.worker.js`;
  await Bun.write(worker, await bundleWorker(workerEntry));
  const acknowledged: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const durable = await killedRun(bench.folder, worker, round * 10_000, 20 + ((round * 37) % 180));
    acknowledged.push(...durable);
    const store = await bench.open();
    for (const seed of durable) {
      const tokens = killPrompt(seed);
      expect(store.hasDurablePrefix(tokens, "model")).toBe(true);
      const { outcome, isRight } = await restoreInto(store, tokens, tokens.length, { groups: killGroups });
      expect({ seed, outcome: outcome.kind, isRight }).toEqual({ seed, outcome: "hit", isRight: true });
    }
    await store.close();
  }
  const store = await bench.open();
  for (const seed of acknowledged) expect(store.hasDurablePrefix(killPrompt(seed), "model")).toBe(true);
  console.log(`${rounds} kills, ${acknowledged.length} acknowledged saves, 0 lost; ${bench.log.length} torn ends cut`);
  await Bun.file(worker).delete();
}, 60_000);
