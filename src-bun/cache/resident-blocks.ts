// The blocks in RAM: a prefix tree for each namespace. A block lives as long as one that continues it.
import { BlockTree, type Found, type TreeBlock } from "../storage/ssd-cache.ts";
import type { Candidates } from "./candidates.ts";
import { type KeptBlock, mayLeave } from "./kept-unit.ts";

type Node<Block> = TreeBlock<KeptBlock<Block>>;

export class ResidentBlocks<Kv, Block> {
  readonly #candidates: Candidates<Kv, Block>;
  readonly #trees = new Map<string, BlockTree<KeptBlock<Block>>>();
  #made = 0;
  #bytes = 0;

  constructor(candidates: Candidates<Kv, Block>) {
    this.#candidates = candidates;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get size(): number {
    return [...this.#trees.values()].reduce((sum, { size }) => sum + size, 0);
  }

  get heldBytes(): number {
    return this.values().reduce((sum, { holds, bytes }) => sum + (holds > 0 ? bytes : 0), 0);
  }

  /** Of pinned blocks and of those that they continue. */
  get pinnedBytes(): number {
    const pinned = new Set<Node<Block>>();
    for (const tree of this.#trees.values()) {
      for (const { isPinned, key } of tree.values()) {
        for (let node = isPinned ? (tree.get(key) ?? null) : null; node !== null; node = node.parent) pinned.add(node);
      }
    }
    return [...pinned].reduce((sum, { value }) => sum + value.bytes, 0);
  }

  values(): KeptBlock<Block>[] {
    return [...this.#trees.values()].flatMap((tree) => [...tree.values()]);
  }

  find(tokens: Uint32Array, namespace: string): Found<KeptBlock<Block>> {
    return this.#trees.get(namespace)?.find(tokens) ?? { length: 0, path: [] };
  }

  continuesDifferently(tokens: Uint32Array, namespace: string): boolean {
    return this.#trees.get(namespace)?.continuesDifferently(tokens) ?? false;
  }

  /** Adds the block of `tokens` from `start` on, behind `parent`. Requires that `find` ended there. */
  insert(
    tokens: Uint32Array,
    start: number,
    parent: Node<Block> | null,
    made: Omit<KeptBlock<Block>, "kind" | "key" | "end" | "holds">,
  ): Node<Block> {
    const key = `${++this.#made}`;
    const value: KeptBlock<Block> = { ...made, kind: "block", key, end: tokens.length, holds: 0 };
    const node = this.#tree(value.namespace).insert({
      ...{ key, parent, start, end: tokens.length, value },
      tokens: tokens.slice(start),
    });
    if (node === null) throw new Error("a block was kept twice");
    this.#bytes += value.bytes;
    if (parent !== null) this.#candidates.delete(parent.value);
    this.settle(value);
    return node;
  }

  /** All tokens up to the end of a block. */
  tokensOf(unit: KeptBlock<Block>): Uint32Array {
    const tokens = new Uint32Array(unit.end);
    let end = unit.end;
    for (let node = this.#node(unit) ?? null; node !== null; node = node.parent) {
      tokens.set(node.tokens.subarray(0, end - node.start), node.start);
      end = node.start;
    }
    return tokens;
  }

  /** Takes a block out that no other continues; its memory is the caller's. */
  remove(unit: KeptBlock<Block>): void {
    const parent = this.#node(unit)?.parent ?? null;
    this.#tree(unit.namespace).remove(unit.key);
    this.#bytes -= unit.bytes;
    this.#candidates.delete(unit);
    if (parent !== null) this.settle(parent.value);
  }

  /** Makes the block a candidate again when nothing needs it any more. */
  settle(unit: KeptBlock<Block>): void {
    if (mayLeave(unit) && this.isLeaf(unit)) this.#candidates.add(unit);
    else this.#candidates.delete(unit);
  }

  isLeaf(unit: KeptBlock<Block>): boolean {
    return this.#tree(unit.namespace).isLeaf(unit.key);
  }

  /** Forgets every block and returns them; their memory is the caller's. */
  clear(): KeptBlock<Block>[] {
    const all = this.values();
    for (const unit of all) this.#candidates.delete(unit);
    this.#trees.clear();
    this.#bytes = 0;
    return all;
  }

  #node(unit: KeptBlock<Block>): Node<Block> | undefined {
    return this.#tree(unit.namespace).get(unit.key);
  }

  #tree(namespace: string): BlockTree<KeptBlock<Block>> {
    const known = this.#trees.get(namespace);
    if (known !== undefined) return known;
    const made = new BlockTree<KeptBlock<Block>>();
    this.#trees.set(namespace, made);
    return made;
  }
}
