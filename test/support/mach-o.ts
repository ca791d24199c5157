// Reads what dyld reads of a 64-bit Mach-O library: its names, whom it needs, where it looks, what it exports.

export type MachO = {
  readonly cpu: "arm64" | "other";
  readonly installName: string | null;
  readonly needs: readonly string[];
  readonly runPaths: readonly string[];
  /** "14.0". */
  readonly minimumMacOs: string | null;
  readonly isSigned: boolean;
  readonly exports: ReadonlySet<string>;
  /** What another library must supply. */
  readonly imports: ReadonlySet<string>;
};

const MAGIC_64 = 0xfeedfacf;
const CPU_ARM64 = 0x0100000c;
const HEADER_BYTES = 32;
const SYMBOL_BYTES = 16;

const command = {
  symbolTable: 0x2,
  loadLibrary: 0xc,
  idLibrary: 0xd,
  codeSignature: 0x1d,
  dyldInfo: 0x80000022,
  buildVersion: 0x32,
  exportsTrie: 0x80000033,
  runPath: 0x8000001c,
} as const;

type LoadCommand = { readonly kind: number; readonly at: number };

const commandsOf = (view: DataView): LoadCommand[] => {
  const commands: LoadCommand[] = [];
  let at = HEADER_BYTES;
  for (let left = view.getUint32(16, true); left > 0; left--) {
    commands.push({ kind: view.getUint32(at, true), at });
    at += view.getUint32(at + 4, true);
  }
  return commands;
};

const textAt = (view: DataView, at: number): string => {
  let end = at;
  while (view.getUint8(end) !== 0) end++;
  return new TextDecoder().decode(new Uint8Array(view.buffer, view.byteOffset + at, end - at));
};

/** The string whose offset from the command's start stands in its third word. */
const nameOf = (view: DataView, { at }: LoadCommand): string => textAt(view, at + view.getUint32(at + 8, true));

const uleb = (view: DataView, start: number): { value: number; next: number } => {
  let [value, shift, at] = [0, 1, start];
  for (;;) {
    const byte = view.getUint8(at++);
    value += (byte & 0x7f) * shift;
    if (byte < 0x80) return { value, next: at };
    shift *= 128;
  }
};

/** A tree of name pieces; a node with a payload ends a name. dlsym looks here, not in the symbol table. */
const exportedNames = (view: DataView, trie: number): Set<string> => {
  const names = new Set<string>();
  const waiting: { readonly offset: number; readonly name: string }[] = [{ offset: 0, name: "" }];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    const payload = uleb(view, trie + node.offset);
    if (payload.value > 0) names.add(node.name);
    let at = payload.next + payload.value;
    for (let children = view.getUint8(at++); children > 0; children--) {
      const piece = textAt(view, at);
      const child = uleb(view, at + piece.length + 1);
      waiting.push({ offset: child.value, name: node.name + piece });
      at = child.next;
    }
  }
  return names;
};

const exportsOf = (view: DataView, commands: readonly LoadCommand[]): Set<string> => {
  for (const { kind, at } of commands) {
    if (kind === command.exportsTrie) return exportedNames(view, view.getUint32(at + 8, true));
    if (kind === command.dyldInfo) return exportedNames(view, view.getUint32(at + 40, true));
  }
  return new Set();
};

const importsOf = (view: DataView, table: LoadCommand | undefined): Set<string> => {
  const names = new Set<string>();
  if (table === undefined) return names;
  const [symbols, count, strings] = [8, 12, 16].map((offset) => view.getUint32(table.at + offset, true));
  for (let index = 0; index < (count ?? 0); index++) {
    const at = (symbols ?? 0) + index * SYMBOL_BYTES;
    const [isExternal, isDefined] = [(view.getUint8(at + 4) & 1) === 1, (view.getUint8(at + 4) & 0xfe) !== 0];
    if (isExternal && !isDefined) names.add(textAt(view, (strings ?? 0) + view.getUint32(at, true)));
  }
  return names;
};

/** Throws when the bytes are no 64-bit Mach-O of one architecture. */
export const readMachO = (bytes: Uint8Array): MachO => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint32(0, true) !== MAGIC_64) throw new Error("no 64-bit Mach-O file");
  const commands = commandsOf(view);
  const all = (kind: number) => commands.filter((one) => one.kind === kind);
  const [version] = all(command.buildVersion).map(({ at }) => view.getUint32(at + 12, true));
  return {
    cpu: view.getUint32(4, true) === CPU_ARM64 ? "arm64" : "other",
    installName: all(command.idLibrary).map((one) => nameOf(view, one))[0] ?? null,
    needs: all(command.loadLibrary).map((one) => nameOf(view, one)),
    runPaths: all(command.runPath).map((one) => nameOf(view, one)),
    minimumMacOs: version === undefined ? null : `${version >> 16}.${(version >> 8) & 0xff}`,
    isSigned: all(command.codeSignature).length > 0,
    exports: exportsOf(view, commands),
    imports: importsOf(view, all(command.symbolTable)[0]),
  };
};
