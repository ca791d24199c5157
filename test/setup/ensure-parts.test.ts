import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { KeepwarmError } from "../../src-bun/base/errors.ts";
import type { SetupPart } from "../../src-bun/contract/app-state.ts";
import { ensureParts } from "../../src-bun/setup/ensure-parts.ts";
import { stateOf } from "../../src-bun/setup/part-stamp.ts";
import { type FakeInputs, fakeParts } from "./fake-parts.ts";
import { FakeTools } from "./fake-tools.ts";

let tools: FakeTools;
let inputs: FakeInputs;
let seen: SetupPart[][];

const use = (made: FakeTools): void => {
  tools = made;
  const [mlx, openBlas] = [tools.wheel("mlx", "mlx/lib/libmlx.so"), tools.wheel("blas", "blas/libopenblas.so")];
  inputs = { cacheFolder: tools.cacheFolder, environment: tools.environment, mlx, openBlas, crate: tools.crate };
  seen = [];
};
beforeEach(() => use(new FakeTools()));
afterEach(() => tools[Symbol.dispose]());

const ensure = (signal = new AbortController().signal): Promise<void> =>
  ensureParts(fakeParts(inputs), { ...inputs, signal, onProgress: (parts) => seen.push([...parts]) });

const states = (): string[] => fakeParts(inputs).map((part) => stateOf(inputs.cacheFolder, part).kind);

const faultOf = async (work: Promise<void>): Promise<KeepwarmError> => {
  try {
    await work;
  } catch (thrown) {
    if (thrown instanceof KeepwarmError) return thrown;
    throw thrown;
  }
  throw new Error("nothing was thrown");
};

const library = (): string => join(inputs.cacheFolder, "libmlxc-1.0.0-mlx-1.0/libmlxc.so");
const staged = (): string[] => readdirSync(join(inputs.cacheFolder, "staging"));

describe("from nothing", () => {
  test("every part is made in order, and the last report has all of them ready with their whole size", async () => {
    await ensure();
    expect(states()).toEqual(["ready", "ready", "ready", "ready"]);
    expect(tools.calls.map((call) => call.split(" ")[0])).toEqual(
      "pip unzip pip unzip cargo c++ c++ c++ c++ c++".split(" "),
    );
    const last = seen.at(-1) ?? [];
    expect(last.map(({ state }) => state)).toEqual(["ready", "ready", "ready", "ready"]);
    expect(last.every(({ doneBytes, totalBytes }) => totalBytes === null || doneBytes === totalBytes)).toBe(true);
    expect(staged()).toEqual([]);
  });

  test("the second start calls no program, writes nothing, reports nothing and takes less than 300 ms", async () => {
    await ensure();
    tools.forgetCalls();
    seen = [];
    const written = statSync(inputs.cacheFolder).mtimeMs;
    const start = performance.now();
    await ensure();
    expect(performance.now() - start).toBeLessThan(300);
    expect([tools.calls, seen]).toEqual([[], []]);
    expect(statSync(inputs.cacheFolder).mtimeMs).toBe(written);
  });

  test("a part whose file lost bytes is made again, and only that part", async () => {
    await ensure();
    tools.forgetCalls();
    truncateSync(join(inputs.cacheFolder, "blas-1.0/blas/libopenblas.so"), 3);
    await ensure();
    expect(tools.calls.map((call) => call.split(" ")[0])).toEqual(["pip", "unzip"]);
    expect(states()).toEqual(["ready", "ready", "ready", "ready"]);
  });
});

