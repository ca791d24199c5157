/** Repeatable uniform numbers: SplitMix64 (Steele, Lea and Flood 2014). */
export class SeededRandom {
  #state: bigint;

  /** `seed` is a whole number. Its place in the sequence is mixed, so that neighbouring seeds share no stretch. */
  constructor(seed: number) {
    this.#state = mixed(BigInt.asUintN(64, BigInt(seed)));
  }

  /** From 0 up to, and without, 1, in steps of 2^-53. */
  next(): number {
    this.#state = BigInt.asUintN(64, this.#state + 0x9e3779b97f4a7c15n);
    return Number(mixed(this.#state) >> 11n) / 2 ** 53;
  }
}

const mixed = (value: bigint): bigint => {
  const first = BigInt.asUintN(64, (value ^ (value >> 30n)) * 0xbf58476d1ce4e5b9n);
  const second = BigInt.asUintN(64, (first ^ (first >> 27n)) * 0x94d049bb133111ebn);
  return second ^ (second >> 31n);
};
