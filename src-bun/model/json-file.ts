// JSON of a model, read whole and parsed strictly: it comes from a stranger.
import { messageOf } from "../base/errors.ts";
import { findRepeatedKey } from "./json-keys.ts";
import { damagedModel } from "./model-faults.ts";
import { ModelFile } from "./model-file.ts";

export const parseModelJson = (path: string, bytes: Uint8Array): unknown => {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    const value: unknown = JSON.parse(text);
    const repeated = findRepeatedKey(text);
    if (repeated === null) return value;
    throw new SyntaxError(`"${repeated}" is there twice`);
  } catch (cause) {
    throw damagedModel(path, `its JSON is not sound (${messageOf(cause)})`, cause);
  }
};

/** Throws "damaged-file" for what is absent, larger than `maxBytes` or no JSON. */
export const readModelJson = (path: string, maxBytes: number): unknown => {
  using file = ModelFile.open(path);
  if (file.sizeBytes > maxBytes) {
    throw damagedModel(path, `it has ${file.sizeBytes} bytes, and no such file needs more than ${maxBytes}`);
  }
  const bytes = new Uint8Array(file.sizeBytes);
  file.read(bytes, 0);
  return parseModelJson(path, bytes);
};
