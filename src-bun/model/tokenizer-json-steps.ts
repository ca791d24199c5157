// The steps before merging, as the library takes them.
import * as v from "valibot";
import { unsupportedModel } from "./model-faults.ts";
import { cutDigits } from "./tokenizer-pattern.ts";

const pattern = v.union([v.object({ Regex: v.string() }), v.object({ String: v.string() })]);

const normalizers = v.variant("type", [
  v.object({ type: v.picklist(["NFC", "NFD", "NFKC", "NFKD"]) }),
  v.object({ type: v.literal("Replace"), pattern, content: v.string() }),
  v.object({ type: v.literal("Prepend"), prepend: v.string() }),
  v.object({ type: v.literal("Sequence"), normalizers: v.array(v.unknown()) }),
]);

const named = (step: unknown): string => JSON.stringify(step)?.slice(0, 120) ?? "nothing";

export const readNormalizer = (path: string, step: unknown): object | null => {
  if (step === null) return null;
  const parsed = v.safeParse(normalizers, step);
  if (!parsed.success) throw unsupportedModel(path, `its normalizer ${named(step)} is not known here`);
  if (parsed.output.type !== "Sequence") return parsed.output;
  return { type: "Sequence", normalizers: parsed.output.normalizers.map((one) => readNormalizer(path, one)) };
};

const preTokenizers = v.variant("type", [
  v.object({
    type: v.literal("ByteLevel"),
    add_prefix_space: v.optional(v.boolean(), true),
    use_regex: v.optional(v.boolean(), true),
  }),
  v.object({ type: v.literal("Digits"), individual_digits: v.optional(v.boolean(), false) }),
  v.object({
    type: v.literal("Split"),
    pattern,
    behavior: v.picklist(["Isolated", "Removed", "MergedWithPrevious"]),
    invert: v.optional(v.boolean(), false),
  }),
  v.object({
    type: v.literal("Metaspace"),
    replacement: v.optional(v.literal("▁"), "▁"),
    prepend_scheme: v.optional(v.picklist(["always", "first", "never"])),
    add_prefix_space: v.optional(v.boolean()),
    split: v.optional(v.boolean(), true),
  }),
  v.object({ type: v.literal("Sequence"), pretokenizers: v.array(v.unknown()) }),
]);

type PreTokenizer = v.InferOutput<typeof preTokenizers>;

/** For the first text and for text inside, behind a special token; the same object where nothing differs. */
export type PreTokenizing = {
  readonly first: object | null;
  readonly inside: object | null;
  readonly writesBytes: boolean;
};

const same = (step: object | null, also: Partial<PreTokenizing> = {}): PreTokenizing => ({
  first: step,
  inside: step,
  writesBytes: false,
  ...also,
});

/** Every "▁" begins a piece. */
const cutAtBlanks = { type: "Split", pattern: { Regex: "▁[^▁]*|[^▁]+" }, behavior: "Removed", invert: true } as const;

const readMetaspace = (step: PreTokenizer & { type: "Metaspace" }): PreTokenizing => {
  const scheme = step.prepend_scheme ?? (step.add_prefix_space === false ? "never" : "always");
  const build = (prependScheme: "always" | "never"): object => {
    const blanks = { type: "Metaspace", replacement: "▁", prepend_scheme: prependScheme };
    return step.split ? { type: "Sequence", pretokenizers: [blanks, cutAtBlanks] } : blanks;
  };
  if (scheme !== "first") return same(build(scheme));
  return same(build("always"), { inside: build("never") });
};

const readSplit = (path: string, step: PreTokenizer & { type: "Split" }): PreTokenizing => {
  const { behavior, invert, pattern: where } = step;
  if (behavior === "Isolated" && !invert) return same(step);
  if (behavior === "Removed" && invert) return same(step);
  // Gemma cuts at blanks after its normalizer has replaced them all.
  const finds = "String" in where ? where.String : null;
  if (behavior === "MergedWithPrevious" && finds === " ") return same(null);
  throw unsupportedModel(path, `its pre-tokenizer ${named(step)} is not known here`);
};

const readSequence = (path: string, steps: readonly unknown[]): PreTokenizing => {
  const read = steps.map((one) => readPreTokenizer(path, one)).filter(({ first }) => first !== null);
  if (read.length === 0) return same(null);
  const writesBytes = read.some((one) => one.writesBytes);
  const first = { type: "Sequence", pretokenizers: read.map((one) => one.first) };
  const also = { writesBytes };
  if (read.every((one) => one.first === one.inside)) return same(first, also);
  return same(first, { ...also, inside: { type: "Sequence", pretokenizers: read.map((one) => one.inside) } });
};

export const readPreTokenizer = (path: string, step: unknown): PreTokenizing => {
  if (step === null) return same(null);
  const parsed = v.safeParse(preTokenizers, step);
  if (!parsed.success) throw unsupportedModel(path, `its pre-tokenizer ${named(step)} is not known here`);
  const known = parsed.output;
  switch (known.type) {
    case "ByteLevel":
      return same(known, { writesBytes: true });
    case "Digits":
      return same(cutDigits(known.individual_digits));
    case "Split":
      return readSplit(path, known);
    case "Metaspace":
      return readMetaspace(known);
    case "Sequence":
      return readSequence(path, known.pretokenizers);
  }
};
