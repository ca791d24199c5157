// The engine's libraries and the starter model for tests: the same ones that the app sets up for this user.
import { homedir } from "node:os";
import { setupReport } from "../../src-bun/host/setup-report.ts";
import { resolvePaths } from "../../src-bun/platform/paths.ts";
import { ensureSetup, type SetupResult } from "../../src-bun/setup/setup.ts";

/** Shared by all tests: what lies there took minutes to get. */
export const sharedDownloads = (): string => resolvePaths(process.platform, process.env, homedir()).downloads;

export const testSetup = ({ isTalking = false } = {}): Promise<SetupResult> => {
  const report = setupReport(isTalking ? console.log : () => undefined);
  return ensureSetup({
    cacheFolder: sharedDownloads(),
    givenLibraryFolder: process.env["KEEPWARM_LIBRARIES"] ?? null,
    environment: process.env,
    onProgress: (parts) => report({ kind: "setting-up", parts }),
    signal: new AbortController().signal,
  });
};
