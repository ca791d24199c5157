// The one line under an answer: what is going on, what it cost, or what went wrong.

import { Icon } from "../ui/icon.tsx";
import { ResidencyBar } from "../ui/residency-bar.tsx";
import { texts } from "../ui/texts.ts";
import { Tooltip } from "../ui/tooltip.tsx";
import { answerNote } from "./answer-note.ts";
import { type Answer, type Failure, type Figures, isLeftOut, type RunningState } from "./conversation.ts";

const Running = ({ state, isWriting }: { readonly state: RunningState; readonly isWriting: boolean }) => {
  const { prefill, isStopping } = state;
  if (isStopping) return <span className="pulse">{texts.progress.stopping}</span>;
  if (isWriting) return <span className="pulse">{texts.progress.writing}</span>;
  if (prefill === null) return <span className="pulse">{texts.progress.waiting}</span>;
  const { doneTokens, totalTokens, cachedTokens } = prefill;
  return (
    <>
      <ResidencyBar
        ramTokens={cachedTokens.ram}
        ssdTokens={cachedTokens.ssd}
        newTokens={Math.max(0, doneTokens - cachedTokens.ram - cachedTokens.ssd)}
        totalTokens={totalTokens}
      />
      <span>{texts.progress.reading(doneTokens, totalTokens)}</span>
    </>
  );
};

const Note = ({ figures }: { readonly figures: Figures }) => {
  const { promptTokens, cachedTokens } = figures;
  const { line, details } = answerNote(figures);
  return (
    <Tooltip lines={details}>
      <ResidencyBar
        ramTokens={cachedTokens.ram}
        ssdTokens={cachedTokens.ssd}
        newTokens={Math.max(0, promptTokens - cachedTokens.ram - cachedTokens.ssd)}
        totalTokens={promptTokens}
      />
      <span>{line}</span>
    </Tooltip>
  );
};

const failureText = (failure: Failure): string =>
  failure.kind === "error" ? failure.error.message : texts.failure[failure.kind];

export type AnswerFootProps = {
  readonly answer: Answer;
  /** False while nothing can be sent. */
  readonly isReady: boolean;
  /** Null where the question cannot be asked again: another one followed. */
  readonly onRetry: (() => void) | null;
};

type EndedProps = AnswerFootProps & { readonly text: string; readonly tone: "plain" | "bad" };

const Ended = ({ answer, isReady, onRetry, text, tone }: EndedProps) => (
  <div className={`answer-end answer-end-${tone}`}>
    {tone === "bad" && <Icon name="alert" />}
    <p dir="auto">
      {text}
      {isLeftOut(answer) && onRetry === null ? ` ${texts.failure.leftOut}` : ""}
    </p>
    {onRetry !== null && (
      <button type="button" className="button-small" disabled={!isReady} onClick={onRetry}>
        {texts.failure.tryAgain}
      </button>
    )}
  </div>
);

export const AnswerFoot = (props: AnswerFootProps) => {
  const { text, state } = props.answer;
  switch (state.kind) {
    case "running":
      return (
        <div className="answer-foot">
          <Running state={state} isWriting={text !== ""} />
        </div>
      );
    case "finished":
      return (
        <div className="answer-foot">
          <Note figures={state.figures} />
        </div>
      );
    case "left":
      return <Ended {...props} text={texts.failure.left} tone="plain" />;
    case "failed":
      return <Ended {...props} text={failureText(state.failure)} tone="bad" />;
  }
};
