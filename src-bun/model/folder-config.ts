// `config.json` of a folder as mlx-lm and transformers write it.
import * as v from "valibot";
import type { Quantization } from "../mlx/ops.ts";
import { checkHeads, type LlamaConfig } from "./llama-config.ts";
import { damagedModel, unsupportedModel } from "./model-faults.ts";
import { linearRope, llama3Rope, plainRope, type Rope } from "./rope.ts";

export type FolderConfig = {
  readonly llama: LlamaConfig;
  /** Null: whether the output head is the embedding is seen by the tensors. */
  readonly isHeadTied: boolean | null;
  readonly hasAttentionBias: boolean;
  readonly hasMlpBias: boolean;
  /** How a linear map of this name is quantised; null: it is not. */
  readonly quantization: (name: string) => Quantization | null;
};

const count = v.pipe(v.number(), v.safeInteger(), v.minValue(1));
const positive = v.pipe(v.number(), v.finite(), v.gtValue(0));
const orNull = <T extends v.GenericSchema>(schema: T) => v.nullish(schema);

const ropeSchema = v.looseObject({
  type: orNull(v.string()),
  rope_type: orNull(v.string()),
  rope_theta: orNull(positive),
  factor: orNull(positive),
  low_freq_factor: orNull(positive),
  high_freq_factor: orNull(positive),
  original_max_position_embeddings: orNull(count),
});

const groupSchema = v.looseObject({ group_size: count, bits: count, mode: orNull(v.string()) });

const configSchema = v.looseObject({
  model_type: v.string(),
  hidden_size: count,
  num_hidden_layers: count,
  intermediate_size: count,
  num_attention_heads: count,
  num_key_value_heads: orNull(count),
  head_dim: orNull(count),
  rms_norm_eps: positive,
  vocab_size: count,
  max_position_embeddings: orNull(count),
  rope_theta: orNull(positive),
  rope_traditional: orNull(v.boolean()),
  rope_scaling: orNull(ropeSchema),
  rope_parameters: orNull(ropeSchema),
  partial_rotary_factor: orNull(positive),
  attention_bias: orNull(v.boolean()),
  mlp_bias: orNull(v.boolean()),
  tie_word_embeddings: orNull(v.boolean()),
  hidden_act: orNull(v.string()),
  layer_types: orNull(v.array(v.string())),
  quantization: orNull(v.looseObject({})),
  quantization_config: orNull(v.looseObject({})),
});

type Config = v.InferOutput<typeof configSchema>;

/** mlx-lm's and transformers' own. */
const DEFAULTS = { ropeBase: 10_000, contextTokens: 2048, lowFrequency: 1, highFrequency: 4, llama3Context: 8192 };
const BITS = [2, 3, 4, 5, 6, 8];
const GROUP_SIZES = [32, 64, 128];

const fail = (path: string, issues: readonly v.BaseIssue<unknown>[]): Error => {
  const [issue] = issues;
  const key = issue === undefined ? null : v.getDotPath(issue as never);
  return damagedModel(path, `"${key ?? "its content"}" is not as it must be (${issue?.message ?? "no reason given"})`);
};

const readRope = (path: string, config: Config, headDim: number, contextTokens: number): Rope => {
  const scaling = config.rope_parameters ?? config.rope_scaling ?? {};
  const base = config.rope_theta ?? config.rope_parameters?.rope_theta ?? DEFAULTS.ropeBase;
  const kind = scaling.type ?? scaling.rope_type ?? "default";
  const factor = scaling.factor ?? null;
  if (kind === "default") return plainRope(base);
  if (kind !== "linear" && kind !== "dynamic" && kind !== "llama3") {
    throw unsupportedModel(path, `its rotary embedding is scaled by "${kind}"`);
  }
  if (factor === null) throw damagedModel(path, `the factor of its "${kind}" rotary embedding is missing`);
  if (kind === "linear") return linearRope(base, factor);
  // Beyond the trained context this kind turns every token by the length of the whole text, so that no prefix could be
  // kept; up to there it is plain, and there the context ends (RULES.md R1 asks for exact prefixes).
  if (kind === "dynamic") return plainRope(base);
  const lowFrequencyFactor = scaling.low_freq_factor ?? DEFAULTS.lowFrequency;
  const highFrequencyFactor = scaling.high_freq_factor ?? DEFAULTS.highFrequency;
  if (highFrequencyFactor <= lowFrequencyFactor) throw damagedModel(path, "its rotary frequencies are out of order");
  const originalContextTokens = scaling.original_max_position_embeddings ?? DEFAULTS.llama3Context;
  if (originalContextTokens > contextTokens) throw damagedModel(path, "its context is shorter than its original one");
  return llama3Rope(base, headDim, { factor, lowFrequencyFactor, highFrequencyFactor, originalContextTokens });
};

