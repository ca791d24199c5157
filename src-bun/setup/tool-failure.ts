// Turns what a failed program printed into one sentence with a cause a person can act on.
import { type ErrorCode, KeepwarmError } from "../base/errors.ts";
import { missingTool, type ToolName } from "./tools.ts";

const FULL_DISK = /no space left on device|disk quota exceeded|errno 28|os error 28/i;
const NO_PIP = /no module named pip/i;
/** Apple's stand-in for a program that comes with the command line tools. */
const NO_APPLE_TOOLS = /xcode-select: .*(?:no developer tools|error)/i;
/** pip ends with "no matching distribution" when it reached nobody; the line that says so stands further up. */
const NETWORK =
  /connection|resolution|resolve host|timed? ?out|network|unreachable|certificate|\bssl\b|proxy|spurious|http error|incompleteread/i;
const TERMINAL_CODES = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, "g");

/** What pip wraps around the cause. */
const WRAPPING = /^(?:WARNING|ERROR): |Retrying \(Retry\(.*?\)\) after |<[^<>]* object at 0x[0-9a-f]+>: /g;

const QUOTED_CHARACTERS = 300;

/** The line of the output that says why. */
export const reasonOf = (output: string): string => {
  const lines = output
    .replace(TERMINAL_CODES, "")
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .filter((line) => line !== "");
  const line = lines.findLast((one) => NETWORK.test(one)) ?? lines.at(-1) ?? "it printed nothing";
  return line.replace(WRAPPING, "").slice(0, QUOTED_CHARACTERS);
};

export const noSpace = (): KeepwarmError =>
  new KeepwarmError("no-space", "The disk is full. Free some space and start again; what is already here is kept.");

export const toolFailure = (
  tool: ToolName,
  output: string,
  otherwise: { readonly code: ErrorCode; readonly what: string; readonly advice: string },
): KeepwarmError => {
  if (FULL_DISK.test(output)) return noSpace();
  if (NO_PIP.test(output)) return missingTool("pip");
  if (NO_APPLE_TOOLS.test(output)) return missingTool(tool);
  return new KeepwarmError(otherwise.code, `${otherwise.what}: "${reasonOf(output)}". ${otherwise.advice}`);
};
