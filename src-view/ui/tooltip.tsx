// More about what it stands around, on hover and on keyboard focus.
import { type KeyboardEvent, type ReactNode, useId } from "react";

export type TooltipProps = { readonly lines: readonly string[]; readonly children: ReactNode };

const dismiss = (event: KeyboardEvent<HTMLButtonElement>): void => {
  if (event.key !== "Escape") return;
  event.stopPropagation();
  event.currentTarget.blur();
};

export const Tooltip = ({ lines, children }: TooltipProps) => {
  const id = useId();
  return (
    <span className="tooltip">
      <button type="button" className="tooltip-trigger" aria-describedby={id} onKeyDown={dismiss}>
        {children}
      </button>
      <span role="tooltip" id={id} className="tooltip-body">
        {lines.map((line) => (
          <span key={line}>{line}</span>
        ))}
      </span>
    </span>
  );
};
