import type { EngineNotices } from "../../src-bun/engine/engine-core.ts";

/** For tests in which an engine has nothing to say that nobody asked for. */
export const ignoreNotices: EngineNotices = { onSsdFault: () => undefined, onLog: () => undefined };
