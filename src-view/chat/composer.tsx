// Where a message is written. Enter sends, Shift and Enter break the line, an input method's Enter does neither.
import { type FormEvent, type KeyboardEvent, type RefObject, useEffect, useId, useLayoutEffect } from "react";
import { useStore } from "zustand";
import { type AppStore, readinessOf } from "../app-store.ts";
import { texts } from "../ui/texts.ts";
import type { Chat } from "./chat-store.ts";
import { runningOf } from "./conversation.ts";

export type ComposerProps = {
  readonly app: AppStore;
  readonly chat: Chat;
  readonly field: RefObject<HTMLTextAreaElement | null>;
};

/** 229 is what WebKit reports for the Enter that ends a composition. */
const isComposing = ({ nativeEvent }: KeyboardEvent): boolean => nativeEvent.isComposing || nativeEvent.keyCode === 229;

const sendsOn = (event: KeyboardEvent): boolean => event.key === "Enter" && !event.shiftKey && !isComposing(event);

/** The field is as high as its text; the style sheet sets the limit. */
const useFittedHeight = (field: ComposerProps["field"], draft: string): void => {
  useLayoutEffect(() => {
    if (field.current === null) return;
    field.current.style.height = "auto";
    field.current.style.height = `${field.current.scrollHeight}px`;
  }, [draft, field]);
};

const useStopOnEscape = (isRunning: boolean, stop: () => void): void => {
  useEffect(() => {
    if (!isRunning) return;
    const onKey = (event: globalThis.KeyboardEvent): void => {
      if (event.key === "Escape" && !event.isComposing) stop();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [isRunning, stop]);
};

type StopButtonProps = { readonly isStopping: boolean; readonly onStop: () => void };

const StopButton = ({ isStopping, onStop }: StopButtonProps) => (
  <button type="button" className="button" onClick={onStop} disabled={isStopping}>
    <span className="stop-mark" aria-hidden="true" />
    {isStopping ? texts.composer.stopping : texts.composer.stop}
  </button>
);

export const Composer = ({ app, chat, field }: ComposerProps) => {
  const draft = useStore(chat.store, (state) => state.draft);
  const isRunning = useStore(chat.store, (state) => runningOf(state.turns) !== null);
  const isStopping = useStore(chat.store, (state) => runningOf(state.turns)?.isStopping === true);
  const readiness = useStore(app, readinessOf);
  const hintId = useId();
  useFittedHeight(field, draft);
  useStopOnEscape(isRunning, chat.stop);

  const canSend = readiness === "ready" && !isRunning;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!canSend || draft.trim() === "") return;
    chat.send(draft);
    chat.setDraft("");
    field.current?.focus();
  };
  // The button goes away with the answer's end, and the focus with it.
  const stop = (): void => {
    chat.stop();
    field.current?.focus();
  };
  const hint = isRunning ? texts.composer.hintRunning : texts.composer.hint;
  return (
    <form className="composer" onSubmit={submit}>
      <textarea
        ref={field}
        rows={1}
        dir="auto"
        value={draft}
        aria-label={texts.composer.label}
        aria-describedby={hintId}
        placeholder={texts.composer.placeholder}
        onChange={(event) => chat.setDraft(event.target.value)}
        onKeyDown={(event) => {
          if (sendsOn(event)) submit(event);
        }}
      />
      <div className="composer-foot">
        <span id={hintId} className="composer-hint">
          {readiness === "ready" ? hint : texts.composer.blocked[readiness]}
        </span>
        {isRunning ? (
          <StopButton isStopping={isStopping} onStop={stop} />
        ) : (
          <button type="submit" className="button button-main" disabled={!canSend || draft.trim() === ""}>
            {texts.composer.send}
          </button>
        )}
      </div>
    </form>
  );
};
