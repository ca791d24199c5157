// The thread that runs chat templates and tokenizers. Its owner ends it when one takes too long.
import { parentPort } from "node:worker_threads";
import { messageOf, wireError } from "../base/errors.ts";
import type { ModelText } from "./model-text.ts";
import { PromptEncoder } from "./prompt-encoder.ts";
import { tokenizerUnopened } from "./template-faults.ts";
import type { TemplateJob, TemplateReply } from "./template-thread.ts";

const port = parentPort;
if (port === null) throw new Error("This module is a worker; TemplateThread starts it.");

const post = (reply: TemplateReply, moved: readonly ArrayBuffer[] = []): void => port.postMessage(reply, [...moved]);
let encoder: PromptEncoder | null = null;

const open = (text: SharedArrayBuffer): void => {
  encoder = null;
  try {
    encoder = new PromptEncoder(JSON.parse(Buffer.from(text).toString()) as ModelText);
  } catch (thrown) {
    throw tokenizerUnopened(messageOf(thrown));
  }
  post({ kind: "opened" });
};

const encode = ({ conversation }: TemplateJob & { kind: "encode" }): void => {
  if (encoder === null) throw new Error("a prompt came before its model's text");
  const ids = encoder.encode(conversation, (characters) => post({ kind: "written", characters }));
  post({ kind: "encoded", ids }, [ids.buffer]);
};

port.on("message", (job: TemplateJob) => {
  try {
    if (job.kind === "open") open(job.text);
    else encode(job);
  } catch (thrown) {
    post({ kind: "failed", error: wireError(thrown) });
  }
});
post({ kind: "ready" });
