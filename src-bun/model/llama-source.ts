// Where a Llama's weights lie: tensors by name, and how a format names and orders them.
import type { Quantization } from "../mlx/ops.ts";
import { damagedModel, unsupportedModel } from "./model-faults.ts";
import type { ModelFile } from "./model-file.ts";
import type { StoredTensor, StoredType } from "./stored-tensor.ts";
import type { StoredMatrix } from "./weight-loader.ts";

/** The parts of a layer by the names of this program. */
export type LayerPart = "attentionNorm" | "q" | "k" | "v" | "output" | "mlpNorm" | "gate" | "up" | "down";

export type LlamaNames = {
  readonly embedding: string;
  readonly head: string;
  readonly norm: string;
  readonly layer: (index: number) => string;
  readonly parts: Readonly<Record<LayerPart, string>>;
};

export const ggufNames: LlamaNames = {
  embedding: "token_embd",
  head: "output",
  norm: "output_norm",
  layer: (index) => `blk.${index}.`,
  parts: {
    attentionNorm: "attn_norm",
    q: "attn_q",
    k: "attn_k",
    v: "attn_v",
    output: "attn_output",
    mlpNorm: "ffn_norm",
    gate: "ffn_gate",
    up: "ffn_up",
    down: "ffn_down",
  },
};

export const folderNames: LlamaNames = {
  embedding: "model.embed_tokens",
  head: "lm_head",
  norm: "model.norm",
  layer: (index) => `model.layers.${index}.`,
  parts: {
    attentionNorm: "input_layernorm",
    q: "self_attn.q_proj",
    k: "self_attn.k_proj",
    v: "self_attn.v_proj",
    output: "self_attn.o_proj",
    mlpNorm: "post_attention_layernorm",
    gate: "mlp.gate_proj",
    up: "mlp.up_proj",
    down: "mlp.down_proj",
  },
};

const FLOATS: readonly StoredType[] = ["F32", "F16", "BF16"];

/** Whether a linear map has a bias; null: as the file has it. */
export type BiasRule = (name: string) => boolean | null;

export class LlamaSource implements Disposable {
  readonly path: string;
  readonly names: LlamaNames;
  /** A GGUF has the two elements that turn together in neighbouring rows of q and k, not half a head apart. */
  readonly hasNeighbouringPairs: boolean;
  readonly #tensors: ReadonlyMap<string, StoredTensor>;
  readonly #quantization: (name: string) => Quantization | null;
  readonly #hasBias: BiasRule;
  readonly #files: readonly ModelFile[];

  /** Takes ownership of the files. */
  constructor(options: {
    readonly path: string;
    readonly names: LlamaNames;
    readonly hasNeighbouringPairs: boolean;
    readonly tensors: readonly StoredTensor[];
    readonly quantization: (name: string) => Quantization | null;
    readonly hasBias: BiasRule;
    readonly files: readonly ModelFile[];
  }) {
    this.path = options.path;
    this.names = options.names;
    this.hasNeighbouringPairs = options.hasNeighbouringPairs;
    this.#tensors = new Map(options.tensors.map((tensor) => [tensor.name, tensor]));
    this.#quantization = options.quantization;
    this.#hasBias = options.hasBias;
    this.#files = options.files;
  }

  /** Every tensor of the model's files, used or not. */
  get tensors(): ReadonlyMap<string, StoredTensor> {
    return this.#tensors;
  }

  has(name: string): boolean {
    return this.#tensors.has(`${name}.weight`);
  }

  /** Throws where layer `index` is there: the config counts fewer. */
  refuseLayer(index: number): void {
    const prefix = this.names.layer(index);
    for (const name of this.#tensors.keys()) {
      if (name.startsWith(prefix)) throw damagedModel(this.path, `"${name}" is of a layer beyond the last`);
    }
  }

  vector(name: string, length: number): StoredTensor {
    return this.#floats(`${name}.weight`, [length]);
  }

  /** Throws unless the matrix has these rows and columns, quantised as the model says. */
  matrix(name: string, rows: number, columns: number): StoredMatrix {
    if (!this.#tensors.has(`${name}.scales`)) {
      return { kind: "plain", tensor: this.#shaped(`${name}.weight`, [rows, columns]) };
    }
    const how = this.#quantization(name);
    if (how === null)
      throw damagedModel(this.path, `"${name}" has scales, and the config says that it is not quantised`);
    if (columns % how.groupSize !== 0) throw damagedModel(this.path, `the rows of "${name}" are no whole groups`);
    const groups = [rows, columns / how.groupSize];
    const weight = this.#shaped(`${name}.weight`, [rows, (columns * how.bits) / 32]);
    if (weight.type !== "U32") throw damagedModel(this.path, `"${name}.weight" has scales and the type ${weight.type}`);
    return {
      kind: "affine",
      weight,
      scales: this.#floats(`${name}.scales`, groups),
      biases: this.#floats(`${name}.biases`, groups),
      how,
    };
  }

  bias(name: string, length: number): StoredTensor | null {
    const isThere = this.#tensors.has(`${name}.bias`);
    const isWanted = this.#hasBias(name) ?? isThere;
    if (isThere && !isWanted) throw damagedModel(this.path, `"${name}.bias" is there, and the config knows of none`);
    return isWanted ? this.#floats(`${name}.bias`, [length]) : null;
  }

  [Symbol.dispose](): void {
    for (const file of this.#files) file[Symbol.dispose]();
  }

  #floats(name: string, shape: readonly number[]): StoredTensor {
    const tensor = this.#shaped(name, shape);
    if (FLOATS.includes(tensor.type)) return tensor;
    throw unsupportedModel(tensor.file.path, `"${name}" has the element type ${tensor.type}`);
  }

  #shaped(name: string, shape: readonly number[]): StoredTensor {
    const tensor = this.#tensors.get(name);
    if (tensor === undefined) throw damagedModel(this.path, `"${name}" is missing`);
    if (tensor.shape.join("×") === shape.join("×")) return tensor;
    throw damagedModel(tensor.file.path, `"${name}" is ${tensor.shape.join("×")}, not ${shape.join("×")}`);
  }
}
