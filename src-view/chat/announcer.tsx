// Tells a screen reader of the running answer: whole sentences, every few seconds, and its end.
import { useEffect, useRef, useState } from "react";
import { texts } from "../ui/texts.ts";
import type { Chat, ChatState } from "./chat-store.ts";
import { runningOf } from "./conversation.ts";
import { spokenUntil } from "./spoken-part.ts";

const intervalMs = 2000;

const textOf = ({ turns }: ChatState): string => turns.at(-1)?.answer.text ?? "";

export const Announcer = ({ chat }: { readonly chat: Chat }) => {
  const [said, say] = useState("");
  const spoken = useRef(0);
  useEffect(() => {
    const speak = (until: number): string => {
      const part = textOf(chat.store.getState()).slice(spoken.current, until).trim();
      spoken.current = until;
      return part;
    };
    const timer = setInterval(() => {
      const state = chat.store.getState();
      if (runningOf(state.turns) === null) return;
      const until = spokenUntil(textOf(state), spoken.current);
      if (until > spoken.current) say(speak(until));
    }, intervalMs);
    const stopListening = chat.store.subscribe((now, before) => {
      const [isRunning, wasRunning] = [runningOf(now.turns) !== null, runningOf(before.turns) !== null];
      if (isRunning && !wasRunning) spoken.current = 0;
      if (isRunning && !wasRunning) say(texts.announce.reading);
      if (!isRunning && wasRunning) say(`${speak(textOf(now).length)} ${texts.announce.finished}`.trim());
    });
    return () => {
      clearInterval(timer);
      stopListening();
    };
  }, [chat]);
  return <output className="unseen">{said}</output>;
};
