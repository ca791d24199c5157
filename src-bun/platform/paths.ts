// Where Keepwarm keeps things; app and command line resolve it here and nowhere else.
import { join } from "node:path";

export type Environment = Readonly<Record<string, string | undefined>>;

export type Paths = {
  /** Settings, tokens, conversations and the cache of prompts. */
  readonly data: string;
  /** The SSD tier. The name keeps Spotlight out. */
  readonly promptCache: string;
  /** Downloads and built libraries, which can be fetched again. */
  readonly downloads: string;
};

const basesOf = (
  platform: NodeJS.Platform,
  environment: Environment,
  home: string,
): { data: string; downloads: string } => {
  if (platform === "darwin") {
    return {
      data: join(home, "Library/Application Support/Keepwarm"),
      downloads: join(home, "Library/Caches/Keepwarm"),
    };
  }
  // The XDG base directory specification ignores relative paths.
  const absolute = (value: string | undefined, fallback: string): string =>
    value?.startsWith("/") ? value : join(home, fallback);
  return {
    data: join(absolute(environment["XDG_DATA_HOME"], ".local/share"), "keepwarm"),
    downloads: join(absolute(environment["XDG_CACHE_HOME"], ".cache"), "keepwarm"),
  };
};

/** KEEPWARM_HOME moves everything; KEEPWARM_DOWNLOADS then shares downloads between several homes. */
export const resolvePaths = (platform: NodeJS.Platform, environment: Environment, home: string): Paths => {
  const own = environment["KEEPWARM_HOME"];
  const bases = own ? { data: own, downloads: join(own, "downloads") } : basesOf(platform, environment, home);
  return {
    data: bases.data,
    promptCache: join(bases.data, "cache.noindex"),
    downloads: environment["KEEPWARM_DOWNLOADS"] || bases.downloads,
  };
};
