// Tiny Llamas with random weights, the same bytes as test/oracle/tiny_llama.py makes: the rule stands there.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Random } from "./random.ts";
import { type FileTensor, writeSafetensors } from "./weight-files.ts";

type Groups = { readonly bits: number; readonly group_size: number };

export type TinyConfig = {
  readonly hidden_size: number;
  readonly num_hidden_layers: number;
  readonly intermediate_size: number;
  readonly num_attention_heads: number;
  readonly num_key_value_heads: number;
  readonly vocab_size: number;
  readonly tie_word_embeddings: boolean;
  readonly head_dim?: number;
  readonly attention_bias?: boolean;
  readonly mlp_bias?: boolean;
  readonly quantization?: Groups & Readonly<Record<string, unknown>>;
  readonly [key: string]: unknown;
};

export type TinyLlama = {
  readonly seed: number;
  /** Of what is not packed: F32, F16 or BF16. */
  readonly element: string;
  readonly config: TinyConfig;
};

type Kind = "plain" | "norm" | "packed" | "scales" | "biases";
type Shape = { readonly kind: Kind; readonly shape: readonly number[]; readonly bits: number };

const SEED_STEP = 1_000_003;

const draw = (seed: number, count: number): Uint32Array => {
  const random = new Random(seed);
  return Uint32Array.from({ length: count }, () => random.below(2 ** 32));
};

type LinearShape = readonly [name: string, rows: number, columns: number, hasBias: boolean];

const linearsOf = (config: TinyConfig): LinearShape[] => {
  const { hidden_size: hidden, intermediate_size: inner, vocab_size: vocabulary } = config;
  const headDim = config.head_dim ?? hidden / config.num_attention_heads;
  const [all, shared] = [config.num_attention_heads * headDim, config.num_key_value_heads * headDim];
  const [attention, mlp] = [config.attention_bias ?? false, config.mlp_bias ?? false];
  const outer: LinearShape[] = [["model.embed_tokens", vocabulary, hidden, false]];
  if (!config.tie_word_embeddings) outer.push(["lm_head", vocabulary, hidden, false]);
  const layers = Array.from({ length: config.num_hidden_layers }, (_, layer): LinearShape[] => {
    const at = `model.layers.${layer}.`;
    return [
      [`${at}self_attn.q_proj`, all, hidden, attention],
      [`${at}self_attn.k_proj`, shared, hidden, attention],
      [`${at}self_attn.v_proj`, shared, hidden, attention],
      [`${at}self_attn.o_proj`, hidden, all, attention],
      [`${at}mlp.gate_proj`, inner, hidden, mlp],
      [`${at}mlp.up_proj`, inner, hidden, mlp],
      [`${at}mlp.down_proj`, hidden, inner, mlp],
    ];
  });
  return [...outer, ...layers.flat()];
};

const groupsOf = (config: TinyConfig, name: string): Groups | null => {
  const settings = config.quantization;
  if (settings === undefined) return null;
  return ((settings[name] ?? settings) || null) as Groups | null;
};

const shapesOf = (config: TinyConfig): Map<string, Shape> => {
  const found = new Map<string, Shape>();
  for (const [name, rows, columns, hasBias] of linearsOf(config)) {
    const how = groupsOf(config, name);
    if (how === null) found.set(`${name}.weight`, { kind: "plain", shape: [rows, columns], bits: 0 });
    else {
      const groups = [rows, columns / how.group_size];
      found.set(`${name}.weight`, { kind: "packed", shape: [rows, (columns * how.bits) / 32], bits: how.bits });
      found.set(`${name}.scales`, { kind: "scales", shape: groups, bits: how.bits });
      found.set(`${name}.biases`, { kind: "biases", shape: groups, bits: how.bits });
    }
    if (hasBias) found.set(`${name}.bias`, { kind: "plain", shape: [rows], bits: 0 });
  }
  const layers = Array.from({ length: config.num_hidden_layers }, (_, layer) => `model.layers.${layer}.`);
  const norms = layers.flatMap((at) => [`${at}input_layernorm`, `${at}post_attention_layernorm`]);
  for (const name of ["model.norm", ...norms]) {
    found.set(`${name}.weight`, { kind: "norm", shape: [config.hidden_size], bits: 0 });
  }
  return found;
};

const tinyValue = (kind: Kind, word: number, scaleWord: number, bits: number): number => {
  const sixteenths = (one: number): number => 1 + (one >>> 28);
  if (kind === "scales") return sixteenths(word) / 2 ** (bits + 5);
  if (kind === "biases") return ((word >>> 30) - 1.5) / 256 - sixteenths(scaleWord) / 64;
  return kind === "norm" ? 1 + ((word >>> 26) - 32) / 128 : ((word >>> 24) - 128) / 512;
};

/** All values here are exact in each of the types. */
const encode = (values: Float32Array, element: string): Uint8Array => {
  if (element === "F32") return new Uint8Array(values.buffer);
  if (element === "F16") return new Uint8Array(Float16Array.from(values).buffer);
  return new Uint8Array(Uint16Array.from(new Uint32Array(values.buffer), (bits) => bits >>> 16).buffer);
};

/** In the order of names. */
export const tinyTensors = ({ config, element, seed }: TinyLlama): FileTensor[] => {
  const byName = [...shapesOf(config)].sort(([a], [b]) => (a < b ? -1 : 1));
  return byName.map(([name, { kind, shape, bits }], index) => {
    const count = shape.reduce((product, length) => product * length, 1);
    const words = draw(seed + index * SEED_STEP, count);
    if (kind === "packed") return { name, type: "U32", shape, bytes: new Uint8Array(words.buffer) };
    // The scales of a matrix follow its biases in the order of names.
    const scaleWords = kind === "biases" ? draw(seed + (index + 1) * SEED_STEP, count) : words;
    const values = Float32Array.from(words, (word, at) => tinyValue(kind, word, scaleWords[at] ?? 0, bits));
    return { name, type: element, shape, bytes: encode(values, element) };
  });
};

/** A folder as mlx-lm writes it, in `shards` files. */
export const writeTinyFolder = (folder: string, tiny: TinyLlama, shards = 1): void => {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "config.json"), JSON.stringify(tiny.config));
  const tensors = tinyTensors(tiny);
  if (shards === 1) {
    writeSafetensors(join(folder, "model.safetensors"), tensors);
    return;
  }
  const map: Record<string, string> = {};
  const nameOf = (shard: number): string => `model-0000${shard + 1}-of-0000${shards}.safetensors`;
  for (let shard = 0; shard < shards; shard++) {
    const own = tensors.filter((_, index) => index % shards === shard);
    writeSafetensors(join(folder, nameOf(shard)), own);
    for (const { name } of own) map[name] = nameOf(shard);
  }
  writeFileSync(join(folder, "model.safetensors.index.json"), JSON.stringify({ metadata: {}, weight_map: map }));
};
