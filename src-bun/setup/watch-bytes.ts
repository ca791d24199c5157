import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";

/** Often enough for a progress bar. */
const LOOK_EVERY_MS = 200;

/** Files that go away while they are counted count as nothing. */
async function unlessGone<T>(found: Promise<T>, gone: T): Promise<T> {
  try {
    return await found;
  } catch (thrown) {
    if (thrown instanceof Error && "code" in thrown && (thrown.code === "ENOENT" || thrown.code === "ENOTDIR"))
      return gone;
    throw thrown;
  }
}

const bytesIn = async (folder: string): Promise<number> => {
  const entries = await unlessGone(readdir(folder, { recursive: true }), []);
  const sizes = entries.map(async (entry) => {
    const found = await unlessGone(lstat(join(folder, entry)), null);
    return found?.isFile() ? found.size : 0;
  });
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
};

/** Tells how many bytes lie in the folder from time to time until the work is settled; returns its outcome. */
export async function whileWatching<T>(folder: string, onBytes: (bytes: number) => void, work: Promise<T>): Promise<T> {
  const settled = work.then(
    () => true,
    () => true,
  );
  try {
    while (!(await Promise.race([settled, Bun.sleep(LOOK_EVERY_MS)]))) onBytes(await bytesIn(folder));
  } finally {
    await settled;
  }
  return work;
}
