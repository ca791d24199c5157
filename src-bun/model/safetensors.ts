// The header of a safetensors file: eight bytes of length, a JSON object, then the tensors without a gap.
import * as v from "valibot";
import { parseModelJson } from "./json-file.ts";
import { damagedModel, unsupportedModel } from "./model-faults.ts";
import type { ModelFile } from "./model-file.ts";
import { checkedTensor, checkLayout, isStoredType, type StoredTensor } from "./stored-tensor.ts";

/** The limit of the format's own reader. */
const MAX_HEADER_BYTES = 100_000_000;
const LENGTH_BYTES = 8;

const whole = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const entrySchema = v.strictObject({
  dtype: v.string(),
  shape: v.array(whole),
  data_offsets: v.strictTuple([whole, whole]),
});
const headerSchema = v.record(v.string(), v.unknown());

const readHeader = (file: ModelFile): { readonly header: Record<string, unknown>; readonly dataStart: number } => {
  if (file.sizeBytes < LENGTH_BYTES) throw damagedModel(file.path, `it has ${file.sizeBytes} bytes`);
  const length = new BigUint64Array(1);
  file.read(new Uint8Array(length.buffer), 0);
  const headerBytes = length[0] ?? 0n;
  const most = Math.min(MAX_HEADER_BYTES, file.sizeBytes - LENGTH_BYTES);
  if (headerBytes > BigInt(most)) {
    throw damagedModel(file.path, `its header claims ${headerBytes} bytes, and at most ${most} are possible`);
  }
  const bytes = new Uint8Array(Number(headerBytes));
  file.read(bytes, LENGTH_BYTES);
  const header = v.safeParse(headerSchema, parseModelJson(file.path, bytes));
  if (!header.success || Array.isArray(header.output)) throw damagedModel(file.path, "its header is no JSON object");
  return { header: header.output, dataStart: LENGTH_BYTES + bytes.length };
};

const readTensor = (file: ModelFile, name: string, value: unknown, dataStart: number): StoredTensor => {
  const entry = v.safeParse(entrySchema, value);
  if (!entry.success) throw damagedModel(file.path, `"${name}" is not described soundly (${entry.issues[0].message})`);
  const { dtype, shape, data_offsets: offsets } = entry.output;
  if (!isStoredType(dtype)) throw unsupportedModel(file.path, `"${name}" has the element type "${dtype}"`);
  const start = BigInt(dataStart) + BigInt(offsets[0]);
  const tensor = checkedTensor(file, { name, type: dtype, shape: shape.map(BigInt), start });
  if (offsets[1] - offsets[0] === tensor.bytes) return tensor;
  throw damagedModel(
    file.path,
    `"${name}" claims the bytes ${offsets.join(" to ")}, but its shape needs ${tensor.bytes}`,
  );
};

/** Every tensor of the file. Throws "damaged-file" for a header that is not sound in every part. */
export const readSafetensors = (file: ModelFile): StoredTensor[] => {
  const { header, dataStart } = readHeader(file);
  const entries = Object.entries(header).filter(([name]) => name !== "__metadata__");
  const tensors = entries.map(([name, value]) => readTensor(file, name, value, dataStart));
  checkLayout(tensors, dataStart, (at, bytes) => {
    throw damagedModel(file.path, `the ${bytes} bytes from ${at} on belong to no tensor`);
  });
  const end = tensors.reduce((last, { start, bytes }) => Math.max(last, start + bytes), dataStart);
  if (end === file.sizeBytes) return tensors;
  throw damagedModel(file.path, `its tensors end at byte ${end}, but the file has ${file.sizeBytes}`);
};
