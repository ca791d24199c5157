// Checks that every tensor a GGUF header names lies inside its file, before a loader that trusts headers maps it.

/** Of `@huggingface/gguf`, as far as it matters here. */
export type GgufHeader = {
  readonly tensorDataOffset: bigint;
  readonly tensorInfos: readonly {
    readonly name: string;
    readonly shape: readonly bigint[];
    readonly dtype: number;
    readonly offset: bigint;
  }[];
};

/** Elements and bytes of a block, by the number of the type (ggml, `enum ggml_type`), for what MLX's loader reads. */
const blocks: Readonly<Record<number, { readonly name: string; readonly elements: bigint; readonly bytes: bigint }>> = {
  0: { name: "F32", elements: 1n, bytes: 4n },
  1: { name: "F16", elements: 1n, bytes: 2n },
  2: { name: "Q4_0", elements: 32n, bytes: 18n },
  3: { name: "Q4_1", elements: 32n, bytes: 20n },
  8: { name: "Q8_0", elements: 32n, bytes: 34n },
};

export type TensorFault = { readonly kind: "damaged" | "unsupported"; readonly why: string };

/** The first fault, or null. Sizes are exact: a shape's product may pass 2^53. */
export const findTensorFault = (header: GgufHeader, fileBytes: number): TensorFault | null => {
  for (const { name, shape, dtype, offset } of header.tensorInfos) {
    const block = blocks[dtype];
    if (block === undefined) {
      const known = Object.values(blocks).map((one) => one.name);
      return {
        kind: "unsupported",
        why: `"${name}" has quantisation type ${dtype}; Keepwarm reads ${known.join(", ")}`,
      };
    }
    const elements = shape.reduce((product, length) => product * length, 1n);
    if (elements % block.elements !== 0n) return { kind: "damaged", why: `"${name}" is no whole number of blocks` };
    const end = header.tensorDataOffset + offset + (elements / block.elements) * block.bytes;
    if (end > BigInt(fileBytes)) {
      return { kind: "damaged", why: `"${name}" ends at byte ${end}, but the file has ${fileBytes}` };
    }
  }
  return null;
};
