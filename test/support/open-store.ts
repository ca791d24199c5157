import { openFilesystem } from "../../src-bun/platform/filesystem.ts";
import { KvWriter } from "../../src-bun/storage/kv-writer.ts";
import { SsdCacheStore } from "../../src-bun/storage/ssd-cache.ts";

export type OpenStore = { readonly store: SsdCacheStore; readonly close: () => Promise<void> };

/** The SSD tier in `folder` with a writer and a reader of its own, as the engine opens it. */
export const openStore = async (folder: string, workerSource: string): Promise<OpenStore> => {
  const kvWriter = new KvWriter({ workerSource });
  const kvReader = new KvWriter({ workerSource });
  const store = await SsdCacheStore.open({ folder, kvWriter, kvReader, filesystem: openFilesystem() });
  return {
    store,
    close: async () => {
      await store.close();
      await Promise.all([kvWriter.close(), kvReader.close()]);
    },
  };
};
