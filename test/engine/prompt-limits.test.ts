import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { KeepwarmError } from "../../src-bun/base/errors.ts";
import type { GenerateResult } from "../../src-bun/contract/engine.ts";
import { EngineCore } from "../../src-bun/engine/engine-core.ts";
import { ignoreNotices } from "../support/ignore-notices.ts";
import { templateWorker } from "../support/template-worker.ts";
import { TemporaryFolder } from "../support/temporary-folder.ts";
import { testSetup } from "../support/test-setup.ts";

const CONTEXT = 64;

let folder: TemporaryFolder;
let core: EngineCore;
let starter: string;

beforeAll(async () => {
  const setup = await testSetup();
  folder = new TemporaryFolder();
  starter = setup.starterModel;
  const options = {
    ...setup,
    cores: 2,
    cacheFolder: null,
    fingerprintFile: join(folder.path, "fingerprints.json"),
    storageWorker: "",
    templateWorker: await templateWorker(),
    ramBudgetBytes: 2 ** 28,
  };
  core = new EngineCore(options, ignoreNotices);
});

afterAll(async () => {
  await core.close(0);
  folder[Symbol.dispose]();
});

/** A copy of the starter with some bytes of its header changed. */
const changed = (name: string, change: (bytes: Buffer) => void): string => {
  const path = join(folder.path, name);
  const bytes = readFileSync(starter);
  change(bytes);
  writeFileSync(path, bytes);
  return path;
};

const shortContext = (bytes: Buffer): void => {
  // A key is followed by its type, 4 for an unsigned 32-bit number, and the value.
  const key = "llama.context_length";
  bytes.writeUInt32LE(CONTEXT, bytes.indexOf(key) + key.length + 4);
};

/** Puts `source` in front of the template and makes a comment of the rest. */
const withTemplate =
  (source: string) =>
  (bytes: Buffer): void => {
    const key = "tokenizer.chat_template";
    const lengthAt = bytes.indexOf(key) + key.length + 4;
    const length = Number(bytes.readBigUInt64LE(lengthAt));
    bytes.write(`${`${source}{#`.padEnd(length - 2)}#}`, lengthAt + 8);
  };

const ask = (content: string): Promise<GenerateResult> =>
  core.generate(
    { messages: [{ role: "user", content }], model: null, maxTokens: 2, sampling: { temperature: 0 } },
    () => undefined,
    new AbortController().signal,
  );

const failure = (content: string): Promise<string> =>
  ask(content).then(
    ({ text }) => `answered ${text}`,
    (thrown: unknown) => (thrown instanceof KeepwarmError ? `${thrown.code}: ${thrown.message}` : String(thrown)),
  );

describe("a prompt", () => {
  beforeAll(async () => {
    await core.load(changed("short.gguf", shortContext));
  });

  const words = (count: number): string => Array.from({ length: count }, () => "word").join(" ");

  test("that leaves one token of the context is answered with it; one longer is refused, and so is far longer", async () => {
    const { promptTokens } = await ask(words(2));
    const most = CONTEXT - 1 - promptTokens + 2;
    expect(await ask(words(most))).toMatchObject({
      promptTokens: CONTEXT - 1,
      completionTokens: 1,
      finishReason: "length",
    });
    expect(await failure(words(most + 1))).toStartWith(`context-exceeded: The prompt is ${CONTEXT} tokens long`);
    expect(await failure("word\n".repeat(200_000))).toStartWith("context-exceeded: ");
    expect((await ask(words(2))).cachedTokens.ram).toBeGreaterThan(0);
  });

  test("of no text, and of lone surrogates, is answered", async () => {
    expect((await ask("")).completionTokens).toBeGreaterThan(0);
    expect((await ask("\ud800 \udc00")).completionTokens).toBeGreaterThan(0);
  });
});

describe("a model whose template", () => {
  test.each([
    ["throws", "{{ raise_exception('Only tools may talk') }}", "Only tools may talk"],
    [
      "never ends",
      "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
      "stopped after 2 s",
    ],
  ])("%s says so, and the engine lives on", async (name, source, why) => {
    await core.load(changed(`${name}.gguf`, withTemplate(source)));
    const startMs = performance.now();
    const said = await failure("x");
    expect(said).toStartWith("template-failed: This model's template failed: ");
    expect(said).toContain(why);
    expect(performance.now() - startMs).toBeLessThan(5000);
  });

  test("was right before is answered again", async () => {
    await core.load(starter);
    expect((await ask("Hi")).completionTokens).toBeGreaterThan(0);
  });
});
