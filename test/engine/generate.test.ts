// What a request asks of its answer: where it stops, how its tokens are chosen, and what is told of them.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import type { GenerateProgress, GenerateRequest, GenerateResult } from "../../src-bun/contract/engine.ts";
import { EngineCore } from "../../src-bun/engine/engine-core.ts";
import { ignoreNotices } from "../support/ignore-notices.ts";
import { templateWorker } from "../support/template-worker.ts";
import { TemporaryFolder } from "../support/temporary-folder.ts";
import { testSetup } from "../support/test-setup.ts";

/** "<|im_end|>" of the starter model. */
const END_TOKEN = 2;
const QUESTION = "What is the capital of France?";
const never = new AbortController().signal;
let core: EngineCore;

const openCore = async (modelPath: string): Promise<EngineCore> => {
  const options = {
    ...(await testSetup()),
    cores: availableParallelism(),
    cacheFolder: null,
    fingerprintFile: null,
    storageWorker: "",
    templateWorker: await templateWorker(),
    ramBudgetBytes: 2 ** 28,
  };
  const opened = new EngineCore(options, ignoreNotices);
  await opened.load(modelPath);
  return opened;
};

beforeAll(async () => {
  core = await openCore((await testSetup()).starterModel);
});

afterAll(() => core.close(0));

const request = (changes: Partial<GenerateRequest> = {}): GenerateRequest => ({
  messages: [{ role: "user", content: QUESTION }],
  model: null,
  maxTokens: 20,
  sampling: { temperature: 0 },
  ...changes,
});

/** The answer, and what was shown on the way. */
const ask = async (
  changes: Partial<GenerateRequest> = {},
  from = core,
): Promise<{ result: GenerateResult; pieces: (GenerateProgress & { kind: "text" })[] }> => {
  const pieces: (GenerateProgress & { kind: "text" })[] = [];
  const result = await from.generate(
    request(changes),
    (progress) => {
      if (progress.kind === "text") pieces.push(progress);
    },
    never,
  );
  expect(pieces.map(({ text }) => text).join("")).toBe(result.text);
  return { result, pieces };
};

describe("stop strings", () => {
  test("end the answer before them wherever they begin in a token", async () => {
    const { text } = (await ask()).result;
    for (const start of [5, 6, 9, 14]) {
      const stop = text.slice(start, start + 7);
      const { result } = await ask({ stop: ["no such text", stop] });
      expect(result.text).toBe(text.slice(0, text.indexOf(stop)));
      expect(result.finishReason).toBe("stop");
    }
  });

  test("what could have become one is shown when the answer ends first", async () => {
    const plain = (await ask({ maxTokens: 3 })).result;
    expect(plain.finishReason).toBe("length");
    const { result, pieces } = await ask({ maxTokens: 3, stop: [`${plain.text} and never more`] });
    expect(pieces).toHaveLength(1);
    expect(result).toMatchObject({ text: plain.text, finishReason: "length", completionTokens: 3 });
  });

  test("leave a prompt warm for the chat's next turn", async () => {
    const content = "Name three colours of the rainbow.";
    const { result } = await ask({ messages: [{ role: "user", content }], stop: [","] });
    const messages = [
      { role: "user" as const, content },
      { role: "assistant" as const, content: result.text },
      { role: "user" as const, content: "And one more?" },
    ];
    const next = (await ask({ messages, maxTokens: 2 })).result;
    expect(next.cachedTokens.ram).toBeGreaterThanOrEqual(result.promptTokens);
  });
});

describe("log-probabilities", () => {
  test("are told for each token of the text, with the likeliest first", async () => {
    const { result, pieces } = await ask({ topLogprobs: 5 });
    const logprobs = result.logprobs ?? [];
    expect(pieces.flatMap((piece) => piece.logprobs ?? [])).toEqual([...logprobs]);
    expect(logprobs).toHaveLength(result.completionTokens);
    expect(logprobs.map(({ token }) => token).join("")).toBe(result.text);
    for (const { top, ...chosen } of logprobs) {
      expect(top).toHaveLength(5);
      expect(chosen).toEqual(top[0] as typeof chosen);
      const sum = top.reduce((total, { logprob }) => total + Math.exp(logprob), 0);
      expect(sum).toBeGreaterThan(0);
      expect(sum).toBeLessThan(1 + 1e-6);
      expect(top.map(({ logprob }) => logprob)).toEqual(top.map(({ logprob }) => logprob).toSorted((a, b) => b - a));
    }
  });

  test("are the model's own, whatever the sampling does, and absent unless asked for", async () => {
    const first = (await ask({ maxTokens: 1, topLogprobs: 3 })).result.logprobs?.[0]?.top;
    const changed = { temperature: 2, topK: 2, presencePenalty: 2, logitBias: [[100, 50]] as const, seed: 3 };
    const { result } = await ask({ maxTokens: 1, topLogprobs: 3, sampling: changed });
    expect(result.logprobs?.[0]?.top).toEqual(first ?? []);
    expect((await ask({ maxTokens: 1 })).result).not.toHaveProperty("logprobs");
  });
});

