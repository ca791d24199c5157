// The thread behind a KvWriter: takes jobs one after the other and answers each. It knows addresses, no model.
import { type Pointer, toArrayBuffer } from "bun:ffi";
import { parentPort } from "node:worker_threads";
import { wireError } from "../base/errors.ts";
import { openFilesystem } from "../platform/filesystem.ts";
import type { KvJob, KvMessage, KvOutcome, KvReply } from "./kv-jobs.ts";
import { readFrame } from "./read-frame.ts";
import type { Memory } from "./strided-bytes.ts";
import { writeFrames } from "./write-frames.ts";

const port = parentPort;
if (port === null) throw new Error("This module is a worker; KvWriter starts it.");

const filesystem = openFilesystem();
const memory: Memory = (pointer, bytes) => new Uint8Array(toArrayBuffer(pointer as Pointer, 0, bytes));

const run = (job: KvJob): KvOutcome => {
  switch (job.kind) {
    case "write":
      return writeFrames(filesystem, memory, job.request);
    case "read":
      return readFrame(filesystem, memory, job.request);
  }
};

const answer = (job: KvJob): KvReply => {
  const startedAt = performance.now();
  try {
    const { metrics, written } = run(job);
    return { id: job.id, kind: "done", metrics: { ...metrics, elapsedMs: performance.now() - startedAt }, written };
  } catch (thrown) {
    return { id: job.id, kind: "failed", error: wireError(thrown) };
  }
};

port.on("message", (message: KvMessage) => {
  if (message.kind === "close") process.exit(0); // ends this thread only
  port.postMessage(answer(message));
});
