import { expect, test } from "bun:test";
import fc from "fast-check";
import { LineReader, LineWriter } from "../../src-bun/host/lines.ts";

const split = (bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] => {
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return places.slice(1).map((end, at) => bytes.slice(places[at], end));
};

test("lines arrive whole, wherever the bytes are cut", () => {
  const line = fc.string({ unit: "binary" }).filter((text) => !text.includes("\n"));
  fc.assert(
    fc.property(fc.array(line), fc.array(fc.nat()), (lines, cuts) => {
      const bytes = Buffer.from(lines.map((one) => `${one}\n`).join(""));
      const reader = new LineReader(1024);
      expect(split(bytes, cuts).flatMap((part) => reader.push(part))).toEqual(
        lines.map((one) => Buffer.from(one).toString("utf8")),
      );
    }),
  );
});

test("a line that is too long is told, and the next one is read", () => {
  const reader = new LineReader(4);
  expect(reader.push(Buffer.from("1234\n12345\nab"))).toEqual(["1234", null]);
  expect(reader.push(Buffer.from("cdefghijkl"))).toEqual([]);
  expect(reader.push(Buffer.from("\nok\n"))).toEqual([null, "ok"]);
});

test("what a full socket does not take follows in order when it has room", () => {
  let room = 3;
  const taken: Uint8Array[] = [];
  const writer = new LineWriter((bytes) => {
    const count = Math.min(room, bytes.length);
    room -= count;
    taken.push(bytes.slice(0, count));
    return count;
  });
  writer.put({ a: 1 });
  writer.put({ b: "é" });
  while (Buffer.concat(taken).length < 19) {
    room = 2;
    writer.flush();
    if (taken.length > 100) break;
  }
  expect(Buffer.concat(taken).toString()).toBe('{"a":1}\n{"b":"é"}\n');
});
