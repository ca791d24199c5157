import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { MlxLibrary } from "../../src-bun/mlx/library.ts";
import { MlxOps } from "../../src-bun/mlx/ops.ts";
import { MlxRuntime } from "../../src-bun/mlx/runtime.ts";
import { TemporaryFolder } from "../support/temporary-folder.ts";
import { testSetup } from "../support/test-setup.ts";

let runtime: MlxRuntime;
let ops: MlxOps;

beforeAll(async () => {
  runtime = new MlxRuntime((await testSetup()).mlxLibrary);
  ops = new MlxOps(runtime);
});

afterAll(() => runtime[Symbol.dispose]());

const square = () => runtime.arrayFrom(Float32Array.of(1, 2, 3, 4), [2, 2]);

describe("calls", () => {
  test("a product is computed, its shape and strides told", () => {
    using _scope = runtime.scope();
    const product = ops.matmul(square(), square());
    runtime.evaluate([product]);
    expect([...product.toFloat32Array()]).toEqual([7, 10, 15, 22]);
    expect(product.shape).toEqual([2, 2]);
    expect(product.strides).toEqual([2, 1]);
    expect(product.dtype).toBe("float32");
  });

  test("a failing call throws with its name and MLX's words, without a path of the build", () => {
    using _scope = runtime.scope();
    const wrong = (): unknown => ops.matmul(square(), ops.zeros([3, 3], "float32"));
    expect(wrong).toThrow(/^mlx_matmul: .*shape \(2,2\)/);
    expect(wrong).not.toThrow(/\.cpp/);
  });

  test("one row times a matrix is right, whichever way the matrix lies", () => {
    using _scope = runtime.scope();
    const row = runtime.arrayFrom(Float32Array.of(1, 2, 3), [1, 3]);
    const rows = runtime.arrayFrom(Float32Array.of(1, 2, 3, 4, 5, 6), [3, 2]);
    const columns = ops.transpose(runtime.arrayFrom(Float32Array.of(1, 3, 5, 2, 4, 6), [2, 3]), [1, 0]);
    const products = [ops.matmul(row, rows), ops.matmul(row, columns)];
    runtime.evaluate(products);
    for (const product of products) expect([...product.toFloat32Array()]).toEqual([22, 28]);
  });

  test("arrays are written where they say that they lie", () => {
    using _scope = runtime.scope();
    const updated = ops.sliceUpdate(
      ops.zeros([1, 4], "float32"),
      runtime.arrayFrom(Float32Array.of(5), [1, 1]),
      [0, 2],
      [1, 3],
    );
    runtime.evaluate([updated]);
    expect([...updated.toFloat32Array()]).toEqual([0, 0, 5, 0]);
    expect(Number(updated.pointer)).toBeGreaterThan(0);
    expect(updated.byteLength).toBe(16);
  });
});

describe("ownership", () => {
  test("a scope frees what was made in it, but for what was kept", () => {
    const before = runtime.library.liveHandles;
    const kept = (() => {
      using scope = runtime.scope();
      const sum = ops.add(square(), square());
      return scope.keep(sum);
    })();
    expect(runtime.library.liveHandles).toBe(before + 1);
    runtime.evaluate([kept]);
    expect([...kept.toFloat32Array()]).toEqual([2, 4, 6, 8]);
    kept[Symbol.dispose]();
    kept[Symbol.dispose]();
    expect(runtime.library.liveHandles).toBe(before);
    expect(() => kept.handle).toThrow("disposed");
  });

  test("scopes nest: the inner one frees its own first", () => {
    const before = runtime.library.liveHandles;
    {
      using _outer = runtime.scope();
      square();
      {
        using _inner = runtime.scope();
        square();
        expect(runtime.library.liveHandles).toBe(before + 2);
      }
      expect(runtime.library.liveHandles).toBe(before + 1);
    }
    expect(runtime.library.liveHandles).toBe(before);
  });

  test("an array that was forgotten is freed by the net", async () => {
    const before = runtime.library.liveHandles;
    (() => {
      for (let count = 0; count < 50; count++) square();
    })();
    expect(runtime.library.liveHandles).toBe(before + 50);
    for (let round = 0; round < 50 && runtime.library.liveHandles > before + 5; round++) {
      Bun.gc(true);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(runtime.library.liveHandles).toBeLessThan(before + 50);
  });

  test("memory counters rise with what is held and fall when it goes", () => {
    const before = runtime.memory().activeBytes;
    const large = ops.zeros([1024, 1024], "float32");
    runtime.evaluate([large]);
    expect(runtime.memory().activeBytes - before).toBeGreaterThanOrEqual(4 * 2 ** 20);
    large[Symbol.dispose]();
    expect(runtime.memory().activeBytes - before).toBeLessThan(2 ** 20);
  });
});

describe("opening", () => {
  test("what is no library is said in words with what to do", async () => {
    using folder = new TemporaryFolder();
    const path = join(folder.path, "libmlxc.so");
    await Bun.write(path, "not a library");
    expect(() => new MlxLibrary(path)).toThrow(/could not be opened .*keepwarm -- setup/);
    expect(() => new MlxLibrary(join(folder.path, "absent.so"))).toThrow(/could not be opened/);
  });

  test.skipIf(process.platform !== "linux")("importing the binding opens nothing, as /proc tells", () => {
    const program = `const before = require("node:fs").readFileSync("/proc/self/maps", "utf8");
      await import(${JSON.stringify(join(import.meta.dir, "../../src-bun/engine/engine-core.ts"))});
      const after = require("node:fs").readFileSync("/proc/self/maps", "utf8");
      console.log(before.includes("libmlx") || after.includes("libmlx"));`;
    const child = Bun.spawnSync([process.execPath, "-e", program]);
    expect(child.stdout.toString().trim()).toBe("false");
  });
});
