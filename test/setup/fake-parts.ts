// The parts of a Linux machine in small, for the stand-in tools. Run as a program with a FakeInputs as JSON, it makes
// them: for tests that kill a process.
import type { Environment } from "../../src-bun/platform/paths.ts";
import { linuxCompiler } from "../../src-bun/setup/compiler.ts";
import { ensureParts } from "../../src-bun/setup/ensure-parts.ts";
import { linuxLibraryPart } from "../../src-bun/setup/library-part.ts";
import type { Part } from "../../src-bun/setup/part.ts";
import { sourcePart } from "../../src-bun/setup/source-part.ts";
import type { Crate, Wheel } from "../../src-bun/setup/versions.ts";
import { wheelPart } from "../../src-bun/setup/wheel-part.ts";

export type FakeInputs = {
  readonly cacheFolder: string;
  readonly environment: Environment;
  readonly mlx: Wheel;
  readonly openBlas: Wheel;
  readonly crate: Crate;
};

export const fakeParts = ({ mlx, openBlas, crate }: FakeInputs): Part[] => {
  const sources = sourcePart(crate);
  const compiler = ({ environment }: { environment: Environment }) => ({ ...linuxCompiler(environment), atATime: 1 });
  const library = linuxLibraryPart({ crate, mlx, openBlas, sourceFolder: sources.folder, compiler });
  return [wheelPart("mlx", "MLX 1.0", mlx), wheelPart("openblas", "OpenBLAS 1.0", openBlas), sources, library];
};

if (import.meta.main) {
  const inputs: FakeInputs = JSON.parse(process.argv[2] ?? "");
  const signal = new AbortController().signal;
  await ensureParts(fakeParts(inputs), { ...inputs, signal, onProgress: () => undefined });
}
