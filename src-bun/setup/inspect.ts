// What is there and what is not, for `keepwarm doctor`. Changes nothing and opens no library.
import { join } from "node:path";
import type { Environment } from "../platform/paths.ts";
import type { Part } from "./part.ts";
import { stateOf } from "./part-stamp.ts";
import { runTool } from "./run-tool.ts";
import { setupParts } from "./setup.ts";
import { type Machine, thisMachine } from "./setup-parts.ts";
import { findTool, howToGet, type ToolName } from "./tools.ts";

export type Finding = {
  readonly title: string;
  readonly state: "ready" | "missing" | "broken";
  /** Null where nothing is there that could tell. */
  readonly version: string | null;
  /** Where it is, or what is wrong and what to do. */
  readonly detail: string;
};

export type SetupReport = { readonly parts: readonly Finding[]; readonly tools: readonly Finding[] };

type InspectOptions = {
  readonly cacheFolder: string;
  readonly givenLibraryFolder: string | null;
  readonly environment: Environment;
  readonly signal: AbortSignal;
};

const SETUP_AGAIN = 'Run "npm run keepwarm -- setup" to install it.';

const inspectPart = (cacheFolder: string, part: Part): Finding => {
  const { title, version, folder } = part;
  const state = stateOf(cacheFolder, part);
  switch (state.kind) {
    case "ready":
      return { title, state: "ready", version, detail: join(cacheFolder, folder) };
    case "missing":
      return { title, state: "missing", version: null, detail: SETUP_AGAIN };
    case "broken":
      return { title, state: "broken", version: null, detail: `In ${folder}, ${state.reason}. ${SETUP_AGAIN}` };
  }
};

const inspectTool = async (
  tool: ToolName,
  command: readonly (string | null)[],
  { cacheFolder: _, ...options }: InspectOptions,
): Promise<Finding> => {
  const found = command.filter((word) => word !== null);
  const missing = { title: tool, version: null, detail: `${howToGet(tool)}.` };
  if (found.length < command.length) return { ...missing, state: "missing" };
  const { isGood, output } = await runTool({ command: found, folder: "/", ...options });
  const [line = ""] = output.split("\n");
  if (!isGood) return { ...missing, state: "broken", detail: `It says "${line}". ${missing.detail}` };
  const version = /\d+(?:\.\d+)+/.exec(line)?.[0] ?? null;
  return { title: tool, state: "ready", version, detail: found[0] ?? "" };
};

const inspectTools = (options: InspectOptions): Promise<Finding[]> => {
  const python = findTool("python3", options.environment);
  return Promise.all([
    inspectTool("python3", [python, "--version"], options),
    inspectTool("pip", [python, "-m", "pip", "--version"], options),
    inspectTool("cargo", [findTool("cargo", options.environment), "--version"], options),
    inspectTool("c++", [findTool("c++", options.environment), "--version"], options),
  ]);
};

/** Throws a KeepwarmError on a machine that Keepwarm cannot be set up on. */
export const inspectSetup = async (options: InspectOptions, machine: Machine = thisMachine()): Promise<SetupReport> => {
  const { cacheFolder, givenLibraryFolder } = options;
  const parts = setupParts(cacheFolder, givenLibraryFolder, machine).map((part) => inspectPart(cacheFolder, part));
  return { parts, tools: await inspectTools(options) };
};
