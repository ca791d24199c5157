// The programs that set-up calls, where they are, and how a person gets those that are missing.
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import { KeepwarmError } from "../base/errors.ts";
import type { Environment } from "../platform/paths.ts";

type Tool = {
  readonly names: readonly string[];
  readonly purpose: string;
  readonly debian: string;
  readonly macos: string;
};

const appleTools = '"xcode-select --install"';

const tools = {
  python3: {
    names: ["python3"],
    purpose: "to fetch MLX and the starter model",
    debian: '"apt-get install python3 python3-pip"',
    macos: appleTools,
  },
  pip: {
    names: [],
    purpose: "to fetch MLX and the starter model",
    debian: '"apt-get install python3-pip"',
    macos: '"python3 -m ensurepip"',
  },
  cargo: {
    names: ["cargo"],
    purpose: "to fetch the sources of mlx-c",
    debian: "rustup (see rustup.rs; Debian's own cargo can be too old)",
    macos: "rustup (see rustup.rs)",
  },
  "c++": {
    names: ["g++", "c++", "clang++"],
    purpose: "to build the library that Bun calls MLX through",
    debian: '"apt-get install g++"',
    macos: appleTools,
  },
} as const satisfies Record<string, Tool>;

export type ToolName = keyof typeof tools;

const isProgram = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
};

/** The path of the first of the tool's names on PATH, or null. */
export const findTool = (tool: ToolName, environment: Environment): string | null => {
  const folders = (environment["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  for (const name of tools[tool].names) {
    const found = folders.map((folder) => join(folder, name)).find(isProgram);
    if (found !== undefined) return found;
  }
  return null;
};

/** "On Debian: …; on macOS: …", for messages. */
export const howToGet = (tool: ToolName): string =>
  `Install it with ${tools[tool].debian} on Debian, with ${tools[tool].macos} on macOS`;

export const missingTool = (tool: ToolName): KeepwarmError =>
  new KeepwarmError(
    "missing-tool",
    `${tool} is needed ${tools[tool].purpose}, and was not found. ${howToGet(tool)}, then start again.`,
  );

export const getTool = (tool: ToolName, environment: Environment): string => {
  const path = findTool(tool, environment);
  if (path === null) throw missingTool(tool);
  return path;
};
