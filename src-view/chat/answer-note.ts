// The one line under a finished answer, and what its tooltip adds.
import { texts } from "../ui/texts.ts";
import type { Figures } from "./conversation.ts";

export type AnswerNote = { readonly line: string; readonly details: readonly string[] };

const coldText = (reason: Figures["missReason"]): string => {
  switch (reason?.kind) {
    case "damaged-block":
    case "restore-failed":
      return texts.note.damaged;
    case "evicted":
      return texts.note.evicted;
    case "do-not-keep":
    case "cold":
    case "diverged":
    case undefined:
      return texts.note.cold;
  }
};

const warmth = ({ cachedTokens, promptTokens, missReason }: Figures): string => {
  const warm = cachedTokens.ram + cachedTokens.ssd;
  return warm > 0 ? texts.note.warm(warm, promptTokens) : coldText(missReason);
};

const ending = ({ finishReason }: Figures): readonly string[] => {
  switch (finishReason) {
    case "stop":
      return [];
    case "length":
      return [texts.note.full];
    case "cancelled":
      return [texts.note.stopped];
  }
};

const reason = ({ missReason }: Figures): readonly string[] => {
  switch (missReason?.kind) {
    case "diverged":
      return [texts.details.diverged(missReason.atToken)];
    case "damaged-block":
      return [texts.details.damaged(missReason.message)];
    case "evicted":
      return [texts.details.evicted];
    case "do-not-keep":
      return [texts.details.notKept];
    case "restore-failed":
      return [texts.details.restoreFailed(missReason.message)];
    case "cold":
    case undefined:
      return [];
  }
};

const rate = (tokensPerSecond: number | null, text: (rate: number) => string): readonly string[] =>
  tokensPerSecond === null ? [] : [text(tokensPerSecond)];

export const answerNote = (figures: Figures): AnswerNote => {
  const { cachedTokens, promptTokens, completionTokens, ttftMs } = figures;
  const fresh = Math.max(0, promptTokens - cachedTokens.ram - cachedTokens.ssd);
  return {
    line: [
      ...ending(figures),
      warmth(figures),
      ...(ttftMs === null ? [] : [texts.note.firstToken(ttftMs)]),
      ...rate(figures.decodeTokensPerSecond, texts.note.rate),
    ].join(" · "),
    details: [
      `${texts.residency(cachedTokens.ram, cachedTokens.ssd, fresh)}.`,
      ...reason(figures),
      ...rate(figures.prefillTokensPerSecond, texts.details.prefill),
      texts.details.written(completionTokens),
    ],
  };
};
