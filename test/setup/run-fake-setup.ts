// Run as a process of its own by tests that kill one: its argument is a FakeInputs as JSON.
import { ensureParts } from "../../src-bun/setup/ensure-parts.ts";
import { type FakeInputs, fakeParts } from "./fake-parts.ts";

const inputs: FakeInputs = JSON.parse(process.argv[2] ?? "");
await ensureParts(fakeParts(inputs), {
  ...inputs,
  signal: new AbortController().signal,
  onProgress: () => undefined,
});
