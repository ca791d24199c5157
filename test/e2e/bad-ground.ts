// What Keepwarm may find on a computer that is not as it should be.
import { copyFileSync, mkdirSync, statSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { mlxSymbols } from "../../src-bun/mlx/symbols.ts";
import { writeStamp } from "../../src-bun/setup/part-stamp.ts";
import { setupParts } from "../../src-bun/setup/setup.ts";
import { thisMachine } from "../../src-bun/setup/setup-parts.ts";
import { sharedDownloads } from "../support/test-setup.ts";

/** A libmlxc that has every function and says that it is `version`. */
export const writeOtherMlx = (folder: string, version: string): void => {
  const special = ["mlx_version", "mlx_string_data"];
  const others = Object.keys(mlxSymbols).filter((name) => !special.includes(name));
  const source = [
    `int mlx_version(void **out) { *out = "${version}"; return 0; }`,
    "const char *mlx_string_data(const char *text) { return text; }",
    ...others.map((name) => `int ${name}(void) { return 0; }`),
  ];
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "other.c"), source.join("\n"));
  const { success, stderr } = Bun.spawnSync(["cc", "-shared", "-fPIC", "-o", "libmlxc.so", "other.c"], { cwd: folder });
  if (!success) throw new Error(`a C compiler is needed for this test: ${stderr}`);
};

/** Downloads in which the model is cut at half its length, as if it had been installed so; the rest is the shared one. */
export const writeCutModel = (folder: string): void => {
  const shared = sharedDownloads();
  mkdirSync(folder, { recursive: true });
  for (const part of setupParts(shared, process.env["KEEPWARM_LIBRARIES"] ?? null, thisMachine())) {
    if (part.id !== "starter") {
      symlinkSync(join(shared, part.folder), join(folder, part.folder));
      continue;
    }
    for (const file of part.files) {
      const own = join(folder, part.folder, file);
      mkdirSync(dirname(own), { recursive: true });
      copyFileSync(join(shared, part.folder, file), own);
      truncateSync(own, Math.floor(statSync(own).size / 2));
    }
    writeStamp(join(folder, part.folder), part);
  }
};

/** A volume with room for next to nothing. Making one takes root's rights on Linux. */
export class TinyVolume implements Disposable {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** Null where this user may not make one. */
  static open(folder: string): TinyVolume | null {
    if (process.platform !== "linux") return null;
    mkdirSync(folder, { recursive: true });
    const { success } = Bun.spawnSync(["mount", "-t", "tmpfs", "-o", "size=64k,mode=700", "tmpfs", folder]);
    return success ? new TinyVolume(folder) : null;
  }

  [Symbol.dispose](): void {
    const { success, stderr } = Bun.spawnSync(["umount", this.#folder]);
    if (!success) throw new Error(`${this.#folder} is still mounted: ${stderr}`);
  }
}

export const canMakeTinyVolume = (folder: string): boolean => {
  using volume = TinyVolume.open(folder);
  return volume !== null;
};
