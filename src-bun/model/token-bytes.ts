import type { TokenStyle } from "./tokenizer-description.ts";

// Byte-level BPE writes each byte as a printable character (Radford et al. 2019): printable Latin-1 stands for itself,
// the other bytes, in order, for the characters from U+0100 on.
const isPrintable = (byte: number): boolean =>
  (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || (byte >= 0xae && byte <= 0xff);

const buildTable = (): ReadonlyMap<string, number> => {
  const table = new Map<string, number>();
  let next = 0x100;
  for (let byte = 0; byte < 256; byte++) {
    table.set(String.fromCodePoint(isPrintable(byte) ? byte : next++), byte);
  }
  return table;
};

const byteOf = buildTable();

const byteLevel = (token: string): Uint8Array => {
  const bytes: number[] = [];
  for (const character of token) {
    const byte = byteOf.get(character);
    if (byte === undefined) bytes.push(...new TextEncoder().encode(character));
    else bytes.push(byte);
  }
  return Uint8Array.from(bytes);
};

/** SentencePiece writes a byte that no piece covers as "<0x0A>", and blanks as "▁". */
const sentencePiece = (token: string): Uint8Array => {
  const byte = /^<0x([0-9A-F]{2})>$/.exec(token)?.[1];
  return byte === undefined
    ? new TextEncoder().encode(token.replaceAll("▁", " "))
    : Uint8Array.of(Number.parseInt(byte, 16));
};

/** The bytes of a vocabulary entry. Byte-level: characters outside the table stand for their own UTF-8. */
export const tokenBytes = (token: string, style: TokenStyle): Uint8Array =>
  style === "byte-level" ? byteLevel(token) : sentencePiece(token);
