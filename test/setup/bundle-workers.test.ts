import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { bundleWorker } from "../../src-bun/setup/bundle-workers.ts";

test("a TypeScript worker with imports becomes one text that starts nested workers from text as well", async () => {
  const folder = mkdtempSync(join(tmpdir(), "keepwarm-bundle-"));
  await Bun.write(join(folder, "twice.ts"), "export const twice = (value: number): number => 2 * value;");
  await Bun.write(
    join(folder, "inner.ts"),
    `import { parentPort } from "node:worker_threads"; import { ptr } from "bun:ffi"; import { twice } from "./twice.ts";
     parentPort?.on("message", (value: number) => parentPort?.postMessage(twice(value) + (typeof ptr === "function" ? 1 : 0)));`,
  );
  await Bun.write(
    join(folder, "outer.ts"),
    `import { parentPort, Worker, workerData } from "node:worker_threads";
     const inner = new Worker(workerData.inner, { eval: true });
     inner.on("message", (value) => parentPort?.postMessage(value));
     parentPort?.on("message", (value: number) => inner.postMessage(value));`,
  );
  const [inner, outer] = await Promise.all([
    bundleWorker(join(folder, "inner.ts")),
    bundleWorker(join(folder, "outer.ts")),
  ]);
  rmSync(folder, { recursive: true });
  const worker = new Worker(outer, { eval: true, workerData: { inner } });
  const answer = new Promise((resolve, reject) => worker.once("message", resolve).once("error", reject));
  worker.postMessage(20);
  expect(await answer).toBe(41);
  await worker.terminate();
});

test("a worker that cannot be bundled is named", async () => {
  await expect(bundleWorker("/nonexistent/worker.ts")).rejects.toMatchObject({ code: "setup-failed" });
});
