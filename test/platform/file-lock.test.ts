import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { acquireFileLock } from "../../src-bun/platform/file-lock.ts";

const lockModule = join(import.meta.dir, "../../src-bun/platform/file-lock.ts");

test("a lock is held once, is given back, and can be given back twice", () => {
  const folder = mkdtempSync(join(tmpdir(), "keepwarm-lock-"));
  const path = join(folder, "lock");
  for (let round = 0; round < 20; round += 1) {
    const lock = acquireFileLock(path);
    if (lock === "busy") throw new Error("busy");
    const startedAt = performance.now();
    expect(acquireFileLock(path)).toBe("busy");
    expect(performance.now() - startedAt).toBeLessThan(100);
    lock[Symbol.dispose]();
    lock[Symbol.dispose]();
  }
  expect(statSync(path).mode & 0o777).toBe(0o600);
  rmSync(folder, { recursive: true });
});

test("another process's lock is seen, and is free once that process was killed", async () => {
  const folder = mkdtempSync(join(tmpdir(), "keepwarm-lock-"));
  const path = join(folder, "lock");
  const script = join(folder, "holder.ts");
  await Bun.write(
    script,
    `import { acquireFileLock } from ${JSON.stringify(lockModule)};
     const lock = acquireFileLock(${JSON.stringify(path)});
     console.log(lock === "busy" ? "busy" : "held");
     setInterval(() => lock, 1000);`,
  );
  const holder = Bun.spawn([process.execPath, "run", script], { stdout: "pipe" });
  const { value } = await holder.stdout.getReader().read();
  expect(new TextDecoder().decode(value)).toBe("held\n");
  expect(acquireFileLock(path)).toBe("busy");
  holder.kill("SIGKILL");
  await holder.exited;
  const lock = acquireFileLock(path);
  expect(lock).not.toBe("busy");
  if (lock !== "busy") lock[Symbol.dispose]();
  rmSync(folder, { recursive: true });
});

test("a folder that is not there is named", () => {
  expect(() => acquireFileLock("/nonexistent/lock")).toThrow("/nonexistent/lock could not be opened");
});
