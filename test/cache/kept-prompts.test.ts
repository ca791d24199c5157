// Prefix tree, tips and budget against a scan of everything that is alive.
import { expect, test } from "bun:test";
import { Random } from "../support/random.ts";
import { isSizeRelease } from "../support/size.ts";
import { KeptPromptsModel } from "./kept-prompts-model.ts";

const SEQUENCES = isSizeRelease ? 5000 : 500;
const STEPS = 100;
const BUDGET_MS = isSizeRelease ? 400_000 : 30_000;

const play = async (seed: number): Promise<void> => {
  const model = new KeptPromptsModel(new Random(seed));
  for (let step = 0; step < STEPS; step++) {
    try {
      await model.step();
    } catch (thrown) {
      throw new Error(`sequence ${seed}, step ${step}: ${thrown instanceof Error ? thrown.message : thrown}`, {
        cause: thrown,
      });
    }
  }
  model.finish();
};

test(
  "R1 R2 R6 R9 R22 R23 random requests get what a scan of all that is kept finds, within the budget",
  async () => {
    const first = crypto.getRandomValues(new Uint32Array(1))[0] ?? 0;
    console.log(`kept prompts: ${SEQUENCES} sequences of ${STEPS} steps from seed ${first}`);
    for (let sequence = 0; sequence < SEQUENCES; sequence++) await play((first + sequence) >>> 0);
    expect(SEQUENCES).toBeGreaterThan(0);
  },
  BUDGET_MS,
);
