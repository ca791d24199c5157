// The engine is another thread, and so a door: here a test plays it.
import type {
  EnginePort,
  EngineStatus,
  GenerateProgress,
  GenerateRequest,
  GenerateResult,
} from "../../src-bun/contract/engine.ts";

export type Script = (
  request: GenerateRequest,
  onProgress: (progress: GenerateProgress) => void,
  signal: AbortSignal,
) => Promise<GenerateResult>;

export const resultOf = (changes: Partial<GenerateResult> = {}): GenerateResult => ({
  text: "Paris is warm.",
  model: "starter",
  promptTokens: 40,
  completionTokens: 5,
  cachedTokens: { ram: 30, ssd: 6 },
  missReason: null,
  ttftMs: 12,
  prefillTokensPerSecond: 300,
  decodeTokensPerSecond: 14,
  finishReason: "stop",
  ...changes,
});

export const starter = {
  id: "starter",
  name: "Starter",
  contextTokens: 2048,
  weightBytes: 1,
  kvBytesPerToken: 1,
};

const status: EngineStatus = {
  model: starter,
  activeRequests: 0,
  liveHandles: 0,
  memory: { activeBytes: 0, cacheBytes: 0, peakBytes: 0 },
  cache: { tips: 0, tipBytes: 0, blocks: 0, blockBytes: 0, pinnedBytes: 0, labels: [], ssdBytes: 0 },
  writes: { pendingJobs: 0, droppedJobs: 0, lastError: null },
};

/** Says "Paris is warm." in three pieces. */
export const sayParis: Script = async (_request, onProgress) => {
  onProgress({ kind: "prefill", doneTokens: 40, totalTokens: 40, cachedTokens: { ram: 30, ssd: 6 } });
  for (const text of ["Paris", " is", " warm."]) onProgress({ kind: "text", text });
  return resultOf();
};

/** Ends only when it is cancelled, as the real one does; `begun` gives the signal it was called with. */
export const waitForCancel = () => {
  const begun = Promise.withResolvers<AbortSignal>();
  const ended = Promise.withResolvers<void>();
  const script: Script = (_request, _onProgress, signal) => {
    begun.resolve(signal);
    return new Promise((resolve) => {
      signal.addEventListener("abort", () => {
        resolve(resultOf({ finishReason: "cancelled" }));
        ended.resolve();
      });
    });
  };
  return { script, begun: begun.promise, ended: ended.promise };
};

export class ScriptedEngine implements EnginePort {
  readonly requests: GenerateRequest[] = [];
  script: Script = sayParis;

  generate(
    request: GenerateRequest,
    onProgress: (progress: GenerateProgress) => void,
    signal: AbortSignal,
  ): Promise<GenerateResult> {
    this.requests.push(request);
    return this.script(request, onProgress, signal);
  }

  status(): Promise<EngineStatus> {
    return Promise.resolve(status);
  }
}
