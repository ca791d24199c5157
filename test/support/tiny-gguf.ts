// A tiny Llama as GGUF: the weights of test/support/tiny-llama.ts by the names and in the order of that format.
import { type TinyConfig, type TinyLlama, tinyTensors } from "./tiny-llama.ts";
import type { FileTensor, GgufField } from "./weight-files.ts";

const LEAVES: Readonly<Record<string, string>> = {
  input_layernorm: "attn_norm",
  "self_attn.q_proj": "attn_q",
  "self_attn.k_proj": "attn_k",
  "self_attn.v_proj": "attn_v",
  "self_attn.o_proj": "attn_output",
  post_attention_layernorm: "ffn_norm",
  "mlp.gate_proj": "ffn_gate",
  "mlp.up_proj": "ffn_up",
  "mlp.down_proj": "ffn_down",
};
const OUTER: Readonly<Record<string, string>> = {
  "model.embed_tokens": "token_embd",
  "model.norm": "output_norm",
  lm_head: "output",
};

const ggufName = (name: string): string => {
  const end = name.lastIndexOf(".");
  const [module, leaf] = [name.slice(0, end), name.slice(end)];
  const inLayer = /^model\.layers\.(\d+)\.(.+)$/.exec(module);
  return inLayer === null ? `${OUTER[module]}${leaf}` : `blk.${inLayer[1]}.${LEAVES[inLayer[2] ?? ""]}${leaf}`;
};

/** Rows from pairs half a head apart to neighbouring pairs, as converters to GGUF write q and k. */
const neighbours = (tensor: FileTensor, headDim: number): FileTensor => {
  const rows = tensor.shape[0] ?? 0;
  const rowBytes = tensor.bytes.length / rows;
  const bytes = new Uint8Array(tensor.bytes.length);
  for (let row = 0; row < rows; row++) {
    const inHead = row % headDim;
    const to = row - inHead + (inHead % (headDim / 2)) * 2 + Math.floor(inHead / (headDim / 2));
    bytes.set(tensor.bytes.subarray(row * rowBytes, (row + 1) * rowBytes), to * rowBytes);
  }
  return { ...tensor, bytes };
};

const headDimOf = (config: TinyConfig): number => config.head_dim ?? config.hidden_size / config.num_attention_heads;

export const tinyGgufTensors = (tiny: TinyLlama): FileTensor[] =>
  tinyTensors(tiny).map((tensor) => {
    const isRotated = /\.(?:q|k)_proj\./.test(tensor.name);
    const ordered = isRotated ? neighbours(tensor, headDimOf(tiny.config)) : tensor;
    return { ...ordered, name: ggufName(tensor.name) };
  });

export const tinyGgufFields = (config: TinyConfig): GgufField[] => {
  const number = (key: string, value: number): GgufField => ({ key: `llama.${key}`, kind: "u32", value });
  const fraction = (key: string, value: unknown): GgufField => ({
    key: `llama.${key}`,
    kind: "f32",
    value: Number(value),
  });
  const tokens = Array.from({ length: config.vocab_size }, (_, id) => `t${id}`);
  return [
    { key: "general.architecture", kind: "text", value: "llama" },
    number("block_count", config.num_hidden_layers),
    number("embedding_length", config.hidden_size),
    number("feed_forward_length", config.intermediate_size),
    number("attention.head_count", config.num_attention_heads),
    number("attention.head_count_kv", config.num_key_value_heads),
    number("attention.key_length", headDimOf(config)),
    number("attention.value_length", headDimOf(config)),
    number("rope.dimension_count", headDimOf(config)),
    number("context_length", Number(config["max_position_embeddings"])),
    fraction("rope.freq_base", config["rope_theta"]),
    fraction("attention.layer_norm_rms_epsilon", config["rms_norm_eps"]),
    { key: "tokenizer.ggml.tokens", kind: "texts", value: tokens },
    { key: "tokenizer.ggml.token_type", kind: "i32s", value: tokens.map(() => 1) },
  ];
};
