import { afterAll, beforeAll, expect, test } from "bun:test";
import { Starter } from "../support/starter.ts";

let starter: Starter;

beforeAll(async () => {
  starter = await Starter.open();
});

afterAll(() => starter[Symbol.dispose]());

const promptOf = (tokens: number): Uint32Array =>
  Uint32Array.from(starter.model.tokenizer.encodeText("One shelf holds maps, another holds songs. ".repeat(60))).slice(
    0,
    tokens,
  );

test("R17 layers per piece change no value", () => {
  const prompt = promptOf(300);
  const logits = [1, 7, 30].map((layersPerPiece) => {
    using kv = starter.kv.allocate(prompt.length);
    using last = starter.prefill(prompt, kv, { spanTokens: 256, layersPerPiece });
    return last.toFloat32Array();
  });
  expect(logits[1]).toEqual(logits[0] as Float32Array);
  expect(logits[2]).toEqual(logits[0] as Float32Array);
});

test("a prompt left between pieces holds its finished spans and leaks nothing", () => {
  const before = starter.runtime.library.liveHandles;
  {
    using kv = starter.kv.allocate(600);
    const pieces = starter.forward.prefill(promptOf(600), kv, { spanTokens: 256, layersPerPiece: 10 });
    for (let piece = 0; piece < 5; piece++) pieces.next();
    pieces.return(undefined as never);
    expect(kv.length).toBe(256);
  }
  expect(starter.runtime.library.liveHandles).toBe(before);
});

test("growing keeps what is held", () => {
  const prompt = promptOf(40);
  using roomy = starter.kv.allocate(1024);
  using tight = starter.kv.allocate(1);
  using first = starter.prefill(prompt, roomy);
  using second = starter.prefill(prompt, tight);
  expect(second.toFloat32Array()).toEqual(first.toFloat32Array());
  tight.reserve(2000);
  using next = starter.forward.step(5, roomy);
  using grown = starter.forward.step(5, tight);
  expect(grown.toFloat32Array()).toEqual(next.toFloat32Array());
});

test("a copied prefix continues as the original does", () => {
  const prompt = promptOf(50);
  using kv = starter.kv.allocate(100);
  starter.prefill(prompt, kv)[Symbol.dispose]();
  using copy = starter.kv.clone(kv, 49, 100);
  kv.truncate(49);
  using original = starter.forward.step(9, kv);
  using copied = starter.forward.step(9, copy);
  expect(copied.toFloat32Array()).toEqual(original.toFloat32Array());
});