describe("sampling", () => {
  test("all fields together give the same text for the same seed", async () => {
    const sampling = {
      repetitionPenalty: 1.1,
      presencePenalty: 0.5,
      frequencyPenalty: 0.5,
      logitBias: [[END_TOKEN, -100]] as const,
      temperature: 1.3,
      topK: 50,
      topP: 0.95,
      minP: 0.01,
      seed: 11,
    };
    const first = (await ask({ sampling })).result;
    expect((await ask({ sampling })).result.text).toBe(first.text);
    expect((await ask({ sampling: { ...sampling, seed: 12 } })).result.text).not.toBe(first.text);
    expect(first).toMatchObject({ finishReason: "length", completionTokens: 20 });
  });

  test("a seed is drawn where none is given", async () => {
    const sampling = { temperature: 2 };
    const texts = [(await ask({ sampling })).result.text, (await ask({ sampling })).result.text];
    expect(texts[0]).not.toBe(texts[1] as string);
  });

  test("a forced end token ends the answer before its first word", async () => {
    const { result, pieces } = await ask({ sampling: { temperature: 0, logitBias: [[END_TOKEN, 100]] } });
    expect(pieces).toEqual([]);
    expect(result).toMatchObject({ text: "", finishReason: "stop", completionTokens: 0, ttftMs: null });
  });

  test("a bias for a token that the model has not is refused", async () => {
    await expect(ask({ sampling: { logitBias: [[49_152, 1]] } })).rejects.toMatchObject({
      code: "bad-request",
      message: expect.stringContaining("names token 49152, but the tokens of"),
    });
  });
});

describe("a model with a short context and two end tokens", () => {
  const CONTEXT = 48;
  /** "<|im_start|>", made an end token in the place of the first token of a text. */
  const OTHER_END_TOKEN = 1;
  const folder = new TemporaryFolder();
  let short: EngineCore;

  beforeAll(async () => {
    const bytes = readFileSync((await testSetup()).starterModel);
    // A key is followed by its type, 4 for an unsigned 32-bit number, and the value.
    const afterKey = (key: string): number => {
      const at = bytes.indexOf(key) + key.length;
      expect(bytes.readUInt32LE(at)).toBe(4);
      return at + 4;
    };
    bytes.writeUInt32LE(CONTEXT, afterKey("llama.context_length"));
    const first = "tokenizer.ggml.bos_token_id";
    expect(bytes.readUInt32LE(afterKey(first))).toBe(OTHER_END_TOKEN);
    bytes.write("tokenizer.ggml.eot_token_id", bytes.indexOf(first));
    const path = join(folder.path, "short.gguf");
    writeFileSync(path, bytes);
    short = await openCore(path);
  });

  afterAll(async () => {
    await short.close(0);
    folder[Symbol.dispose]();
  });

  const biased = (id: number, bias: number) => ({ temperature: 0, logitBias: [[id, bias]] as const });

  test("the answer ends where the context does", async () => {
    const endless = { maxTokens: null, sampling: biased(END_TOKEN, -100) };
    const { result } = await ask(endless, short);
    expect(result.finishReason).toBe("length");
    expect(result.promptTokens + result.completionTokens).toBe(CONTEXT);
  });

  test("each of the end tokens ends the answer", async () => {
    for (const id of [END_TOKEN, OTHER_END_TOKEN]) {
      const { result } = await ask({ sampling: biased(id, 100) }, short);
      expect(result).toMatchObject({ text: "", finishReason: "stop", completionTokens: 0 });
    }
  });
});
