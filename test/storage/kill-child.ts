// Stores prompts until it is killed, and names each on its output once it is durable. Started by kill.test.ts.
import { openFilesystem } from "../../src-bun/platform/filesystem.ts";
import { KvWriter } from "../../src-bun/storage/kv-writer.ts";
import { SsdCacheStore } from "../../src-bun/storage/ssd-cache.ts";
import { keep, killGroups, killPrompt } from "./plain-tensors.ts";

const [, , folder = "", workerFile = "", from = "0"] = process.argv;
const workerSource = await Bun.file(workerFile).text();
const [kvWriter, kvReader] = [new KvWriter({ workerSource }), new KvWriter({ workerSource })];
const store = await SsdCacheStore.open({ folder, kvWriter, kvReader, filesystem: openFilesystem() });

/** Computes the next prompt while the one before it is being written. */
let before: Promise<void> = Promise.resolve();
for (let seed = Number(from); ; seed += 1) {
  const saved = keep(store, killPrompt(seed), { size: 100, groups: killGroups });
  await before;
  before = saved.then((isDurable) => {
    process.stdout.write(isDurable ? `${seed}\n` : "failed\n");
  });
}
