// Builds the index from the files of a cache folder. Reads heads, cuts torn ends, and deletes nothing.
import { basename, join } from "node:path";
import { messageOf } from "../base/errors.ts";
import type { Filesystem } from "../platform/filesystem.ts";
import { type ScannedFile, scanFile } from "./scan-file.ts";
import { StoredNamespace } from "./stored-namespace.ts";

export type OpenedFile = ScannedFile & { readonly path: string };

const fileName = /^([0-9a-f]{32})-([0-9]{6})\.kv$/;

/** No user text: 32 hex digits of a hash and a number. */
export const namespacePath = (folder: string, namespace: string, number: number): string => {
  const hash = new Bun.CryptoHasher("sha256").update(namespace).digest("hex").slice(0, 32);
  return join(folder, `${hash}-${String(number).padStart(6, "0")}.kv`);
};

const scanAll = (filesystem: Filesystem, folder: string, log: (line: string) => void): OpenedFile[] => {
  const opened: OpenedFile[] = [];
  for (const name of filesystem
    .list(folder)
    .filter((each) => fileName.test(each))
    .sort()) {
    const path = join(folder, name);
    try {
      const scanned = scanFile(filesystem, path, (line) => log(`${name}: ${line}`));
      if (scanned === null) log(`${name} is passed over: its beginning is damaged.`);
      else opened.push({ ...scanned, path });
    } catch (thrown) {
      log(`${name} is passed over: ${messageOf(thrown)}`);
    }
  }
  return opened;
};

const insertAll = (namespace: StoredNamespace, file: OpenedFile, dropped: ReadonlySet<string>): number => {
  const placed = file.blocks.filter(
    ({ record, offset }) =>
      !dropped.has(`${basename(file.path)}:${offset}`) && namespace.insert(record, { path: file.path, offset }),
  );
  return file.blocks.length - placed.length;
};

/** Files of one namespace are read in the order in which they were made, so that parents come first. */
export const openNamespaces = (
  filesystem: Filesystem,
  folder: string,
  log: (line: string) => void,
): { readonly namespaces: Map<string, StoredNamespace>; readonly files: readonly OpenedFile[] } => {
  const files = scanAll(filesystem, folder, log);
  const dropped = new Set(files.flatMap(({ drops }) => drops.map(({ file, offset }) => `${file}:${offset}`)));
  const namespaces = new Map<string, StoredNamespace>();
  for (const file of files) {
    const { namespace: name, key } = file.header;
    const namespace = namespaces.get(name) ?? new StoredNamespace(name, key);
    if (namespace.key !== key) {
      log(`${basename(file.path)} is passed over: another file of its namespace has another key.`);
      continue;
    }
    namespaces.set(name, namespace);
    namespace.file = { path: file.path, end: file.end };
    const lost = insertAll(namespace, file, dropped);
    if (lost > 0) log(`${basename(file.path)}: ${lost} blocks are damaged or continue one that is.`);
  }
  return { namespaces, files };
};

/** The number after the highest that any file of this namespace has, readable or not. */
export const nextFileNumber = (names: readonly string[], folder: string, namespace: string): number => {
  const hash = fileName.exec(basename(namespacePath(folder, namespace, 0)))?.[1];
  const numbers = names.map((name) => fileName.exec(name)).filter((match) => match?.[1] === hash);
  return Math.max(0, ...numbers.map((match) => Number(match?.[2]))) + 1;
};
