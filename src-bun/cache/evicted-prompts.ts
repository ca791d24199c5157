import { commonPrefix } from "../base/common-prefix.ts";

/** Together 1 MiB of token ids. */
const MAX_TOKENS = 2 ** 18;
const MAX_PROMPTS = 1000;

/** Token ids of what left RAM, so that a miss can say why. Bounded: the oldest are forgotten first. */
export class EvictedPrompts {
  readonly #prompts: { readonly namespace: string; readonly tokens: Uint32Array }[] = [];
  #tokens = 0;

  add(namespace: string, tokens: Uint32Array): void {
    if (this.longestPrefix(namespace, tokens) === tokens.length) return;
    this.#prompts.push({ namespace, tokens });
    this.#tokens += tokens.length;
    while (this.#tokens > MAX_TOKENS || this.#prompts.length > MAX_PROMPTS) {
      this.#tokens -= this.#prompts.shift()?.tokens.length ?? 0;
    }
  }

  longestPrefix(namespace: string, tokens: Uint32Array): number {
    let longest = 0;
    for (const prompt of this.#prompts) {
      if (prompt.namespace === namespace) longest = Math.max(longest, commonPrefix(prompt.tokens, tokens));
    }
    return longest;
  }

  clear(): void {
    this.#prompts.length = 0;
    this.#tokens = 0;
  }
}
