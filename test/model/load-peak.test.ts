import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { TemporaryFolder } from "../support/temporary-folder.ts";
import { testSetup } from "../support/test-setup.ts";
import { type TinyConfig, writeTinyFolder } from "../support/tiny-llama.ts";

/** Of the bytes held after loading. */
const MOST = 1.1;
const MIB = 2 ** 20;

const measure = async (model: string, how: "dense" | "keep") => {
  const { mlxLibrary } = await testSetup();
  const child = join(import.meta.dir, "load-peak-child.ts");
  const { exitCode, stdout, stderr } = Bun.spawnSync([process.execPath, child, model, mlxLibrary, how]);
  expect(exitCode, stderr.toString()).toBe(0);
  const told = JSON.parse(stdout.toString()) as Record<"heldBytes" | "mlxActive" | "mlxPeak" | "rssPeak", number>;
  console.log(
    `${Math.round(told.heldBytes / MIB)} MiB held, peak ${told.mlxPeak.toFixed(3)} by MLX, ${told.rssPeak.toFixed(3)} by RSS`,
  );
  return told;
};

const hold = async (model: string, how: "dense" | "keep"): Promise<void> => {
  const { mlxActive, mlxPeak, rssPeak } = await measure(model, how);
  expect(mlxActive).toBeGreaterThan(0.999);
  expect(mlxPeak).toBeLessThanOrEqual(MOST);
  expect(rssPeak).toBeLessThanOrEqual(MOST);
};

const large: TinyConfig = {
  model_type: "llama",
  hidden_size: 1024,
  num_hidden_layers: 2,
  intermediate_size: 2816,
  num_attention_heads: 16,
  num_key_value_heads: 4,
  rms_norm_eps: 1e-5,
  vocab_size: 16_384,
  tie_word_embeddings: true,
};

// What a process took at most is read from /proc.
describe.skipIf(process.platform !== "linux")("loading takes at most a tenth more than is held afterwards", () => {
  test("the starter, blocks of 4 and 8 bits to float32", async () => {
    await hold((await testSetup()).starterModel, "dense");
  });

  test("a folder of float16 to float32", async () => {
    using folder = new TemporaryFolder();
    writeTinyFolder(folder.path, { seed: 5, element: "F16", config: large }, 2);
    await hold(folder.path, "dense");
  });
});
