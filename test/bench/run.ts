// `npm run bench -- NAME… [--json]`: prints figures beside their goals; exits 1 when one falls short.
import { cpus } from "node:os";
import { MLX_VERSION } from "../../src-bun/mlx/library.ts";
import { dedupeBench } from "./dedupe-bench.ts";
import { engineBench } from "./engine-bench.ts";
import type { BenchResult, Figure } from "./figure.ts";
import { loopBench } from "./loop-bench.ts";
import { memoryBench } from "./memory-bench.ts";
import { warmBench } from "./warm-bench.ts";

type Bench = { readonly needsPeer: boolean; readonly run: () => Promise<BenchResult> };

const benches: Readonly<Record<string, Bench>> = {
  engine: { needsPeer: true, run: engineBench },
  dedupe: { needsPeer: false, run: dedupeBench },
  memory: { needsPeer: false, run: memoryBench },
  loop: { needsPeer: false, run: loopBench },
  warm: { needsPeer: false, run: warmBench },
};

const number = (value: number): string => (Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3));

const lineOf = ({ id, value, unit, goal, holds, runs, spread, note }: Figure): string => {
  const shown = value === null ? "void" : number(value);
  const range = runs === 0 ? "" : `  ${runs} runs, ${number(spread[0])} to ${number(spread[1])}`;
  return `${holds ? "holds" : "SHORT"}  ${id.padEnd(26)} ${shown.padStart(8)} ${unit.padEnd(6)} ${goal.padEnd(9)}${range}${note ? `  ${note}` : ""}`;
};

const names = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const isJson = process.argv.includes("--json");
const chosen = names.includes("all") ? Object.keys(benches).filter((name) => !benches[name]?.needsPeer) : names;
const unknown = chosen.filter((name) => !(name in benches));
if (chosen.length === 0 || unknown.length > 0) {
  console.error(`Benches: ${Object.keys(benches).join(", ")}, or "all" for those that need no peer.`);
  process.exit(2);
}

let doesAllHold = true;
for (const name of chosen) {
  const result = await benches[name]?.run();
  if (result === undefined) continue;
  const context = {
    cpu: cpus()[0]?.model ?? "unknown",
    cores: cpus().length,
    runtime: `Bun ${Bun.version}`,
    mlx: MLX_VERSION,
    ...result.context,
  };
  doesAllHold &&= result.figures.every(({ holds }) => holds);
  if (isJson) console.log(JSON.stringify({ bench: name, figures: result.figures, context }));
  else {
    console.log(
      `${name}: ${Object.entries(context)
        .map(([key, value]) => `${key} ${JSON.stringify(value)}`)
        .join(", ")}`,
    );
    for (const one of result.figures) console.log(lineOf(one));
  }
}
process.exit(doesAllHold ? 0 : 1);
