// The chat without its page: what was asked and answered, what is being written, and the draft.
import { createStore, type StoreApi } from "zustand/vanilla";
import type { GenerateRequest } from "../../src-bun/contract/engine.ts";
import type { GenerateEvent } from "../host-client.ts";
import { type Answer, promptOf, type RunningState, runningOf, type Turn } from "./conversation.ts";

/** What the chat needs of the host; `HostClient` is one. */
export type ChatHost = {
  readonly generate: (id: string, request: GenerateRequest, listen: (event: GenerateEvent) => void) => void;
  readonly cancel: (id: string) => void;
};

export type ChatState = {
  readonly turns: readonly Turn[];
  readonly draft: string;
  /** Turns of this chat that were too long to be kept for a later visit. */
  readonly forgottenTurns: number;
  /** False once the browser refused to keep the chat. */
  readonly isKept: boolean;
  /** What "New chat" cleared, until it is put back, dismissed, or a new question is asked. */
  readonly cleared: Pick<ChatState, "turns" | "forgottenTurns"> | null;
};

export type Chat = {
  readonly store: StoreApi<ChatState>;
  readonly setDraft: (draft: string) => void;
  /** Asks; does nothing while an answer is running or when there is no text. */
  readonly send: (text: string) => void;
  readonly stop: () => void;
  /** Asks the last question again. */
  readonly retry: () => void;
  readonly newChat: () => void;
  readonly undoNewChat: () => void;
  readonly dismissCleared: () => void;
};

/** Low, as the starter model's card advises. Without the penalty a model so small may say one phrase until its context ends. */
const sampling = { temperature: 0.2, repetitionPenalty: 1.1 };

export const emptyChat: ChatState = { turns: [], draft: "", forgottenTurns: 0, isKept: true, cleared: null };

const answerAfter = (answer: Answer, state: RunningState, event: GenerateEvent): Answer => {
  switch (event.kind) {
    case "progress":
      if (event.progress.kind === "text") return { ...answer, text: answer.text + event.progress.text };
      return { ...answer, state: { ...state, prefill: event.progress } };
    case "result": {
      const { text, ...figures } = event.result;
      return { text, state: { kind: "finished", figures } };
    }
    case "error":
      return { ...answer, state: { kind: "failed", failure: { kind: "error", error: event.error } } };
    case "lost":
      return { ...answer, state: { kind: "failed", failure: { kind: "lost" } } };
  }
};

/** Changes the last answer while it runs under this request; what comes for another one is too late. */
const withRunning = (
  turns: readonly Turn[],
  requestId: string,
  change: (answer: Answer, state: RunningState) => Answer,
): readonly Turn[] => {
  const last = turns.at(-1);
  const running = runningOf(turns);
  if (last === undefined || running?.requestId !== requestId) return turns;
  return turns.with(-1, { ...last, answer: change(last.answer, running) });
};

const ask = (store: StoreApi<ChatState>, host: ChatHost, turn: Omit<Turn, "answer">, requestId: string): void => {
  const answer: Answer = { text: "", state: { kind: "running", requestId, isStopping: false, prefill: null } };
  store.setState(({ turns }) => ({ turns: [...turns, { ...turn, answer }], cleared: null }));
  const messages = promptOf(store.getState().turns);
  host.generate(requestId, { messages, model: null, maxTokens: null, sampling }, (event) =>
    store.setState(({ turns }) => ({
      turns: withRunning(turns, requestId, (one, state) => answerAfter(one, state, event)),
    })),
  );
};

export const createChat = (host: ChatHost, newId: () => string, start: ChatState = emptyChat): Chat => {
  const store = createStore<ChatState>(() => start);
  const isRunning = () => runningOf(store.getState().turns) !== null;
  const cancelRunning = (leave: (answer: Answer, state: RunningState) => Answer): void => {
    const requestId = runningOf(store.getState().turns)?.requestId;
    if (requestId === undefined) return;
    store.setState(({ turns }) => ({ turns: withRunning(turns, requestId, leave) }));
    host.cancel(requestId);
  };
  return {
    store,
    setDraft: (draft) => store.setState({ draft }),
    send: (text) => {
      if (isRunning() || text.trim() === "") return;
      ask(store, host, { id: newId(), question: text.trim() }, newId());
    },
    stop: () => cancelRunning((answer, state) => ({ ...answer, state: { ...state, isStopping: true } })),
    retry: () => {
      const last = store.getState().turns.at(-1);
      if (last === undefined || isRunning()) return;
      store.setState(({ turns }) => ({ turns: turns.slice(0, -1) }));
      ask(store, host, { id: last.id, question: last.question }, newId());
    },
    newChat: () => {
      cancelRunning((answer) => ({ ...answer, state: { kind: "left" } }));
      const { turns, forgottenTurns } = store.getState();
      if (turns.length > 0) store.setState({ turns: [], forgottenTurns: 0, cleared: { turns, forgottenTurns } });
    },
    undoNewChat: () => store.setState(({ cleared }) => (cleared === null ? {} : { ...cleared, cleared: null })),
    dismissCleared: () => store.setState({ cleared: null }),
  };
};
