// Loads mutants one after another and reports what became of them. Usage: mutants-child.ts KIND SEED COUNT FOLDER MLX
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { KeepwarmError } from "../../src-bun/base/errors.ts";
import { MlxRuntime } from "../../src-bun/mlx/runtime.ts";
import { openLlama } from "../../src-bun/model/open-llama.ts";
import type { StoredTensor } from "../../src-bun/model/stored-tensor.ts";
import { continueGreedily } from "../support/open-tiny.ts";
import { Random } from "../support/random.ts";
import { writeGgufMutant } from "./gguf-mutants.ts";
import { ggufRanges, holdInside, type Range, safetensorsRanges } from "./independent-ranges.ts";
import { writeSafetensorsMutant } from "./safetensors-mutants.ts";

const [kind, seed, count, folder, mlx] = process.argv.slice(2);
const path = join(folder ?? "", "mutant");
const runtime = new MlxRuntime(mlx ?? "");
const told = { refused: 0, accepted: 0, slowestMs: 0, peakMiB: 0, faults: [] as string[] };

/** The product's ranges and those worked out apart must be the same, and inside. */
const holdRanges = async (tensors: readonly StoredTensor[]): Promise<void> => {
  for (const file of new Set(tensors.map((tensor) => tensor.file.path))) {
    const ranges = kind === "gguf" ? await ggufRanges(file) : safetensorsRanges(file);
    holdInside(file, ranges);
    for (const { name, start, bytes } of tensors.filter((tensor) => tensor.file.path === file)) {
      const own: Range | undefined = ranges.get(name);
      if (own?.start !== BigInt(start) || own.end !== BigInt(start + bytes)) throw new Error(`${name} lies elsewhere`);
    }
  }
};

const tryOut = async (mutant: string): Promise<"refused" | "accepted"> => {
  let tensors: readonly StoredTensor[] = [];
  const handles = runtime.library.liveHandles;
  try {
    const opened = openLlama(mutant);
    tensors = [...opened.source.tensors.values()];
    opened.source[Symbol.dispose]();
    continueGreedily(runtime, mutant, [1, 2, 3], { steps: 2, keepsQuantized: false });
    continueGreedily(runtime, mutant, [1, 2, 3], { steps: 2, keepsQuantized: true });
  } catch (thrown) {
    const isRefusal = thrown instanceof KeepwarmError && ["damaged-file", "unsupported-model"].includes(thrown.code);
    if (!isRefusal) throw thrown;
    if (!thrown.message.includes(mutant)) throw new Error(`no file is named: ${thrown.message}`);
    if (runtime.library.liveHandles !== handles) throw new Error("a refusal left arrays behind");
    return "refused";
  }
  await holdRanges(tensors);
  return "accepted";
};

const random = new Random(Number(seed));
for (let number = 0; number < Number(count); number++) {
  const mutant = kind === "gguf" ? writeGgufMutant(random, path) : writeSafetensorsMutant(random, path);
  // What a crash or a hang leaves behind.
  writeFileSync(join(folder ?? "", "last"), `mutant ${number}: ${mutant.what}`);
  const start = performance.now();
  try {
    told[await tryOut(mutant.path)]++;
  } catch (thrown) {
    told.faults.push(`mutant ${number}: ${mutant.what}: ${thrown instanceof Error ? thrown.stack : thrown}`);
  }
  told.slowestMs = Math.max(told.slowestMs, Math.round(performance.now() - start));
}
if (process.platform === "linux") {
  told.peakMiB = Math.round(Number(/VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? 0) / 1024);
}
runtime[Symbol.dispose]();
console.log(JSON.stringify(told));
