// Loads a model's weights and reports what that took at most. Usage: load-peak-child.ts MODEL MLX keep|dense
import { readFileSync } from "node:fs";
import { MlxOps } from "../../src-bun/mlx/ops.ts";
import { MlxRuntime } from "../../src-bun/mlx/runtime.ts";
import { loadLlamaWeights, weightBytes } from "../../src-bun/model/llama-weights.ts";
import { openLlama } from "../../src-bun/model/open-llama.ts";

const [model, mlx, how] = process.argv.slice(2);

const statusBytes = (field: "VmRSS" | "VmHWM"): number =>
  1024 * Number(new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync("/proc/self/status", "utf8"))?.[1]);

const runtime = new MlxRuntime(mlx ?? "");
const opened = openLlama(model ?? "");
Bun.gc(true);
runtime.resetPeakMemory();
const before = statusBytes("VmRSS");
const weights = loadLlamaWeights(runtime, new MlxOps(runtime), opened, how === "keep");
const heldBytes = weightBytes(weights);
console.log(
  JSON.stringify({
    heldBytes,
    mlxActive: runtime.memory().activeBytes / heldBytes,
    mlxPeak: runtime.memory().peakBytes / heldBytes,
    rssPeak: (statusBytes("VmHWM") - before) / heldBytes,
  }),
);
