// The SSD tier and the only authority on what it holds. Lives on the engine's thread; look-ups never touch the disk.
import { basename, join } from "node:path";
import { KeepwarmError, messageOf } from "../base/errors.ts";
import { acquireFileLock, type FileLock } from "../platform/file-lock.ts";
import type { Filesystem } from "../platform/filesystem.ts";
import type { PathPart } from "./block-tree.ts";
import type { FrameRecord } from "./frame.ts";
import type { FrameToWrite, PlacedFrame } from "./kv-jobs.ts";
import type { KvWriter } from "./kv-writer.ts";
import { namespacePath, nextFileNumber, openNamespaces } from "./open-namespaces.ts";
import { type BlockPlace, type Slot, type StoredBlock, StoredNamespace } from "./stored-namespace.ts";
import { type StoredTensorView, tokenSlice } from "./stored-tensor-view.ts";

export { BlockTree, type Found, type TreeBlock } from "./block-tree.ts";
export { MAX_BLOCK_TOKENS, type Slot, type StoredBlock } from "./stored-namespace.ts";
export type { StoredTensorView } from "./stored-tensor-view.ts";

export type SsdCacheOptions = {
  readonly folder: string;
  /** The caller's, who closes them after the store. */
  readonly kvWriter: Pick<KvWriter, "write">;
  readonly kvReader: Pick<KvWriter, "read">;
  readonly filesystem: Filesystem;
  readonly log?: (line: string) => void;
};

export type RestoreOutcome =
  | { readonly kind: "hit"; readonly tokens: number }
  | {
      readonly kind: "miss";
      readonly reason: string;
      /** Whether the bytes are at fault; else it may work another time. */
      readonly isDamage: boolean;
      /** So many leading tokens were read and are right, or are still offered by the look-up. */
      readonly goodTokens: number;
    };

export type SsdHealth =
  | { readonly kind: "up" }
  | { readonly kind: "down" | "full" | "read-only"; readonly reason: string };

export type SsdUsage = { readonly bytes: number; readonly blocks: number; readonly namespaces: number };

type Allocate = (slots: readonly Slot[]) => readonly StoredTensorView[];

/** Faults of the bytes themselves; any other may pass. */
const damage: readonly string[] = ["hash-mismatch", "invalid-reference", "length-drift", "truncated"];
/** Faults that leave the file fit for the next save; after any other a new file is begun. */
const keepsFile: readonly string[] = ["incomplete-blocks", "length-drift", "no-space", "read-only", "worker-exited"];
/** The caller's own: they say nothing about the disk. */
const callersFaults: readonly string[] = ["incomplete-blocks", "length-drift"];

const codeOf = (thrown: unknown): string => (thrown instanceof KeepwarmError ? thrown.code : "internal");

const healthAfter = (thrown: unknown): SsdHealth => {
  const code = codeOf(thrown);
  const kind = code === "no-space" ? "full" : code === "read-only" ? "read-only" : "down";
  return { kind, reason: messageOf(thrown) };
};

const lockFolder = (folder: string): FileLock => {
  const lock = acquireFileLock(join(folder, "lock"));
  if (lock !== "busy") return lock;
  throw new KeepwarmError("busy", `Another Keepwarm uses the cache folder ${folder}. Prompts stay in RAM only here.`);
};

const checkDestinations = (slots: readonly Slot[], views: readonly StoredTensorView[]): void => {
  const fits = slots.every((slot, index) => {
    const view = views[index];
    const isSpread = view?.shape.every((size, axis) => size <= 1 || view.strides[axis] !== 0) === true;
    return isSpread && view?.itemSize === slot.itemSize && `${view.shape}` === `${slot.shape}`;
  });
  if (!fits || slots.length !== views.length) throw new Error("The destinations of a restore differ from its slots.");
};

export class SsdCacheStore {
  readonly #options: SsdCacheOptions;
  readonly #lock: FileLock;
  readonly #namespaces: Map<string, StoredNamespace>;
  /** Sizes of files that take no more frames. */
  readonly #closedFiles = new Map<string, number>();
  /** Saves run one after the other: each begins where the one before ended. */
  #tail: Promise<unknown> = Promise.resolve();
  #health: SsdHealth = { kind: "up" };
  #isClosed = false;

