// Rows of weights from the bytes of a file to float32, with the arithmetic of MLX's own kernels: every product and
// every sum is rounded to float32.
import type { Quantization } from "../mlx/ops.ts";
import type { StoredType } from "./stored-tensor.ts";

const HALF_VALUES = 1 << 16;
export const GGML_BLOCK = 32;

const words = (bytes: Uint8Array): Uint16Array =>
  new Uint16Array(bytes.buffer, bytes.byteOffset, Math.floor(bytes.length / 2));

/** Decodes rows of numbers. Keeps one table, so that many tensors share it. */
export class RowDecoders {
  /** The value of each half-precision number, by its bits. */
  readonly #half = new Float32Array(new Float16Array(Uint16Array.from({ length: HALF_VALUES }, (_, i) => i).buffer));

  /** False: not a type of weights. */
  decode(type: StoredType, bytes: Uint8Array, into: Float32Array): boolean {
    switch (type) {
      case "F32":
        new Uint8Array(into.buffer, into.byteOffset, into.byteLength).set(bytes);
        return true;
      case "F16":
        this.#f16(bytes, into);
        return true;
      case "BF16":
        decodeBrain(bytes, into);
        return true;
      case "Q4_0":
        this.#q4With0(bytes, into);
        return true;
      case "Q4_1":
        this.#q4With1(bytes, into);
        return true;
      case "Q8_0":
        this.#q8(bytes, into);
        return true;
      default:
        return false;
    }
  }

  #f16(bytes: Uint8Array, into: Float32Array): void {
    const [half, table] = [words(bytes), this.#half];
    for (let at = 0; at < into.length; at++) into[at] = table[half[at] as number] as number;
  }

  /** Blocks of scale and 32 halves of bytes; value k lies in the low half of byte k, value k + 16 in its high half. */
  #q4With0(bytes: Uint8Array, into: Float32Array): void {
    for (let block = 0; block * GGML_BLOCK < into.length; block++) {
      const at = block * 18;
      const scale = this.#halfAt(bytes, at);
      nibbles(bytes, at + 2, into, block * GGML_BLOCK, scale, -8 * scale);
    }
  }

  /** As Q4_0, with the smallest value after the scale. */
  #q4With1(bytes: Uint8Array, into: Float32Array): void {
    for (let block = 0; block * GGML_BLOCK < into.length; block++) {
      const at = block * 20;
      nibbles(bytes, at + 4, into, block * GGML_BLOCK, this.#halfAt(bytes, at), this.#halfAt(bytes, at + 2));
    }
  }

  /** Blocks of scale and 32 signed bytes. */
  #q8(bytes: Uint8Array, into: Float32Array): void {
    const signed = new Int8Array(bytes.buffer, bytes.byteOffset, bytes.length);
    for (let block = 0; block * GGML_BLOCK < into.length; block++) {
      const scale = this.#halfAt(bytes, block * 34);
      const [from, to] = [block * 34 + 2, block * GGML_BLOCK];
      for (let k = 0; k < GGML_BLOCK; k++) into[to + k] = scale * (signed[from + k] as number);
    }
  }

  /** Scale and bias of each block, so that value = scale · q + bias with the q that `packNibbles` and `packBytes` write. */
  blockHeads(type: "Q4_0" | "Q4_1" | "Q8_0", bytes: Uint8Array, scales: Float32Array, biases: Float32Array): void {
    const blockBytes = { Q4_0: 18, Q4_1: 20, Q8_0: 34 }[type];
    for (let block = 0; block < scales.length; block++) {
      const at = block * blockBytes;
      const scale = this.#halfAt(bytes, at);
      scales[block] = scale;
      biases[block] = type === "Q4_1" ? this.#halfAt(bytes, at + 2) : scale * (type === "Q4_0" ? -8 : -128);
    }
  }

  #halfAt(bytes: Uint8Array, at: number): number {
    return this.#half[(bytes[at] as number) | ((bytes[at + 1] as number) << 8)] as number;
  }
}

const decodeBrain = (bytes: Uint8Array, into: Float32Array): void => {
  const brain = words(bytes);
  const bits = new Uint32Array(into.buffer, into.byteOffset, into.length);
  for (let at = 0; at < bits.length; at++) bits[at] = (brain[at] as number) << 16;
};

const nibbles = (
  bytes: Uint8Array,
  from: number,
  into: Float32Array,
  to: number,
  scale: number,
  bias: number,
): void => {
  for (let k = 0; k < GGML_BLOCK / 2; k++) {
    const pair = bytes[from + k] as number;
    into[to + k] = Math.fround(scale * (pair & 15)) + bias;
    into[to + k + GGML_BLOCK / 2] = Math.fround(scale * (pair >> 4)) + bias;
  }
};

/** MLX's affine groups: a little-endian stream of `bits` a value; value = scale · q + bias, both by group. */
export const decodeAffine = (
  packed: Uint8Array,
  scales: Float32Array,
  biases: Float32Array,
  { bits, groupSize }: Quantization,
  into: Float32Array,
): void => {
  const mask = (1 << bits) - 1;
  let [held, heldBits, from] = [0, 0, 0];
  for (let group = 0; group * groupSize < into.length; group++) {
    const [scale, bias] = [scales[group] as number, biases[group] as number];
    const end = (group + 1) * groupSize;
    for (let at = group * groupSize; at < end; at++) {
      if (heldBits < bits) {
        held |= (packed[from++] as number) << heldBits;
        heldBits += 8;
      }
      into[at] = Math.fround(scale * (held & mask)) + bias;
      held >>>= bits;
      heldBits -= bits;
    }
  }
};

/** Blocks of q4_0 or q4_1 as MLX packs values, their low halves first. `headBytes` is what stands before the values. */
export const packNibbles = (bytes: Uint8Array, headBytes: number, into: Uint8Array): void => {
  const blockBytes = headBytes + GGML_BLOCK / 2;
  for (let block = 0; block * 16 < into.length; block++) {
    const [from, to] = [block * blockBytes + headBytes, block * 16];
    for (let k = 0; k < 8; k++) {
      const [a, b] = [bytes[from + 2 * k] as number, bytes[from + 2 * k + 1] as number];
      into[to + k] = (a & 15) | ((b & 15) << 4);
      into[to + 8 + k] = (a >> 4) | (b & 0xf0);
    }
  }
};

/** Blocks of q8_0 as MLX packs values: unsigned, 128 higher. */
export const packBytes = (bytes: Uint8Array, into: Uint8Array): void => {
  for (let block = 0; block * GGML_BLOCK < into.length; block++) {
    const [from, to] = [block * 34 + 2, block * GGML_BLOCK];
    for (let k = 0; k < GGML_BLOCK; k++) into[to + k] = (bytes[from + k] as number) ^ 0x80;
  }
};
