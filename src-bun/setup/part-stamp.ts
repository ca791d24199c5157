// The stamp in a part's folder says which files were put there. It is written before the folder gets its name, so a
// folder with a good stamp is complete; comparing sizes and times keeps a second start free of hashing.
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { array, type InferOutput, number, object, parse, string } from "valibot";
import { messageOf } from "../base/errors.ts";
import type { Part } from "./part.ts";

const STAMP = "keepwarm-stamp.json";

const stampSchema = object({
  recipe: string(),
  files: array(object({ path: string(), bytes: number(), modifiedMs: number() })),
});
type Stamp = InferOutput<typeof stampSchema>;

export type PartState =
  | { readonly kind: "ready" }
  | { readonly kind: "missing" }
  | { readonly kind: "broken"; readonly reason: string };

const flush = (path: string): void => {
  const fd = openSync(path, "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
};

/** Requires that all of the part's files are in `folder`. */
export const writeStamp = (folder: string, part: Part): void => {
  const files = part.files.map((path) => {
    const { size, mtimeMs } = statSync(join(folder, path));
    flush(join(folder, path));
    return { path, bytes: size, modifiedMs: mtimeMs };
  });
  const stamp: Stamp = { recipe: part.recipe, files };
  writeFileSync(join(folder, STAMP), JSON.stringify(stamp));
  flush(join(folder, STAMP));
};

const faultOf = (folder: string, part: Part, stamp: Stamp): string | null => {
  if (stamp.recipe !== part.recipe) return "it was made by another version of Keepwarm";
  for (const path of part.files) {
    const expected = stamp.files.find((file) => file.path === path);
    const found = statSync(join(folder, path), { throwIfNoEntry: false });
    if (expected === undefined || found === undefined) return `${path} is not there`;
    if (found.size !== expected.bytes) return `${path} has ${found.size} bytes instead of ${expected.bytes}`;
    if (found.mtimeMs !== expected.modifiedMs) return `${path} was changed after it was installed`;
  }
  return null;
};

export const stateOf = (cacheFolder: string, part: Part): PartState => {
  const folder = join(cacheFolder, part.folder);
  if (!existsSync(folder)) return { kind: "missing" };
  try {
    const stamp = parse(stampSchema, JSON.parse(readFileSync(join(folder, STAMP), "utf8")));
    const reason = faultOf(folder, part, stamp);
    return reason === null ? { kind: "ready" } : { kind: "broken", reason };
  } catch (cause) {
    return { kind: "broken", reason: `its stamp cannot be read (${messageOf(cause)})` };
  }
};
