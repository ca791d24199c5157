// A question in its bubble and its answer without one.
import { memo, useDeferredValue } from "react";
import { texts } from "../ui/texts.ts";
import { AnswerFoot, type AnswerFootProps } from "./answer-foot.tsx";
import { isWordless, type Turn } from "./conversation.ts";
import { Markdown } from "./markdown.tsx";

export type TurnRowProps = Omit<AnswerFootProps, "answer"> & { readonly turn: Turn };

export const TurnRow = memo(({ turn, isReady, onRetry }: TurnRowProps) => {
  const { id, question, answer } = turn;
  // A long answer takes longer to lay out than a token to come: typing and scrolling go first.
  const text = useDeferredValue(answer.text);
  return (
    <li className="turn">
      <article className="question" aria-label={texts.question} dir="auto">
        {question}
      </article>
      <article className="answer" aria-label={texts.answer} aria-busy={answer.state.kind === "running"}>
        <Markdown text={text} id={id} />
        {isWordless(answer) && <p className="dim">{texts.noText}</p>}
        <AnswerFoot answer={answer} isReady={isReady} onRetry={onRetry} />
      </article>
    </li>
  );
});
