// Keeps a scrolled region at its end while it grows, until the reader scrolls up.
import { type RefObject, useCallback, useEffect, useRef, useState } from "react";

/** Pixels from the end that still count as being there; scroll positions are rounded. */
const nearPx = 4;

type Stick = {
  readonly region: RefObject<HTMLDivElement | null>;
  readonly content: RefObject<HTMLDivElement | null>;
  readonly isAtEnd: boolean;
  readonly goToEnd: () => void;
};

export const useStickToEnd = (): Stick => {
  const region = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const isSticking = useRef(true);
  const [isAtEnd, setAtEnd] = useState(true);

  const goToEnd = useCallback(() => {
    isSticking.current = true;
    setAtEnd(true);
    region.current?.scrollTo({ top: region.current.scrollHeight, behavior: "instant" });
  }, []);

  useEffect(() => {
    const [outer, inner] = [region.current, content.current];
    if (outer === null || inner === null) return;
    let last = outer.scrollTop;
    const onScroll = (): void => {
      const isNear = outer.scrollHeight - outer.clientHeight - outer.scrollTop <= nearPx;
      // Growth alone never moves the position up: only a reader does.
      isSticking.current = isNear || (isSticking.current && outer.scrollTop >= last);
      last = outer.scrollTop;
      setAtEnd(isSticking.current);
    };
    const observer = new ResizeObserver(() => {
      if (isSticking.current) outer.scrollTo({ top: outer.scrollHeight, behavior: "instant" });
    });
    observer.observe(outer);
    observer.observe(inner);
    outer.addEventListener("scroll", onScroll, { passive: true });
    return () => {
      observer.disconnect();
      outer.removeEventListener("scroll", onScroll);
    };
  }, []);

  return { region, content, isAtEnd, goToEnd };
};
