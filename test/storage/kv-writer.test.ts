import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundleWorker } from "../../src-bun/setup/bundle-workers.ts";
import type { WriteRequest } from "../../src-bun/storage/kv-jobs.ts";
import { KvWriter } from "../../src-bun/storage/kv-writer.ts";
import { workerEntry } from "./plain-tensors.ts";

const key = "ab".repeat(32);

class Folder implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), "keepwarm-writer-"));
  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true });
  }
}

const fileOnly = (path: string): WriteRequest => ({
  path,
  offset: 0,
  frames: [{ header: { kind: "file", namespace: "model", key }, tensors: [] }],
});

/** Workers written for a test: what a broken thread does, not what ours does. */
const onMessage = (body: string): string =>
  `import { parentPort } from "node:worker_threads"; parentPort.on("message", (job) => { ${body} });`;

test("jobs run in order, and the metrics are those of the last that succeeded", async () => {
  using folder = new Folder();
  await using writer = new KvWriter({ workerSource: await bundleWorker(workerEntry) });
  expect(writer.lastMetrics).toBeNull();
  const path = join(folder.path, "a.kv");
  const [first, again] = await Promise.allSettled([writer.write(fileOnly(path)), writer.write(fileOnly(path))]);
  expect(first).toMatchObject({ status: "fulfilled", value: { end: 4096 } });
  expect(again).toMatchObject({ status: "rejected", reason: { code: "io-failed" } });
  expect(statSync(path).size).toBe(4096);
  expect(writer.lastMetrics).toMatchObject({ copiedBytes: 0, reusedBytes: 0, scratchPeak: 0 });
  expect(writer.lastMetrics?.writtenBytes).toBeGreaterThan(100);
});

test("a job's own failure is its answer, and the worker goes on", async () => {
  using folder = new Folder();
  await using writer = new KvWriter({ workerSource: await bundleWorker(workerEntry) });
  const missing = writer.read({ path: join(folder.path, "none.kv"), offset: 0, key, destinations: [] });
  await expect(missing).rejects.toMatchObject({ code: "invalid-reference" });
  await writer.write(fileOnly(join(folder.path, "a.kv")));
});

test("a message that cannot be sent rejects that job only", async () => {
  using folder = new Folder();
  await using writer = new KvWriter({ workerSource: await bundleWorker(workerEntry) });
  const odd = { ...fileOnly(join(folder.path, "a.kv")), extra: () => 1 };
  const [bad, good] = await Promise.allSettled([writer.write(odd), writer.write(fileOnly(join(folder.path, "b.kv")))]);
  expect(bad.status).toBe("rejected");
  expect(good.status).toBe("fulfilled");
});

test("an exit in the middle of a job rejects all that is pending, and the next job starts a new worker", async () => {
  const source = onMessage('if (job.kind === "read") process.exit(3);');
  const writer = new KvWriter({ workerSource: source });
  const jobs = [1, 2, 3].map((offset) => writer.read({ path: "x", offset, key, destinations: [] }));
  for (const outcome of await Promise.allSettled(jobs)) {
    expect(outcome).toMatchObject({ status: "rejected", reason: { code: "worker-exited" } });
  }
  await expect(writer.read({ path: "x", offset: 1, key, destinations: [] })).rejects.toThrow(
    "persistence worker exited",
  );
});

test("an error alone settles nothing: the job waits for the exit", async () => {
  const source = onMessage(`setTimeout(() => process.exit(0), 150); throw new Error("torn");`);
  const writer = new KvWriter({ workerSource: source });
  const startedAt = performance.now();
  await expect(writer.read({ path: "x", offset: 1, key, destinations: [] })).rejects.toMatchObject({
    code: "worker-exited",
    message: "persistence worker exited: torn",
  });
  expect(performance.now() - startedAt).toBeLessThan(5_000);
});

test("a worker that fails at its start is tried three times a minute, no more", async () => {
  let now = 0;
  const writer = new KvWriter({ workerSource: 'throw new Error("no library");', now: () => now });
  const attempt = () => writer.read({ path: "x", offset: 1, key, destinations: [] });
  for (let start = 0; start < 3; start += 1) await expect(attempt()).rejects.toThrow("exited: no library");
  await expect(attempt()).rejects.toThrow("3 times within a minute");
  now = 60_000;
  await expect(attempt()).rejects.toThrow("exited: no library");
});

test("a closed writer refuses jobs and can be closed again", async () => {
  using folder = new Folder();
  const writer = new KvWriter({ workerSource: await bundleWorker(workerEntry) });
  const last = writer.write(fileOnly(join(folder.path, "a.kv")));
  await writer.close();
  await writer.close();
  expect((await last).end).toBe(4096);
  await expect(writer.write(fileOnly(join(folder.path, "b.kv")))).rejects.toMatchObject({ code: "worker-exited" });
});

test("a process ends by itself while the worker lives, but not before its job is done", async () => {
  using folder = new Folder();
  const source = await bundleWorker(workerEntry);
  const path = join(folder.path, "a.kv");
  const script = `
    import { KvWriter } from ${JSON.stringify(join(import.meta.dir, "../../src-bun/storage/kv-writer.ts"))};
    const writer = new KvWriter({ workerSource: await Bun.file(process.argv[2]).text() });
    writer.write(${JSON.stringify(fileOnly(path))}).then(() => console.log("durable"));
  `;
  const [entry, worker] = [join(folder.path, "child.ts"), join(folder.path, "worker.js")];
  await Promise.all([Bun.write(entry, script), Bun.write(worker, source)]);
  const child = Bun.spawn([process.execPath, "run", entry, worker], { stdout: "pipe", stderr: "inherit" });
  const timer = setTimeout(() => child.kill(), 10_000);
  expect(await new Response(child.stdout).text()).toBe("durable\n");
  expect(await child.exited).toBe(0);
  clearTimeout(timer);
});