describe("what is missing", () => {
  const cases = [
    { present: ["cargo", "g++"], says: /python3 is needed .* "apt-get install python3 python3-pip" .* "xcode-select/ },
    { present: ["python3", "g++"], says: /cargo is needed .* rustup/ },
    { present: ["python3", "cargo"], says: /c\+\+ is needed .* "apt-get install g\+\+" .* "xcode-select --install"/ },
  ] as const;
  for (const { present, says } of cases) {
    test(`with only ${present.join(" and ")}, the message names the other and how to get it`, async () => {
      tools[Symbol.dispose]();
      use(new FakeTools(present));
      const fault = await faultOf(ensure());
      expect(fault.code).toBe("missing-tool");
      expect(fault.message).toMatch(says);
    });
  }

  test("a Python without pip is told apart from no network", async () => {
    tools.set("pip", "no-pip");
    const fault = await faultOf(ensure());
    expect(fault.code).toBe("missing-tool");
    expect(fault.message).toContain('"apt-get install python3-pip"');
  });
});

describe("what goes wrong on the way", () => {
  test("a download cut off half way names the part and pip's reason; the next start keeps what was done", async () => {
    tools.set("cargo", "cut");
    await faultOf(ensure());
    expect(states()).toEqual(["ready", "ready", "missing", "missing"]);
    tools.forgetCalls();
    const fault = await faultOf(ensure());
    expect(fault.code).toBe("download-failed");
    expect(fault.message).toMatch(/^mlx-c 1\.0\.0 sources: cargo could not fetch .*Could not resolve hostname/);
    expect(tools.calls).toEqual(["cargo vendor"]);
    tools.set("cargo", "good");
    await ensure();
    expect(states()).toEqual(["ready", "ready", "ready", "ready"]);
  });

  test("pip's closing line about a missing distribution does not hide that the network is gone", async () => {
    tools.set("pip", "cut");
    const fault = await faultOf(ensure());
    expect(fault.code).toBe("download-failed");
    expect(fault.message).toContain("name resolution");
    expect(seen.at(-1)?.[0]).toMatchObject({ state: "failed", detail: fault.message });
    expect(staged()).toEqual(["kept-mlx-".concat(inputs.mlx.sha256.slice(0, 16))]);
  });

  test("a full disk while downloading or unpacking is said to be one", async () => {
    for (const tool of ["pip", "unzip"] as const) {
      tools.set(tool, "full");
      const fault = await faultOf(ensure());
      expect([fault.code, fault.message]).toEqual(["no-space", expect.stringContaining("The disk is full")]);
      tools.set(tool, "good");
    }
    await ensure();
  });

  test("a disk too small is found before anything is fetched, with the figures", async () => {
    inputs = { ...inputs, mlx: { ...inputs.mlx, unpackedBytes: 1e18 } };
    const fault = await faultOf(ensure());
    expect(fault.code).toBe("no-space");
    expect(fault.message).toMatch(/1,000,000,000,\d{3} MB of free space are needed/);
    expect(tools.calls).toEqual([]);
  });

  test("a damaged download is refused and leaves nothing; the next start fetches it anew", async () => {
    tools.set("pip", "damaged");
    expect(await faultOf(ensure())).toMatchObject({ code: "damaged-file" });
    expect(states()[0]).toBe("missing");
    tools.set("pip", "good");
    tools.set("cargo", "damaged");
    expect(await faultOf(ensure())).toMatchObject({ code: "damaged-file" });
    tools.set("cargo", "good");
    await ensure();
  });

  test("a compiler's first error is quoted, and what was compiled is not compiled again", async () => {
    tools.set("c++", "broken");
    const fault = await faultOf(ensure());
    expect(fault.code).toBe("setup-failed");
    expect(fault.message).toContain('Compiling ops.cpp failed: "ops.cpp:3:1: error: no such thing"');
    const compiled = tools.calls.filter((call) => call.endsWith(".o"));
    tools.forgetCalls();
    tools.set("c++", "good");
    await ensure();
    const again = tools.calls.filter((call) => compiled.includes(call));
    expect(again).toEqual(["c++ ops.cpp.o"]);
    expect(existsSync(library())).toBe(true);
  });

  test("a cache folder that cannot be made is named", async () => {
    inputs = { ...inputs, cacheFolder: "/proc/keepwarm" };
    const fault = await faultOf(ensure());
    expect(fault.code).toBe("setup-failed");
    expect(fault.message).toContain("/proc/keepwarm");
  });
});

describe("interrupted", () => {
  for (const tool of ["pip", "unzip", "c++"] as const) {
    test(`cancelled while ${tool} works, it ends that program, and the next start completes`, async () => {
      tools.set(tool, "hang");
      const stop = new AbortController();
      const running = faultOf(ensure(stop.signal));
      await tools.arrived();
      stop.abort();
      expect((await running).code).toBe("cancelled");
      tools.set(tool, "good");
      await ensure();
      expect(states()).toEqual(["ready", "ready", "ready", "ready"]);
    });

    test(`killed while ${tool} works, the next start completes and tidies up`, async () => {
      tools.set(tool, "hang");
      const script = join(import.meta.dir, "fake-parts.ts");
      const victim = Bun.spawn([process.execPath, "run", script, JSON.stringify(inputs)], {
        stdio: ["ignore", "inherit", "inherit"],
      });
      const orphan = await tools.arrived();
      victim.kill("SIGKILL");
      await victim.exited;
      const before = tools.calls;
      tools.forgetCalls();
      tools.set(tool, "good");
      await ensure();
      process.kill(orphan, "SIGKILL");
      expect(states()).toEqual(["ready", "ready", "ready", "ready"]);
      expect(staged()).toEqual([]);
      const finished = before.slice(0, -1).filter((call) => call.startsWith("c++"));
      expect(tools.calls.filter((call) => finished.includes(call))).toEqual([]);
    });
  }

  test("of two at once one works; the other waits, shows the first one's progress, and ends with it", async () => {
    tools.set("pip", "hang");
    const first = ensure();
    await tools.arrived();
    tools.set("pip", "good");
    const shown = Promise.withResolvers<readonly SetupPart[]>();
    const signal = new AbortController().signal;
    const second = ensureParts(fakeParts(inputs), { ...inputs, signal, onProgress: shown.resolve });
    expect((await shown.promise)[0]).toMatchObject({ state: "working", detail: "Downloading (by another Keepwarm)" });
    await tools.letGo();
    await Promise.all([first, second]);
    expect(tools.calls.filter((call) => call.startsWith("pip"))).toHaveLength(2);
  });
});
