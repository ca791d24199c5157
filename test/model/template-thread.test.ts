import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { KeepwarmError } from "../../src-bun/base/errors.ts";
import { ChatTemplate } from "../../src-bun/model/chat-template.ts";
import type { ModelText } from "../../src-bun/model/model-text.ts";
import { TemplateThread } from "../../src-bun/model/template-thread.ts";
import { byteText } from "../support/byte-text.ts";
import { templateWorker, textOf } from "../support/template-worker.ts";
import { testSetup } from "../support/test-setup.ts";

const never = new AbortController().signal;
let workerSource: string;
let thread: TemplateThread;

beforeAll(async () => {
  workerSource = await templateWorker();
  thread = new TemplateThread({ workerSource });
});

afterAll(() => thread.close());

/** A token a byte, so the ids are the text. */
const render = async (template: string, on = thread, signal = never, content = ""): Promise<string> => {
  const ids = await new ChatTemplate(byteText({ template }), on).encode(
    { messages: [{ role: "user", content }] },
    signal,
  );
  return Buffer.from(ids).toString();
};

const told = (thrown: unknown): string =>
  thrown instanceof KeepwarmError ? `${thrown.code}: ${thrown.message}` : String(thrown);

const failure = (template: string, on = thread, signal = never): Promise<string> =>
  render(template, on, signal).then((text) => `it wrote ${text.length} characters`, told);

const stillWorks = async (on = thread): Promise<void> => {
  expect(await render("ü {{ range(3) | join(',') }}", on)).toBe("ü 0,1,2");
};

const forever = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}";

describe("a template that fails", () => {
  test("throws with its own words", async () => {
    expect(await failure("{{ raise_exception('Roles must alternate') }}")).toStartWith(
      "template-failed: This model's template failed: Roles must alternate.",
    );
    await stillWorks();
  });

  test("may be no template", async () => {
    expect(await failure("{% if %}")).toStartWith("template-failed: This model's template failed: ");
    expect(await failure("{% include 'x' %}")).toStartWith("template-failed: ");
    await stillWorks();
  });

  test("is stopped when it takes more than 2 s", async () => {
    expect(await failure(forever)).toContain("template-failed: This model's template failed: it was stopped after 2 s");
    await stillWorks();
  });

  test("does not fill the memory", async () => {
    expect(await failure("{% for a in range(3000000) %}{% endfor %}")).toContain("a range of 3000000 numbers");
    expect(await failure("{% for a in range(1, -9, -0.00001) %}{% endfor %}")).toContain("a range of 1000000 numbers");
    const doubling =
      "{% set n = namespace(s='a') %}{% for a in range(28) %}{% set n.s = n.s ~ n.s %}{% endfor %}{{ n.s }}";
    expect(await failure(doubling)).toContain("it writes 268435456 characters");
    const small = new TemplateThread({ workerSource, limits: { timeMs: 20_000, growthBytes: 64 << 20 } });
    const lists =
      "{% set n = namespace(l=[]) %}{% for a in range(99999) %}{% set n.l = n.l + [range(1000)] %}{% endfor %}";
    expect(await failure(lists, small)).toContain("it was stopped when it had taken 64 MB");
    await stillWorks(small);
    await small.close();
  });
});

describe("waiting for it", () => {
  test("ends when the request is cancelled", async () => {
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 50);
    expect(await failure(forever, thread, controller.signal)).toStartWith("cancelled: ");
    await stillWorks();
    expect(await failure("x", thread, AbortSignal.abort())).toStartWith("cancelled: ");
    await stillWorks();
  });

  test("prompts that come together take turns, each with its own model's text", async () => {
    const texts = await Promise.all([1, 2, 3].map((a) => render(`${a}`)));
    expect(texts).toEqual(["1", "2", "3"]);
  });

  test("a thread that cannot start fails the prompt, not the next one", async () => {
    const broken = new TemplateThread({ workerSource: "throw new Error('no thread')" });
    expect(await failure("x", broken)).toContain("no thread");
    expect(await failure("x", broken)).toContain("no thread");
    await broken.close();
  });
});

test("a tokenizer that its library does not take is refused by name, and the next model is opened", async () => {
  const { tokenizer } = byteText();
  const broken: ModelText = { ...byteText(), tokenizer: { ...tokenizer, library: { model: { type: "Nothing" } } } };
  const said = await new ChatTemplate(broken, thread).prepare().then(() => "opened", told);
  expect(said).toStartWith("unsupported-model: This model's tokenizer could not be opened: ");
  await stillWorks();
});

describe("a message of a million characters without a blank", () => {
  const content = "漢字仮名".repeat(250_000);

  test("leaves the thread that asks free, and is cancelled at once", async () => {
    const template = new ChatTemplate(textOf((await testSetup()).starterModel), thread);
    await template.prepare();
    const controller = new AbortController();
    const encoding = template
      .encode({ messages: [{ role: "user", content }] }, controller.signal)
      .then((ids) => `${ids.length} tokens`, told);
    const turns = await Promise.race([encoding, new Promise((resolve) => setTimeout(() => resolve("free"), 200))]);
    expect(turns).toBe("free");
    controller.abort();
    expect(await encoding).toStartWith("cancelled: ");
    const after = await template.encode({ messages: [{ role: "user", content: "Hi" }] }, never);
    expect(after.length).toBeGreaterThan(2);
  });

  test("becomes tokens in the end", async () => {
    const template = new ChatTemplate(textOf((await testSetup()).starterModel), thread);
    const ids = await template.encode({ messages: [{ role: "user", content }] }, never);
    expect(ids.length).toBeGreaterThan(1_000_000);
  });
});
