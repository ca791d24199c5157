// A model that is ready to run: its weights in memory, its tokenizer and its chat template.
import { basename } from "node:path";
import type { MlxOps } from "../mlx/ops.ts";
import type { MlxRuntime } from "../mlx/runtime.ts";
import { ChatTemplate } from "./chat-template.ts";
import { Llama } from "./llama.ts";
import { disposeWeights, keepsQuantized, type LlamaWeights, loadLlamaWeights, weightBytes } from "./llama-weights.ts";
import { namespaceOf } from "./namespace.ts";
import { openLlama } from "./open-llama.ts";
import { openText } from "./open-text.ts";
import type { TemplateThread } from "./template-thread.ts";
import { ModelTokenizer } from "./tokenizer.ts";
import { type IdentityHelp, weightsFingerprint } from "./weights-identity.ts";

/** The file's name without its quantisation; the name inside many files is that of a training run. */
const displayName = (id: string): string => id.replace(/[.-](?:Q\d\w*|BF16|F16|F32)$/i, "").replaceAll("-", " ");

/** What loading needs beside the files. */
export type LoadHelp = { readonly templates: TemplateThread; readonly identity: IdentityHelp };

export class LoadedModel implements Disposable {
  readonly id: string;
  readonly name: string;
  readonly namespace: string;
  readonly llama: Llama;
  readonly tokenizer: ModelTokenizer;
  readonly template: ChatTemplate;
  readonly weightBytes: number;
  readonly #weights: LlamaWeights;

  private constructor(parts: {
    path: string;
    namespace: string;
    llama: Llama;
    tokenizer: ModelTokenizer;
    template: ChatTemplate;
    weights: LlamaWeights;
  }) {
    this.id = basename(parts.path).replace(/\.gguf$/i, "");
    this.name = displayName(this.id);
    this.namespace = parts.namespace;
    this.llama = parts.llama;
    this.tokenizer = parts.tokenizer;
    this.template = parts.template;
    this.weightBytes = weightBytes(parts.weights);
    this.#weights = parts.weights;
  }

  static async load(runtime: MlxRuntime, ops: MlxOps, path: string, help: LoadHelp): Promise<LoadedModel> {
    const opened = openLlama(path);
    using _files = opened.source;
    const text = openText(opened, path);
    const isQuantized = keepsQuantized(runtime);
    const namespace = namespaceOf({
      fingerprint: await weightsFingerprint(opened.source.tensors, help.identity),
      tokenizer: text.tokenizer,
      config: opened.config,
      format: opened.metadata === null ? "folder" : "gguf",
      keepsQuantized: isQuantized,
      kvDtype: "float32",
    });
    const tokenizer = new ModelTokenizer(text);
    const template = new ChatTemplate(text, help.templates);
    await template.prepare();
    const weights = loadLlamaWeights(runtime, ops, opened, isQuantized);
    const llama = new Llama(runtime, ops, opened.config, weights);
    return new LoadedModel({ path, namespace, llama, tokenizer, template, weights });
  }

  [Symbol.dispose](): void {
    disposeWeights(this.#weights);
  }
}
