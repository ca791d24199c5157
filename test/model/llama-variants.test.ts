import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { MlxRuntime } from "../../src-bun/mlx/runtime.ts";
import golden from "../golden/tiny-llama.json";
import { continueGreedily } from "../support/open-tiny.ts";
import { TemporaryFolder } from "../support/temporary-folder.ts";
import { testSetup } from "../support/test-setup.ts";
import { type TinyLlama, tinyTensors, writeTinyFolder } from "../support/tiny-llama.ts";

const STEPS = 64;
let runtime: MlxRuntime;

beforeAll(async () => {
  runtime = new MlxRuntime((await testSetup()).mlxLibrary);
});

afterAll(() => runtime[Symbol.dispose]());

const differenceOf = (ours: Float32Array | undefined, theirs: readonly number[]): number => {
  expect(ours?.length).toBe(theirs.length);
  return theirs.reduce((most, value, index) => Math.max(most, Math.abs(value - (ours?.[index] ?? Number.NaN))), 0);
};

for (const variant of golden.variants) {
  const tiny = variant as unknown as TinyLlama;
  const isQuantized = tiny.config.quantization !== undefined;

  describe(`a tiny Llama, ${variant.name}`, () => {
    test("has the weights that mlx-lm was given", () => {
      const whole = new Bun.CryptoHasher("sha256");
      for (const { name, bytes } of tinyTensors(tiny)) whole.update(name).update(bytes);
      expect(whole.digest("hex")).toBe(variant.sha256);
    });

    test.each(isQuantized ? [false, true] : [false])(
      "answers as mlx-lm does (kept quantised: %p)",
      (keepsQuantized) => {
        using folder = new TemporaryFolder();
        const path = join(folder.path, "model");
        writeTinyFolder(path, tiny, variant.seed % 2 === 0 ? 3 : 1);
        const before = runtime.library.liveHandles;
        const { ids, logits } = continueGreedily(runtime, path, variant.promptIds, { steps: STEPS, keepsQuantized });
        expect(runtime.library.liveHandles).toBe(before);
        expect(ids).toEqual(variant.greedyIds);
        for (const [index, step] of golden.logitSteps.entries()) {
          const theirs = variant.logits[index] ?? [];
          const allowed = 1e-4 * (Math.max(...theirs) - Math.min(...theirs));
          const difference = differenceOf(logits[step], theirs);
          expect(difference).toBeLessThanOrEqual(allowed);
          // What mlx-lm itself differs by, in the element type of the file.
          if (isQuantized && variant.element !== "F32") expect(difference).toBeLessThanOrEqual(variant.ownDifference);
        }
      },
    );
  });
}
