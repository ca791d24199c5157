// The sources of mlx-c lie inside a crate: cargo fetches and checks it, and only that folder of it is kept.
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { object, parse, string } from "valibot";
import { KeepwarmError } from "../base/errors.ts";
import type { Part, PartWork } from "./part.ts";
import { runTool } from "./run-tool.ts";
import { toolFailure } from "./tool-failure.ts";
import { getTool } from "./tools.ts";
import type { Crate } from "./versions.ts";

const manifestFor = (crate: Crate): string => `[package]
name = "keepwarm-fetch"
version = "0.0.0"
edition = "2021"

[dependencies]
${crate.name} = { version = "=${crate.version}", default-features = false }
`;

const vendor = async (crate: Crate, work: PartWork): Promise<string> => {
  const cargo = getTool("cargo", work.environment);
  const project = join(work.scratchFolder, "fetch");
  await mkdir(join(project, "src"), { recursive: true });
  await writeFile(join(project, "Cargo.toml"), manifestFor(crate));
  await writeFile(join(project, "src/lib.rs"), "");
  const { isGood, output } = await runTool({
    command: [cargo, "vendor", "--quiet", "--versioned-dirs", "vendor"],
    folder: project,
    environment: work.environment,
    signal: work.signal,
  });
  if (!isGood) {
    throw toolFailure("cargo", output, {
      code: "download-failed",
      what: `cargo could not fetch ${crate.name} ${crate.version}`,
      advice: "Check the network connection, and that cargo is recent (rustup.rs), then start again.",
    });
  }
  return join(project, "vendor", `${crate.name}-${crate.version}`);
};

/** cargo compares what it fetched with its index, and notes the checksum; here it must be the one we know. */
const check = async (crate: Crate, folder: string): Promise<void> => {
  const note = JSON.parse(await readFile(join(folder, ".cargo-checksum.json"), "utf8"));
  if (parse(object({ package: string() }), note).package !== crate.sha256) {
    throw new KeepwarmError(
      "damaged-file",
      `The download of ${crate.name} ${crate.version} is not the expected one: its checksum does not match. Start again to fetch it anew.`,
    );
  }
};

const makeSource = async (crate: Crate, work: PartWork): Promise<void> => {
  work.report({ doneBytes: 0, detail: "Downloading" });
  const vendored = await vendor(crate, work);
  work.report({ doneBytes: crate.bytes, detail: "Checking" });
  await check(crate, vendored);
  await cp(join(vendored, crate.sourceFolder), work.folder, { recursive: true });
};

export const sourcePart = (crate: Crate): Part => ({
  id: "mlx-c",
  title: `mlx-c ${crate.version} sources`,
  version: crate.version,
  folder: `mlx-c-${crate.version}`,
  totalBytes: crate.bytes,
  diskBytes: crate.unpackedBytes,
  files: ["mlx/c/mlx.h", "mlx/c/version.cpp"],
  recipe: crate.sha256,
  make: (work) => makeSource(crate, work),
});
