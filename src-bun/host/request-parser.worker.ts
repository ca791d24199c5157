// The parser's own thread: one text in, one outcome out.
import { parentPort } from "node:worker_threads";
import { type ParseJob, type ParseReply, parseRequest } from "./parse-request.ts";

parentPort?.on("message", ({ id, kind, input }: ParseJob) => {
  const reply: ParseReply = { id, outcome: parseRequest(kind, input) };
  parentPort?.postMessage(reply);
});
