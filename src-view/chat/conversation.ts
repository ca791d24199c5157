// One chat: questions, each with its one answer.
import type { CachedTokens, ChatMessage, GenerateResult, WireError } from "../../src-bun/contract/engine.ts";

/** What is known about a finished answer besides its text. */
export type Figures = Omit<GenerateResult, "text">;

type Prefill = {
  readonly doneTokens: number;
  readonly totalTokens: number;
  readonly cachedTokens: CachedTokens;
};

export type Failure =
  | { readonly kind: "error"; readonly error: WireError }
  | { readonly kind: "lost" }
  /** The page went away while the answer was written. */
  | { readonly kind: "interrupted" };

export type AnswerState =
  /** `prefill` is null until the host has said how long the prompt is. */
  | {
      readonly kind: "running";
      readonly requestId: string;
      readonly isStopping: boolean;
      readonly prefill: Prefill | null;
    }
  | { readonly kind: "finished"; readonly figures: Figures }
  /** Left by the reader before the host's figures came. */
  | { readonly kind: "left" }
  | { readonly kind: "failed"; readonly failure: Failure };

export type Answer = { readonly text: string; readonly state: AnswerState };
export type Turn = { readonly id: string; readonly question: string; readonly answer: Answer };

export type RunningState = Extract<AnswerState, { kind: "running" }>;

/** Only the last answer can be running. */
export const runningOf = (turns: readonly Turn[]): RunningState | null => {
  const state = turns.at(-1)?.answer.state;
  return state?.kind === "running" ? state : null;
};

/** A question that got no word of an answer is left out of what the model reads later. */
export const isLeftOut = (answer: Answer): boolean => answer.text === "" && answer.state.kind !== "running";

/** The model had its say and said nothing. */
export const isWordless = ({ text, state }: Answer): boolean =>
  text.trim() === "" && state.kind === "finished" && state.figures.finishReason === "stop";

/** The prompt of the last turn, whose answer is still to come. */
export const promptOf = (turns: readonly Turn[]): ChatMessage[] =>
  turns.flatMap(({ question, answer }, index): ChatMessage[] => {
    const asked: ChatMessage = { role: "user", content: question };
    if (index === turns.length - 1) return [asked];
    return isLeftOut(answer) ? [] : [asked, { role: "assistant", content: answer.text }];
  });

/** Tokens of the context that the chat fills, as far as it is known; null before the first figure. */
export const usedTokensOf = (turns: readonly Turn[]): number | null => {
  for (const { answer } of turns.toReversed()) {
    const { state } = answer;
    if (state.kind === "finished") return state.figures.promptTokens + state.figures.completionTokens;
    if (state.kind === "running" && state.prefill !== null) return state.prefill.totalTokens;
  }
  return null;
};

const longestTitle = 60;

/** The first line of the first question, cut at a word; null while nothing was asked. */
export const titleOf = (turns: readonly Turn[]): string | null => {
  const line = turns[0]?.question.trim().split("\n")[0]?.trim();
  if (line === undefined || line === "") return null;
  const characters = [...line];
  if (characters.length <= longestTitle) return line;
  const cut = characters.slice(0, longestTitle).join("");
  const end = cut.lastIndexOf(" ");
  return `${end > longestTitle / 2 ? cut.slice(0, end) : cut}…`;
};
