import { type RefObject, useCallback, useEffect, useRef, useState } from "react";
import { type EndFollower, followEnd } from "./follow-end.ts";

type FollowedEnd = {
  readonly region: RefObject<HTMLDivElement | null>;
  readonly content: RefObject<HTMLDivElement | null>;
  readonly isAtEnd: boolean;
  readonly goToEnd: () => void;
};

export const useFollowEnd = (): FollowedEnd => {
  const region = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const follower = useRef<EndFollower>(null);
  const [isAtEnd, setAtEnd] = useState(true);
  useEffect(() => {
    if (region.current === null || content.current === null) return;
    const one = followEnd(region.current, content.current, setAtEnd);
    follower.current = one;
    return one.stop;
  }, []);
  const goToEnd = useCallback(() => follower.current?.goToEnd(), []);
  return { region, content, isAtEnd, goToEnd };
};
