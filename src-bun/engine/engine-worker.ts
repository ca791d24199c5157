// Entry of the engine worker: commands in, replies and progress out, all on the thread that owns MLX.
import { parentPort, workerData } from "node:worker_threads";
import { wireError } from "../base/errors.ts";
import { EngineCore } from "./engine-core.ts";
import type { EngineCommand, EngineEvent, EngineOptions, EngineReplies } from "./messages.ts";

const port = parentPort;
if (port === null) throw new Error("the engine worker was started outside a worker");

const post = (event: EngineEvent): void => port.postMessage(event);
const core = new EngineCore(workerData as EngineOptions, {
  onSsdFault: (message) => post({ kind: "ssd-fault", message }),
  onLog: (line) => post({ kind: "log", line }),
});
const generating = new Map<number, AbortController>();

const generate = async ({ id, request }: EngineCommand & { kind: "generate" }): Promise<EngineReplies["generate"]> => {
  const controller = new AbortController();
  generating.set(id, controller);
  try {
    return await core.generate(request, (progress) => post({ kind: "progress", id, progress }), controller.signal);
  } finally {
    generating.delete(id);
  }
};

const carryOut = async (
  command: Exclude<EngineCommand, { kind: "cancel" }>,
): Promise<EngineReplies[keyof EngineReplies]> => {
  switch (command.kind) {
    case "load":
      return core.load(command.modelPath);
    case "unload":
      await core.unload();
      return null;
    case "generate":
      return generate(command);
    case "status":
      return core.status();
    case "close":
      return core.close(command.flushMs);
  }
};

port.on("message", (command: EngineCommand) => {
  if (command.kind === "cancel") {
    generating.get(command.target)?.abort();
    return;
  }
  const { id } = command;
  carryOut(command).then(
    (value) => post({ kind: "reply", id, value }),
    (thrown: unknown) => post({ kind: "failed", id, error: wireError(thrown) }),
  );
});
