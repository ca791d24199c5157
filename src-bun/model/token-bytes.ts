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

/** The bytes of a vocabulary entry. Characters outside the table stand for their own UTF-8. */
export const tokenBytes = (token: string): Uint8Array => {
  const bytes: number[] = [];
  for (const character of token) {
    const byte = byteOf.get(character);
    if (byte === undefined) bytes.push(...new TextEncoder().encode(character));
    else bytes.push(byte);
  }
  return Uint8Array.from(bytes);
};
