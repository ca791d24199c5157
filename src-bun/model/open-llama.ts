// A model on the disk, opened and checked: its shape, and where its weights lie.
import { statSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { readFolderConfig } from "./folder-config.ts";
import { readGgufConfig } from "./gguf-config.ts";
import { type GgufMetadata, readGgufHeader } from "./gguf-header.ts";
import { readModelJson } from "./json-file.ts";
import type { LlamaConfig } from "./llama-config.ts";
import { folderNames, ggufNames, LlamaSource } from "./llama-source.ts";
import { damagedModel } from "./model-faults.ts";
import { ModelFile } from "./model-file.ts";
import { readSafetensors } from "./safetensors.ts";

export type OpenedLlama = {
  readonly config: LlamaConfig;
  /** Null: as the tensors say. */
  readonly isHeadTied: boolean | null;
  readonly source: LlamaSource;
  /** Of a GGUF; a folder has its texts in files of their own. */
  readonly metadata: GgufMetadata | null;
};

const MAX_CONFIG_BYTES = 1 << 20;
const MAX_INDEX_BYTES = 64 << 20;
const MAX_SHARDS = 4096;

const indexSchema = v.looseObject({ weight_map: v.record(v.string(), v.string()) });
/** A name from outside that becomes a path: it must stay in the folder. */
const shardName = /^[A-Za-z0-9_][A-Za-z0-9_.-]*\.safetensors$/;

type Shards = { readonly names: readonly string[]; readonly map: ReadonlyMap<string, string> | null };

const readShards = (folder: string): Shards => {
  const path = join(folder, "model.safetensors.index.json");
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return { names: ["model.safetensors"], map: null };
  const index = v.safeParse(indexSchema, readModelJson(path, MAX_INDEX_BYTES));
  if (!index.success) throw damagedModel(path, `its "weight_map" does not name a file for each tensor`);
  const map = new Map(Object.entries(index.output.weight_map));
  const names = [...new Set(map.values())].sort();
  const wrong = names.find((name) => !shardName.test(name));
  if (wrong !== undefined) throw damagedModel(path, `"${wrong}" is no name of a file with weights`);
  if (names.length > MAX_SHARDS) throw damagedModel(path, `it names ${names.length} files`);
  return { names, map };
};

const openFolder = (folder: string): OpenedLlama => {
  const configPath = join(folder, "config.json");
  const { llama, isHeadTied, hasAttentionBias, hasMlpBias, quantization } = readFolderConfig(
    configPath,
    readModelJson(configPath, MAX_CONFIG_BYTES),
  );
  const { names, map } = readShards(folder);
  using unfinished = new DisposableStack();
  const files = names.map((name) => unfinished.use(ModelFile.open(join(folder, name))));
  const tensors = files.flatMap((file, index) =>
    readSafetensors(file).filter(({ name }) => map === null || map.get(name) === names[index]),
  );
  const found = new Set(tensors.map(({ name }) => name));
  const lost = map === null ? undefined : [...map.keys()].find((name) => !found.has(name));
  if (lost !== undefined) throw damagedModel(folder, `"${lost}" is not in "${map?.get(lost)}"`);
  const source = new LlamaSource({
    path: folder,
    names: folderNames,
    hasNeighbouringPairs: false,
    tensors,
    quantization,
    hasBias: (name) => (name.includes(".mlp.") ? hasMlpBias : name.includes(".self_attn.") && hasAttentionBias),
    files,
  });
  unfinished.move();
  return { config: llama, isHeadTied, source, metadata: null };
};

const openGguf = (path: string): OpenedLlama => {
  using unfinished = new DisposableStack();
  const file = unfinished.use(ModelFile.open(path));
  const { metadata, tensors } = readGgufHeader(file);
  const config = readGgufConfig(path, metadata, tensors);
  const source = new LlamaSource({
    path,
    names: ggufNames,
    hasNeighbouringPairs: true,
    tensors,
    quantization: () => null,
    hasBias: () => null,
    files: [file],
  });
  unfinished.move();
  return { config, isHeadTied: null, source, metadata };
};

/** Opens a folder in MLX's format or a GGUF file. The caller disposes of the source. */
export const openLlama = (path: string): OpenedLlama =>
  statSync(path, { throwIfNoEntry: false })?.isDirectory() === true ? openFolder(path) : openGguf(path);
