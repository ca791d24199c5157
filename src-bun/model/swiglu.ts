import type { MlxArray } from "../mlx/array.ts";
import type { MlxOps } from "../mlx/ops.ts";
import { CACHED_ELEMENTS, Exp2, WORTHWHILE_ELEMENTS } from "./exp2.ts";

const elementsOf = (array: MlxArray): number => array.shape.reduce((product, length) => product * length, 1);

/** gate · sigmoid(gate) · up (Shazeer 2020), by MLX's own sigmoid. */
export const plainSwiglu = (ops: MlxOps, gate: MlxArray, up: MlxArray): MlxArray => ops.multiply(ops.silu(gate), up);

/** The same of float32 by Exp2, in runs of elements that stay in the cache. */
export const vectorSwiglu = (ops: MlxOps, gate: MlxArray, up: MlxArray): MlxArray => {
  const count = elementsOf(gate);
  if (count < WORTHWHILE_ELEMENTS) return plainSwiglu(ops, gate, up);
  const exp2 = new Exp2(ops);
  const [one, largest, minusLog2e] = [ops.scalar(1), ops.scalar(126), ops.scalar(-Math.LOG2E)];
  const run = (g: MlxArray, u: MlxArray): MlxArray => {
    const power = exp2.apply(ops.minimum(ops.multiply(g, minusLog2e), largest));
    return ops.divide(ops.multiply(g, u), ops.add(power, one));
  };
  const [flatGate, flatUp] = [ops.reshape(gate, [count]), ops.reshape(up, [count])];
  const runs: MlxArray[] = [];
  for (let at = 0; at < count; at += CACHED_ELEMENTS) {
    const end = Math.min(count, at + CACHED_ELEMENTS);
    runs.push(run(ops.slice(flatGate, [at], [end]), ops.slice(flatUp, [at], [end])));
  }
  return ops.reshape(ops.concatenate(runs, 0), gate.shape);
};
