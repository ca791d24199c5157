import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { commonPrefix } from "../../src-bun/base/common-prefix.ts";
import { ChatTemplate } from "../../src-bun/model/chat-template.ts";
import { acquireFileLock } from "../../src-bun/platform/file-lock.ts";
import { templateThread, textOf } from "../support/template-worker.ts";
import { TemporaryFolder } from "../support/temporary-folder.ts";
import { testSetup } from "../support/test-setup.ts";
import { type AskAnswer, askJson, runKeepwarm } from "./ask-keepwarm.ts";
import { KeepwarmProcess } from "./keepwarm-process.ts";
import { RunningApp } from "./running-app.ts";

const CAPITAL = "What is the capital of France?";

let template: ChatTemplate;
let folder: TemporaryFolder;
let home: string;

beforeAll(async () => {
  const text = textOf((await testSetup()).starterModel);
  template = new ChatTemplate(text, await templateThread());
  folder = new TemporaryFolder();
  home = folder.path;
});

afterAll(() => folder[Symbol.dispose]());

const idsOf = (system: string, question: string): Promise<Uint32Array> =>
  template.encode(
    {
      messages: [
        { role: "system", content: system },
        { role: "user", content: question },
      ],
    },
    new AbortController().signal,
  );

test("ask answers as one JSON object with the documented figures", async () => {
  const { code, out, err } = await runKeepwarm(["ask", "--temperature", "0", "--json", CAPITAL], { home });
  expect({ code, err }).toEqual({ code: 0, err: "" });
  const answer: AskAnswer = JSON.parse(out);
  expect(Object.keys(answer)).toEqual([
    "text",
    "model",
    "promptTokens",
    "cachedTokens",
    "ttftMs",
    "prefillTokensPerSecond",
    "decodeTokensPerSecond",
    "finishReason",
  ]);
  expect(answer.text).toContain("Paris");
  expect(answer.cachedTokens).toEqual({ ram: 0, ssd: 0 });
  expect(answer.finishReason).toBe("stop");
  expect(answer.ttftMs).toBeGreaterThan(0);
});

test("without --json the answer is the whole of standard output, and the figures stand beside it", async () => {
  const { code, out, err } = await runKeepwarm(["ask", "--max-tokens", "3", CAPITAL], { home });
  expect({ code, out }).toEqual({ code: 0, out: "The capital of\n" });
  expect(err).toMatch(/^\d+ of \d+ prompt tokens were warm · first token after \d+\.\d\d s/);
});

describe("processes one after the other, with the same system prompt of about 1,500 tokens", () => {
  const system = Array.from({ length: 125 }, (_, index) => `Shelf ${index} holds the jar of plums.`).join("\n");
  const [firstQuestion, otherQuestion] = ["Which shelf is the first?", "What is in the jars?"];
  let options: string[];
  let first: AskAnswer;

  beforeAll(async () => {
    const file = join(home, "system.txt");
    await Bun.write(file, system);
    options = ["--system", `@${file}`];
    first = await askJson([...options, firstQuestion], { home });
  });

  test("the first computes all of it", async () => {
    const ids = await idsOf(system, firstQuestion);
    expect(ids.length).toBeGreaterThan(1450);
    expect(first.promptTokens).toBe(ids.length);
    expect(first.cachedTokens.ram).toBe(0);
  });

  test("another question finds the whole common prefix on the SSD", async () => {
    const common = commonPrefix(await idsOf(system, firstQuestion), await idsOf(system, otherQuestion));
    const answer = await askJson([...options, otherQuestion], { home });
    expect(answer.cachedTokens).toEqual({ ram: 0, ssd: common });
    expect(common).toBeGreaterThan(1400);
  });

  test("the same question finds all but its last token, and answers the same", async () => {
    const answer = await askJson([...options, firstQuestion], { home });
    expect(answer.cachedTokens).toEqual({ ram: 0, ssd: first.promptTokens - 1 });
    expect(answer.text).toBe(first.text);
  });
});

test("a question asked of a running app is answered from its RAM", async () => {
  const question = "What is the colour of snow?";
  await using _app = await RunningApp.start({ home });
  const first = await askJson([question], { home });
  const again = await askJson([question], { home });
  expect(again.cachedTokens).toEqual({ ram: first.promptTokens - 1, ssd: 0 });
  expect(again.text).toBe(first.text);
  const fromInput = await askJson([], { home, input: question });
  expect(fromInput).toMatchObject({ text: first.text, cachedTokens: again.cachedTokens });
});

test("an interrupted answer keeps its text, and its prompt is warm the next time", async () => {
  const question = "Write a long story about the sea.";
  await using asking = new KeepwarmProcess(["ask", question], { home });
  await asking.says(/\w+ \w+ \w+/);
  asking.kill("SIGINT");
  expect(await asking.exit()).toBe(130);
  const partial = asking.out.trimEnd();
  const again = await askJson([question], { home });
  expect(again.cachedTokens).toEqual({ ram: 0, ssd: again.promptTokens - 1 });
  const shared = Math.min(partial.length, again.text.length);
  expect(shared).toBeGreaterThan(0);
  expect(partial.slice(0, shared)).toBe(again.text.slice(0, shared));
});

test("a missing question is said in words", async () => {
  const { code, out, err } = await runKeepwarm(["ask"], { home });
  expect({ code, out }).toEqual({ code: 1, out: "" });
  expect(err).toBe("There is no question. Give it as the last argument or on standard input.\n");
});

test("an option that does not exist is named, and ends with 2", async () => {
  const { code, err } = await runKeepwarm(["ask", "--loud", CAPITAL], { home });
  expect(code).toBe(2);
  expect(err).toContain("--loud");
  expect(err).toContain("help");
});

test("a folder that another process owns is not touched", async () => {
  using own = new TemporaryFolder();
  const lock = acquireFileLock(join(own.path, "lock"));
  if (lock === "busy") throw new Error("nobody else can know the folder");
  using _held = lock;
  const { code, out, err } = await runKeepwarm(["ask", CAPITAL], { home: own.path });
  expect({ code, out }).toEqual({ code: 1, out: "" });
  expect(err).toContain(`Another Keepwarm is using ${own.path}`);
});
