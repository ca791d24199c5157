// What the host says to the page, checked once at the page's edge.
import * as v from "valibot";
import type { GenerateResult } from "../src-bun/contract/engine.ts";
import type { HostMessage } from "../src-bun/contract/rpc.ts";

/** The page never asks for the other kinds. */
export type PageMessage = Extract<HostMessage, { kind: "state" | "progress" | "result" | "error" }>;

const amount = v.pipe(v.number(), v.minValue(0));
const maybeAmount = v.nullable(amount);
const wireError = v.object({ code: v.string(), message: v.string() });
const cachedTokens = v.object({ ram: amount, ssd: amount });

export const generateResult = v.object({
  text: v.string(),
  model: v.string(),
  promptTokens: amount,
  completionTokens: amount,
  cachedTokens,
  missReason: v.nullable(
    v.variant("kind", [
      v.object({ kind: v.literal("cold") }),
      v.object({ kind: v.literal("diverged"), atToken: amount }),
      v.object({ kind: v.literal("evicted") }),
      v.object({ kind: v.literal("do-not-keep") }),
      v.object({ kind: v.literal("damaged-block"), message: v.string() }),
      v.object({ kind: v.literal("restore-failed"), message: v.string() }),
    ]),
  ),
  ttftMs: maybeAmount,
  prefillTokensPerSecond: maybeAmount,
  decodeTokensPerSecond: maybeAmount,
  finishReason: v.picklist(["stop", "length", "cancelled"]),
}) satisfies v.GenericSchema<unknown, GenerateResult>;

const generateProgress = v.variant("kind", [
  v.object({ kind: v.literal("prefill"), doneTokens: amount, totalTokens: amount, cachedTokens }),
  v.object({ kind: v.literal("text"), text: v.string() }),
]);

const setupPart = v.object({
  id: v.string(),
  title: v.string(),
  state: v.picklist(["waiting", "working", "ready", "failed"]),
  doneBytes: amount,
  totalBytes: maybeAmount,
  detail: v.string(),
});

const model = v.object({
  id: v.string(),
  name: v.string(),
  contextTokens: amount,
  weightBytes: amount,
  kvBytesPerToken: amount,
});

const appState = v.variant("kind", [
  v.object({ kind: v.literal("setting-up"), parts: v.array(setupPart) }),
  v.object({ kind: v.literal("loading"), modelName: v.string() }),
  v.object({ kind: v.literal("ready"), model, ssdFault: v.nullable(v.string()) }),
  v.object({ kind: v.literal("failed"), error: wireError }),
]);

const pageMessage: v.GenericSchema<unknown, PageMessage> = v.variant("kind", [
  v.object({ kind: v.literal("state"), state: appState }),
  v.object({ kind: v.literal("progress"), id: v.string(), progress: generateProgress }),
  v.object({ kind: v.literal("result"), id: v.string(), result: generateResult }),
  v.object({ kind: v.literal("error"), id: v.nullable(v.string()), error: wireError }),
]);

/** Returns the message, or null when this page does not know its shape. */
export const readPageMessage = (data: unknown): PageMessage | null => {
  const json = v.safeParse(v.pipe(v.string(), v.parseJson(), pageMessage), data);
  return json.success ? json.output : null;
};
