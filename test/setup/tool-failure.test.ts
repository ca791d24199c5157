import { describe, expect, test } from "bun:test";
import { reasonOf, toolFailure } from "../../src-bun/setup/tool-failure.ts";

const failure = (output: string) =>
  toolFailure("c++", output, { code: "setup-failed", what: "Compiling failed", advice: "Do this." });

describe("the reason of a failure", () => {
  test("is the line about the network where there is one, else the last", () => {
    const lines = "Collecting x\nWARNING: Read timed out. (read timeout=30)\nERROR: No matching distribution for x\n";
    expect(reasonOf(lines)).toBe("Read timed out. (read timeout=30)");
    const wrapped =
      "WARNING: Retrying (Retry(total=0, connect=None)) after connection broken by 'NewConnectionError('<pip.Thing object at 0x7f69>: [Errno 111] Connection refused')'";
    expect(reasonOf(wrapped)).toBe("connection broken by 'NewConnectionError('[Errno 111] Connection refused')'");
    expect(reasonOf("one\n\n  two \r\n")).toBe("two");
    expect(reasonOf("")).toBe("it printed nothing");
  });

  test("has no colours and a bounded length", () => {
    expect(reasonOf("\u001b[31;1merror:\u001b[0m no")).toBe("error: no");
    expect(reasonOf("x".repeat(10_000)).length).toBe(300);
  });

  test("keeps a full disk, a missing pip and Apple's stand-in apart from the rest", () => {
    expect(failure("fatal error: error writing to /x: No space left on device").code).toBe("no-space");
    expect(failure("error: failed to write (os error 28)").code).toBe("no-space");
    expect(failure("No module named pip").message).toContain("pip is needed");
    expect(failure("xcode-select: note: No developer tools were found, requesting install.").code).toBe("missing-tool");
    expect(failure("something else").message).toBe('Compiling failed: "something else". Do this.');
  });
});
