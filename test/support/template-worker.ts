// The thread for chat templates, as the app bundles it, and a model's text without its weights.
import { join } from "node:path";
import type { LoadHelp } from "../../src-bun/model/loaded-model.ts";
import type { ModelText } from "../../src-bun/model/model-text.ts";
import { openLlama } from "../../src-bun/model/open-llama.ts";
import { openText } from "../../src-bun/model/open-text.ts";
import { TemplateThread } from "../../src-bun/model/template-thread.ts";
import { bundleWorker } from "../../src-bun/setup/bundle-workers.ts";

export const templateWorker = (): Promise<string> =>
  bundleWorker(join(import.meta.dir, "../../src-bun/model/template.worker.ts"));

export const templateThread = async (): Promise<TemplateThread> =>
  new TemplateThread({ workerSource: await templateWorker() });

export const textOf = (path: string): ModelText => {
  const opened = openLlama(path);
  using _files = opened.source;
  return openText(opened, path);
};

/** What loading a model needs beside its files. */
export const loadHelp = async (): Promise<LoadHelp> => ({
  templates: await templateThread(),
  identity: { memory: null, wallClock: Date.now, turn: () => Promise.resolve() },
});
