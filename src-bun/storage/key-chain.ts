// Keys of the prefixes of one token sequence: HMAC-SHA-256 with the namespace's key over all tokens from 0.
const bytesOf = (tokens: Uint32Array): Uint8Array =>
  new Uint8Array(tokens.buffer, tokens.byteOffset, tokens.byteLength);

export class KeyChain {
  readonly #hasher: Bun.CryptoHasher;
  readonly #tokens: Uint32Array;
  #length = 0;

  /** `namespaceKey` is 64 hex digits. */
  constructor(namespaceKey: string, tokens: Uint32Array) {
    this.#hasher = new Bun.CryptoHasher("sha256", Buffer.from(namespaceKey, "hex"));
    this.#tokens = tokens;
  }

  /** The key of the first `length` tokens, followed by `more`. Requires that `length` never shrinks. */
  key(length: number, more: Uint32Array = new Uint32Array(0)): string {
    this.#hasher.update(bytesOf(this.#tokens.subarray(this.#length, length)));
    this.#length = length;
    const hasher = this.#hasher.copy();
    return hasher.update(bytesOf(more)).digest("hex");
  }
}
