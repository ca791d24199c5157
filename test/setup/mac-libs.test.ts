// Holds the libraries that `npm run mac:libs` builds against what the app expects of them. Whether they load on a Mac
// cannot be seen here.
import { beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { mlxSymbols } from "../../src-bun/mlx/symbols.ts";
import { type MachO, readMachO } from "../support/mach-o.ts";

const folder = join(import.meta.dir, "../../build/mac/native");
const isBuilt = existsSync(join(folder, "libmlxc.dylib"));

describe.skipIf(!isBuilt)("the Mac's libraries, where npm run mac:libs has built them", () => {
  let mlxc: MachO;
  let mlx: MachO;

  beforeAll(() => {
    mlxc = readMachO(readFileSync(join(folder, "libmlxc.dylib")));
    mlx = readMachO(readFileSync(join(folder, "libmlx.dylib")));
  });

  test("the app's layout has all three files beside each other", () => {
    expect(readdirSync(folder).sort()).toEqual(["libmlx.dylib", "libmlxc.dylib", "mlx.metallib"]);
    expect(statSync(join(folder, "mlx.metallib")).size).toBeGreaterThan(100_000_000);
  });

  test("libmlxc exports every function of the symbol table", () => {
    const missing = Object.keys(mlxSymbols).filter((name) => !mlxc.exports.has(`_${name}`));
    expect(missing).toEqual([]);
    expect(Object.keys(mlxSymbols).length).toBeGreaterThan(30);
  });

  test("libmlxc is for Apple silicon and macOS 14, and carries a signature, without which none is loaded", () => {
    expect(mlxc).toMatchObject({ cpu: "arm64", minimumMacOs: "14.0", isSigned: true });
  });

  test("libmlxc looks for libmlx beside itself and needs nothing else but the system", () => {
    expect(mlxc.installName).toBe("@loader_path/libmlxc.dylib");
    expect(mlxc.runPaths).toEqual(["@loader_path"]);
    expect(mlxc.needs.filter((name) => !name.startsWith("/usr/lib/"))).toEqual(["@rpath/libmlx.dylib"]);
    expect(mlx.installName).toBe("@rpath/libmlx.dylib");
    expect(mlx.needs.filter((name) => !/^\/(usr\/lib|System\/Library)\//.test(name))).toEqual([]);
  });

  test("libmlx has every function of MLX's that libmlxc asks for", () => {
    const mlxNamespace = /^__ZN?K?[A-Z]*\d*3mlx4core/;
    const asked = [...mlxc.imports].filter((name) => mlxNamespace.test(name));
    expect(asked.filter((name) => !mlx.exports.has(name))).toEqual([]);
    expect(asked.length).toBeGreaterThan(100);
  });

  test("libmlxc asks for no symbol of a libc++ later than macOS 14's, and brings no libc++ of its own", () => {
    const late = /bad_function_call|bad_expected_access|__hash_memory/;
    expect([...mlxc.imports].filter((name) => late.test(name))).toEqual([]);
    expect(mlxc.imports).toContain("__ZNSt13runtime_errorC1EPKc");
  });
});