  /** Rejects with "busy" while another process owns the folder. */
  static async open(options: SsdCacheOptions): Promise<SsdCacheStore> {
    options.filesystem.makeFolder(options.folder);
    const lock = lockFolder(options.folder);
    try {
      return new SsdCacheStore(options, lock);
    } catch (thrown) {
      lock[Symbol.dispose]();
      throw thrown;
    }
  }

  private constructor(options: SsdCacheOptions, lock: FileLock) {
    this.#options = options;
    this.#lock = lock;
    const { namespaces, files } = openNamespaces(options.filesystem, options.folder, (line) => this.#log(line));
    this.#namespaces = namespaces;
    for (const { path, end } of files) this.#closedFiles.set(path, end);
  }

  /** Of the last save: a later one that succeeds sets it up again. */
  get health(): SsdHealth {
    return this.#health;
  }

  longestDurablePrefix(tokens: Uint32Array, ns: string): number {
    return this.#namespaces.get(ns)?.tree.find(tokens).length ?? 0;
  }

  /** Whether something that is stored goes on, with other tokens, where the longest durable prefix ends. */
  continuesDifferently(tokens: Uint32Array, ns: string): boolean {
    return this.#namespaces.get(ns)?.tree.continuesDifferently(tokens) ?? false;
  }

  hasDurablePrefix(tokens: Uint32Array, ns: string): boolean {
    return this.longestDurablePrefix(tokens, ns) === tokens.length;
  }

  /** Returns whether all tokens are durable, also when they already were. A save that failed leaves no trace. */
  storeAsync(tokens: Uint32Array, blocks: readonly StoredBlock[], ns: string): Promise<boolean> {
    return this.#inTurn(() => this.#save(tokens, blocks, this.#namespace(ns)));
  }

  /** Reads the first `length` tokens into memory that `allocate` makes. Only a hit says that all of it is right. */
  async restore(ns: string, tokens: Uint32Array, length: number, allocate: Allocate): Promise<RestoreOutcome> {
    const namespace = this.#namespaces.get(ns);
    const wanted = tokens.subarray(0, length);
    const found = namespace?.tree.find(wanted) ?? { length: 0, path: [] };
    const slots = namespace?.slots(length) ?? null;
    if (namespace === undefined || slots === null || length === 0 || found.length < length)
      return {
        kind: "miss",
        reason: `${found.length} of ${length} tokens are stored.`,
        isDamage: false,
        goodTokens: found.length,
      };
    const destinations = allocate(slots);
    checkDestinations(slots, destinations);
    const keys = namespace.pathKeys(wanted, found.path);
    const reads = found.path.map((part, index) => this.#read(part, keys[index] ?? "", destinations));
    const outcomes = await Promise.allSettled(reads);
    const bad = outcomes.findIndex((outcome) => outcome.status === "rejected");
    const [part, outcome] = [found.path[bad], outcomes[bad]];
    if (part === undefined || outcome?.status !== "rejected") return { kind: "hit", tokens: length };
    const isDamage = damage.includes(codeOf(outcome.reason));
    if (isDamage) this.#letGo(namespace, part, outcome.reason);
    return { kind: "miss", reason: messageOf(outcome.reason), isDamage, goodTokens: part.block.start };
  }

  /** Bytes in the files, blocks that a look-up can reach, and namespaces. */
  usage(): SsdUsage {
    const all = [...this.#namespaces.values()];
    const bytes = new Map(this.#closedFiles);
    for (const { file } of all) if (file !== null) bytes.set(file.path, file.end);
    return {
      bytes: [...bytes.values()].reduce((sum, each) => sum + each, 0),
      blocks: all.reduce((sum, { tree }) => sum + tree.size, 0),
      namespaces: all.length,
    };
  }

  /** Waits for the saves that were asked for, then lets another process have the folder. Safe to call twice. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#tail;
    this.#lock[Symbol.dispose]();
  }

  #log(line: string): void {
    this.#options.log?.(line);
  }

  #namespace(name: string): StoredNamespace {
    const known = this.#namespaces.get(name);
    if (known !== undefined) return known;
    const key = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("hex");
    const made = new StoredNamespace(name, key);
    this.#namespaces.set(name, made);
    return made;
  }

  /** Runs after all earlier saves; false when it failed. */
  #inTurn(save: () => Promise<boolean>): Promise<boolean> {
    if (this.#isClosed) return Promise.resolve(false);
    const turn = this.#tail.then(save).catch((thrown: unknown) => {
      this.#log(`A save failed: ${messageOf(thrown)}`);
      if (!callersFaults.includes(codeOf(thrown))) this.#health = healthAfter(thrown);
      return false;
    });
    this.#tail = turn;
    return turn;
  }

  async #save(tokens: Uint32Array, blocks: readonly StoredBlock[], namespace: StoredNamespace): Promise<boolean> {
    const { frames, reusedBytes } = namespace.plan(tokens, blocks);
    if (frames.length > 0) {
      const { path, placed } = await this.#append(namespace, frames, reusedBytes);
      for (const [index, { header }] of frames.entries()) {
        const place = placed[index];
        if (place !== undefined) namespace.insert(header, { path, offset: place.offset });
      }
    }
    return namespace.tree.find(tokens).length === tokens.length;
  }

  /** Writes the frames behind the namespace's last ones, in a new file where there is none to go on with. */
  async #append(
    namespace: StoredNamespace,
    frames: readonly FrameToWrite[],
    reusedBytes: number,
  ): Promise<{ readonly path: string; readonly placed: readonly PlacedFrame[] }> {
    const { path, end: offset } = namespace.file ?? { path: this.#newPath(namespace.name), end: 0 };
    const file: FrameToWrite = {
      header: { kind: "file", namespace: namespace.name, key: namespace.key },
      tensors: [],
    };
    const own = frames.map(({ header, tensors }) => ({ header: savedFrom(header, offset), tensors }));
    const first = offset === 0 ? [file] : [];
    try {
      const written = await this.#options.kvWriter.write({ path, offset, frames: [...first, ...own], reusedBytes });
      namespace.file = { path, end: written.end };
      this.#health = { kind: "up" };
      return { path, placed: written.frames.slice(first.length) };
    } catch (thrown) {
      if (!keepsFile.includes(codeOf(thrown))) {
        this.#closedFiles.set(path, offset);
        namespace.file = null;
      }
      throw thrown;
    }
  }

  #newPath(namespace: string): string {
    const { filesystem, folder } = this.#options;
    return namespacePath(folder, namespace, nextFileNumber(filesystem.list(folder), folder, namespace));
  }

  #read(part: PathPart<BlockPlace>, key: string, destinations: readonly StoredTensorView[]): Promise<void> {
    const { start, value } = part.block;
    const own = destinations.map((view) => tokenSlice(view, start, part.upTo - start));
    return this.#options.kvReader.read({ ...value, key, destinations: own });
  }

  /** A damaged block and what continues it leave the look-up, here and after the next start. */
  #letGo(namespace: StoredNamespace, { block }: PathPart<BlockPlace>, thrown: unknown): void {
    if (namespace.tree.get(block.key) !== block) return;
    const blocks = namespace.tree.remove(block.key);
    this.#log(`${blocks} blocks of a prompt are let go: ${messageOf(thrown)}`);
    const { path, offset } = block.value;
    const header = { kind: "drop", file: basename(path), offset, savedFrom: 0 } as const;
    this.#inTurn(async () => {
      await this.#append(namespace, [{ header, tensors: [] }], 0);
      return true;
    }).catch((fault: unknown) => this.#log(messageOf(fault)));
  }
}

const savedFrom = (header: FrameRecord, offset: number): FrameRecord =>
  header.kind === "file" ? header : { ...header, savedFrom: offset };
