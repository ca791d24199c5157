// The thread that runs chat templates. Its owner ends it when one takes too long.
import { parentPort } from "node:worker_threads";
import { messageOf } from "../base/errors.ts";
import { TemplateRuns } from "./render-template.ts";
import type { TemplateJob, TemplateReply } from "./template-renderer.ts";

const port = parentPort;
if (port === null) throw new Error("This module is a worker; TemplateRenderer starts it.");

const runs = new TemplateRuns();
const post = (reply: TemplateReply): void => port.postMessage(reply);

port.on("message", ({ source, context }: TemplateJob) => {
  try {
    post({ kind: "done", text: runs.render(source, context) });
  } catch (thrown) {
    post({ kind: "failed", why: messageOf(thrown) });
  }
});
post({ kind: "ready" });