const readGroups = (path: string, name: string, value: unknown): Quantization => {
  const groups = v.safeParse(groupSchema, value);
  if (!groups.success) throw damagedModel(path, `how "${name}" is quantised is not said soundly`);
  const { bits, group_size: groupSize, mode } = groups.output;
  if ((mode ?? "affine") !== "affine") throw unsupportedModel(path, `it is quantised as "${mode}"`);
  if (!BITS.includes(bits)) throw unsupportedModel(path, `it is quantised to ${bits} bits`);
  if (!GROUP_SIZES.includes(groupSize)) throw unsupportedModel(path, `it is quantised in groups of ${groupSize}`);
  return { bits, groupSize };
};

const readQuantization = (path: string, config: Config): ((name: string) => Quantization | null) => {
  const settings = config.quantization ?? config.quantization_config ?? null;
  if (settings === null) return () => null;
  if ("quant_method" in settings) {
    throw unsupportedModel(
      path,
      `it is quantised by "${String(settings["quant_method"])}", and MLX's own is what runs`,
    );
  }
  const general = readGroups(path, "model", settings);
  const named = new Map<string, Quantization | null>();
  for (const [name, value] of Object.entries(settings)) {
    if (value === false) named.set(name, null);
    else if (typeof value === "object" && value !== null) named.set(name, readGroups(path, name, value));
  }
  return (name) => named.get(name) ?? (named.has(name) ? null : general);
};

const refuseOthers = (path: string, config: Config): void => {
  const refuse = (why: string) => {
    throw unsupportedModel(path, why);
  };
  if (config.model_type !== "llama") {
    refuse(`it holds a "${config.model_type}" model, and "llama" is what runs so far`);
  }
  if ((config.hidden_act ?? "silu") !== "silu") refuse(`its activation is "${config.hidden_act}"`);
  if (config.rope_traditional === true) refuse("its rotary embedding pairs neighbours");
  if ((config.partial_rotary_factor ?? 1) !== 1) refuse("its rotary embedding turns only a part of each head");
  const other = config.layer_types?.find((type) => type !== "full_attention");
  if (other !== undefined) refuse(`it has layers of "${other}"`);
};

/** Throws "unsupported-model" for what does not run here, "damaged-file" for what cannot be. */
export const readFolderConfig = (path: string, json: unknown): FolderConfig => {
  const type = v.safeParse(v.looseObject({ model_type: v.string() }), json);
  if (type.success && type.output.model_type !== "llama") {
    throw unsupportedModel(path, `it holds a "${type.output.model_type}" model, and "llama" is what runs so far`);
  }
  const parsed = v.safeParse(configSchema, json);
  if (!parsed.success) throw fail(path, parsed.issues);
  const config = parsed.output;
  refuseOthers(path, config);
  const heads = config.num_attention_heads;
  const headDim = config.head_dim ?? config.hidden_size / heads;
  const kvHeads = config.num_key_value_heads ?? heads;
  checkHeads(path, heads, kvHeads, headDim);
  const contextTokens = config.max_position_embeddings ?? DEFAULTS.contextTokens;
  return {
    llama: {
      layers: config.num_hidden_layers,
      hiddenSize: config.hidden_size,
      intermediateSize: config.intermediate_size,
      heads,
      kvHeads,
      headDim,
      vocabularySize: config.vocab_size,
      contextTokens,
      rope: readRope(path, config, headDim, contextTokens),
      normEpsilon: config.rms_norm_eps,
    },
    isHeadTied: config.tie_word_embeddings ?? null,
    hasAttentionBias: config.attention_bias ?? false,
    hasMlpBias: config.mlp_bias ?? false,
    quantization: readQuantization(path, config),
  };
};
