// The prefix tree of one namespace over exact token ids. A block continues its parent at any token of it, so two
// prompts that part inside a block share what lies before. Knows neither files nor tensors: `Value` is the owner's.
import { commonPrefix } from "../base/common-prefix.ts";

export type TreeBlock<Value> = {
  readonly key: string;
  readonly parent: TreeBlock<Value> | null;
  readonly start: number;
  readonly end: number;
  /** Of `start` to `end`. */
  readonly tokens: Uint32Array;
  readonly value: Value;
};

export type PathPart<Value> = { readonly block: TreeBlock<Value>; readonly upTo: number };
export type Found<Value> = {
  readonly length: number;
  /** From the root on; each block holds the tokens from its start to `upTo`. */
  readonly path: readonly PathPart<Value>[];
};

type Node<Value> = TreeBlock<Value> & { readonly children: Map<number, Node<Value>> };

/** A block has at most 256 tokens and a token id 32 bits, so this is a safe integer. */
const childKey = (offset: number, token: number): number => offset * 2 ** 32 + token;

export class BlockTree<Value> {
  readonly #roots = new Map<number, Node<Value>>();
  readonly #byKey = new Map<string, Node<Value>>();

  get size(): number {
    return this.#byKey.size;
  }

  *values(): Generator<Value> {
    for (const { value } of this.#byKey.values()) yield value;
  }

  get(key: string): TreeBlock<Value> | undefined {
    return this.#byKey.get(key);
  }

  /** The longest prefix of `tokens` that the blocks hold, exact to the token. */
  find(tokens: Uint32Array): Found<Value> {
    const path: PathPart<Value>[] = [];
    let length = 0;
    for (let node = this.#child(null, tokens, 0); node !== undefined; node = this.#child(node, tokens, length)) {
      length = node.start + commonPrefix(node.tokens, tokens.subarray(node.start));
      path.push({ block: node, upTo: length });
    }
    return { length, path };
  }

  /** Whether a block goes on, with other tokens, where the longest prefix of `tokens` ends. */
  continuesDifferently(tokens: Uint32Array): boolean {
    const { length, path } = this.find(tokens);
    const last = path.at(-1);
    if (last === undefined || length === tokens.length) return false;
    if (length < last.block.end) return true;
    const children = this.#byKey.get(last.block.key)?.children.values() ?? [];
    return [...children].some(({ start }) => start === length);
  }

  /** Whether no other block continues this one. */
  isLeaf(key: string): boolean {
    return this.#byKey.get(key)?.children.size === 0;
  }

  /**
   * Returns the block, or null when it is not the only one for its tokens: the first stays.
   * Requires that a child's first token differs from what its parent holds there.
   */
  insert(block: TreeBlock<Value>): TreeBlock<Value> | null {
    const siblings = block.parent === null ? this.#roots : this.#byKey.get(block.parent.key)?.children;
    const at = childKey(block.start - (block.parent?.start ?? 0), block.tokens[0] ?? 0);
    if (siblings === undefined || siblings.has(at) || this.#byKey.has(block.key)) return null;
    const node = { ...block, children: new Map() };
    siblings.set(at, node);
    this.#byKey.set(block.key, node);
    return node;
  }

  /** Takes the block and all that continues it out of the look-up. Returns how many blocks that were. */
  remove(key: string): number {
    const node = this.#byKey.get(key);
    if (node === undefined) return 0;
    const siblings = node.parent === null ? this.#roots : this.#byKey.get(node.parent.key)?.children;
    siblings?.delete(childKey(node.start - (node.parent?.start ?? 0), node.tokens[0] ?? 0));
    let removed = 0;
    for (let left = [node]; left.length > 0; ) {
      removed += left.length;
      for (const each of left) this.#byKey.delete(each.key);
      left = left.flatMap((each) => [...each.children.values()]);
    }
    return removed;
  }

  #child(node: Node<Value> | null, tokens: Uint32Array, at: number): Node<Value> | undefined {
    const token = tokens[at];
    if (token === undefined) return undefined;
    return node === null ? this.#roots.get(token) : node.children.get(childKey(at - node.start, token));
  }
}
