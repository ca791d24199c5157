import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { TemporaryFolder } from "../support/temporary-folder.ts";
import { type Ended, runKeepwarm } from "./ask-keepwarm.ts";
import { letIn } from "./page-session.ts";
import { RunningApp } from "./running-app.ts";

let folder: TemporaryFolder;

beforeAll(() => {
  folder = new TemporaryFolder();
});

afterAll(() => folder[Symbol.dispose]());

const run = (...args: string[]): Promise<Ended> => runKeepwarm(args, { home: folder.path });

test("the doctor finds every part and opens MLX", async () => {
  const { code, out, err } = await run("doctor");
  expect({ code, err }).toEqual({ code: 0, err: "" });
  expect(out).toMatch(/ok +MLX opens/);
  expect(out).toMatch(/ok +Starter model/);
});

test("set-up has nothing to do a second time", async () => {
  expect(await run("setup")).toEqual({ code: 0, out: "Everything is set up.\n", err: "" });
});

test("a command that does not exist is named, and ends with 2", async () => {
  const { code, err } = await run("brew");
  expect(code).toBe(2);
  expect(err).toContain('There is no command "brew".');
});

test("a value that an option does not take is named, and ends with 2", async () => {
  const { code, err } = await run("serve", "--port", "loud");
  expect(code).toBe(2);
  expect(err).toContain('--port does not take "loud".');
});

test("open says that nothing runs", async () => {
  const { code, out, err } = await run("open");
  expect({ code, out }).toEqual({ code: 1, out: "" });
  expect(err).toContain("Keepwarm is not running");
});

describe("while the app runs", () => {
  let app: RunningApp;

  beforeAll(async () => {
    app = await RunningApp.open({ home: folder.path });
  });

  afterAll(() => app[Symbol.asyncDispose]());

  const cookieOf = (text: string): Promise<string> =>
    letIn({ url: app.url, link: /http:\/\/127\.0\.0\.1:\d+\/#code=\S+/.exec(text)?.[0] ?? "" });

  test("open prints a link that lets a browser in, once", async () => {
    const { code, out } = await run("open");
    expect(code).toBe(0);
    expect(await cookieOf(out)).toStartWith("keepwarm_");
    await expect(cookieOf(out)).rejects.toThrow("This link was used or is too old");
  });

  test("a second start points to the first", async () => {
    const { code, out } = await run("serve", "--port", "0");
    expect(code).toBe(0);
    expect(out).toStartWith("Keepwarm is already running.");
    expect(await cookieOf(out)).toStartWith("keepwarm_");
  });
});
