import { useCallback, useEffect } from "react";
import { useStore } from "zustand";
import { type AppStore, readinessOf } from "../app-store.ts";
import { Icon } from "../ui/icon.tsx";
import { texts } from "../ui/texts.ts";
import type { Chat } from "./chat-store.ts";
import { TurnRow } from "./turn-row.tsx";
import { useFollowEnd } from "./use-follow-end.ts";

/** A new question brings the reader to the end, wherever the list was scrolled to. */
const useGoToNewQuestion = (questions: number, goToEnd: () => void): void => {
  useEffect(goToEnd, [questions, goToEnd]);
};

export type TurnListProps = { readonly app: AppStore; readonly chat: Chat };

export const TurnList = ({ app, chat }: TurnListProps) => {
  const isReady = useStore(app, (state) => readinessOf(state) === "ready");
  const turns = useStore(chat.store, (state) => state.turns);
  const forgotten = useStore(chat.store, (state) => state.forgottenTurns);
  const { region, content, isAtEnd, goToEnd } = useFollowEnd();
  useGoToNewQuestion(turns.length, goToEnd);
  const jump = (): void => {
    goToEnd();
    region.current?.focus();
  };
  // The button goes away with the failed answer, and the focus with it.
  const retry = useCallback(() => {
    chat.retry();
    region.current?.focus();
  }, [chat, region]);
  return (
    <div className="turns">
      {/* biome-ignore lint/a11y/useSemanticElements: a section inside main would be one landmark too many */}
      <div
        className="turns-region"
        ref={region}
        role="region"
        aria-label={texts.conversation}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolled region must be reachable by keyboard
        tabIndex={0}
      >
        <div className="column" ref={content}>
          {forgotten > 0 && <p className="dim">{texts.forgotten(forgotten)}</p>}
          <ol className="turn-list">
            {turns.map((turn, index) => (
              <TurnRow
                key={turn.id}
                turn={turn}
                isReady={isReady}
                onRetry={index === turns.length - 1 ? retry : null}
              />
            ))}
          </ol>
        </div>
      </div>
      {!isAtEnd && (
        <button type="button" className="jump" onClick={jump}>
          <Icon name="down" />
          {texts.jumpToLatest}
        </button>
      )}
    </div>
  );
};
