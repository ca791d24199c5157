// The composition root: builds Keepwarm's parts from this machine and this user's environment, which only it reads.
import { homedir, tmpdir } from "node:os";
import { socketPath } from "./data/socket-file.ts";
import { LocalApp } from "./host/local-app.ts";
import { type Environment, type Paths, resolvePaths } from "./platform/paths.ts";

/** Agents are configured once with this address; a person can change it. */
const DEFAULT_PORT = 4117;

export type App = {
  readonly paths: Paths;
  readonly socketPath: string;
  readonly port: number;
  readonly givenLibraryFolder: string | null;
  readonly environment: Environment;
  /** Keepwarm in this process; nothing is opened before its first call. */
  readonly local: LocalApp;
};

export const createApp = (): App => {
  const environment: Environment = process.env;
  const paths = resolvePaths(process.platform, environment, homedir());
  const givenLibraryFolder = environment["KEEPWARM_LIBRARIES"] || null;
  return {
    paths,
    socketPath: socketPath(paths.data, tmpdir()),
    port: Number(environment["KEEPWARM_PORT"] || DEFAULT_PORT),
    givenLibraryFolder,
    environment,
    local: new LocalApp({ paths, givenLibraryFolder, environment, log: (line) => console.error(line) }),
  };
};
