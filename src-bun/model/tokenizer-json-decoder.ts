import * as v from "valibot";
import { unsupportedModel } from "./model-faults.ts";
import type { TokenStyle } from "./tokenizer-description.ts";

export type Decoding = { readonly style: TokenStyle; readonly stripsFirstBlank: boolean };

const blank = v.object({
  type: v.literal("Replace"),
  pattern: v.object({ String: v.literal("▁") }),
  content: v.literal(" "),
});
const strip = v.object({
  type: v.literal("Strip"),
  content: v.literal(" "),
  start: v.picklist([0, 1]),
  stop: v.literal(0),
});
const metaspace = v.object({
  type: v.literal("Metaspace"),
  replacement: v.optional(v.literal("▁"), "▁"),
  prepend_scheme: v.optional(v.picklist(["always", "first", "never"])),
  add_prefix_space: v.optional(v.boolean()),
});
const plain = v.object({ type: v.picklist(["ByteLevel", "ByteFallback", "Fuse"]) });
const sequence = v.object({ type: v.literal("Sequence"), decoders: v.array(v.unknown()) });
const step = v.variant("type", [blank, strip, metaspace, plain]);

/** How the steps read bytes and blanks; a sequence of them may be one step too. */
export const readDecoder = (path: string, decoder: unknown): Decoding => {
  const many = v.safeParse(sequence, decoder);
  const steps = (many.success ? many.output.decoders : [decoder]).map((one) => {
    const parsed = v.safeParse(step, one);
    if (parsed.success) return parsed.output;
    throw unsupportedModel(path, `its decoder ${JSON.stringify(one)?.slice(0, 80)} is not known here`);
  });
  if (steps.some(({ type }) => type === "ByteLevel")) return { style: "byte-level", stripsFirstBlank: false };
  const stripsFirstBlank = steps.some(
    (one) =>
      (one.type === "Strip" && one.start === 1) ||
      (one.type === "Metaspace" &&
        (one.prepend_scheme ?? (one.add_prefix_space === false ? "never" : "always")) !== "never"),
  );
  return { style: "sentence-piece", stripsFirstBlank };
};
