import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { KeepwarmError } from "../../src-bun/base/errors.ts";
import { TemplateRenderer } from "../../src-bun/model/template-renderer.ts";
import { templateWorker } from "../support/template-worker.ts";

const never = new AbortController().signal;
let workerSource: string;
let renderer: TemplateRenderer;

beforeAll(async () => {
  workerSource = await templateWorker();
  renderer = new TemplateRenderer({ workerSource });
});

afterAll(() => renderer.close());

const failure = (source: string, on = renderer, signal = never): Promise<string> =>
  on.render(source, { messages: [] }, signal).then(
    (text) => `it wrote ${text.length} characters`,
    (thrown: unknown) => (thrown instanceof KeepwarmError ? `${thrown.code}: ${thrown.message}` : String(thrown)),
  );

const stillWorks = async (on = renderer): Promise<void> => {
  expect(await on.render("{{ a }} {{ range(3) | join(',') }}", { a: "ü" }, never)).toBe("ü 0,1,2");
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
    const startMs = performance.now();
    expect(await failure(forever)).toContain("template-failed: This model's template failed: it was stopped after 2 s");
    expect(performance.now() - startMs).toBeLessThan(4000);
    await stillWorks();
  });

  test("does not fill the memory", async () => {
    expect(await failure("{% for a in range(3000000) %}{% endfor %}")).toContain("a range of 3000000 numbers");
    expect(await failure("{% for a in range(1, -9, -0.00001) %}{% endfor %}")).toContain("a range of 1000000 numbers");
    const doubling =
      "{% set n = namespace(s='a') %}{% for a in range(28) %}{% set n.s = n.s ~ n.s %}{% endfor %}{{ n.s }}";
    expect(await failure(doubling)).toContain("it writes 268435456 characters");
    const small = new TemplateRenderer({ workerSource, limits: { timeMs: 20_000, growthBytes: 64 << 20 } });
    const lists =
      "{% set n = namespace(l=[]) %}{% for a in range(99999) %}{% set n.l = n.l + [range(1000)] %}{% endfor %}";
    expect(await failure(lists, small)).toContain("it was stopped when it had taken 64 MB");
    await stillWorks(small);
    await small.close();
  });
});

describe("waiting for it", () => {
  test("ends at once when the request is cancelled", async () => {
    const controller = new AbortController();
    const startMs = performance.now();
    setTimeout(() => controller.abort(), 50);
    expect(await failure(forever, renderer, controller.signal)).toStartWith("cancelled: ");
    expect(performance.now() - startMs).toBeLessThan(300);
    await stillWorks();
    expect(await failure("x", renderer, AbortSignal.abort())).toStartWith("cancelled: ");
    await stillWorks();
  });

  test("renders that come together take turns", async () => {
    const texts = await Promise.all([1, 2, 3].map((a) => renderer.render("{{ a }}", { a }, never)));
    expect(texts).toEqual(["1", "2", "3"]);
  });

  test("a thread that cannot start fails the render, not the next one", async () => {
    const broken = new TemplateRenderer({ workerSource: "throw new Error('no thread')" });
    expect(await failure("x", broken)).toContain("no thread");
    expect(await failure("x", broken)).toContain("no thread");
    await broken.close();
  });
});
