// The thread for chat templates, as the app bundles it.
import { join } from "node:path";
import { TemplateRenderer } from "../../src-bun/model/template-renderer.ts";
import { bundleWorker } from "../../src-bun/setup/bundle-workers.ts";

export const templateWorker = (): Promise<string> =>
  bundleWorker(join(import.meta.dir, "../../src-bun/model/template.worker.ts"));

export const templateRenderer = async (): Promise<TemplateRenderer> =>
  new TemplateRenderer({ workerSource: await templateWorker() });
