// Keeps the chat and the draft in this browser across reloads and restarts of the host.
import * as v from "valibot";
import { generateResult } from "../host-message.ts";
import type { PageStorage } from "../page-storage.ts";
import { type ChatState, emptyChat } from "./chat-store.ts";
import type { Answer, Turn } from "./conversation.ts";

/** The number rises when the shape changes; what an older page kept is then not read. */
const key = "keepwarm.chat.v1";

/** Characters. Browsers give a page about five million; the rest is room for a second tab's write. */
export const longestKept = 2_000_000;

const answerState = v.variant("kind", [
  v.object({ kind: v.literal("running") }),
  v.object({ kind: v.literal("finished"), figures: v.omit(generateResult, ["text"]) }),
  v.object({ kind: v.literal("left") }),
  v.object({
    kind: v.literal("failed"),
    failure: v.variant("kind", [
      v.object({ kind: v.literal("error"), error: v.object({ code: v.string(), message: v.string() }) }),
      v.object({ kind: v.literal("lost") }),
      v.object({ kind: v.literal("interrupted") }),
    ]),
  }),
]);

const keptChat = v.pipe(
  v.string(),
  v.parseJson(),
  v.object({
    turns: v.array(
      v.object({ id: v.string(), question: v.string(), answer: v.object({ text: v.string(), state: answerState }) }),
    ),
    draft: v.string(),
    forgottenTurns: v.pipe(v.number(), v.minValue(0)),
  }),
);

type KeptAnswer = v.InferOutput<typeof keptChat>["turns"][number]["answer"];

/** Nobody listens any more to a request of an earlier visit. */
const settled = ({ text, state }: KeptAnswer): Answer => ({
  text,
  state: state.kind === "running" ? { kind: "failed", failure: { kind: "interrupted" } } : state,
});

/** What cannot be read counts as nothing kept: the next change writes over it. */
export const findChat = (storage: PageStorage): ChatState => {
  const kept = v.safeParse(keptChat, storage.find(key));
  if (!kept.success) return emptyChat;
  const { turns, draft, forgottenTurns } = kept.output;
  return { ...emptyChat, draft, forgottenTurns, turns: turns.map((one) => ({ ...one, answer: settled(one.answer) })) };
};

/** The newest turns that fit. */
const lastFitting = (turns: readonly Turn[], room: number): readonly Turn[] => {
  let left = room;
  const tooLong = turns.findLastIndex((turn) => {
    left -= JSON.stringify(turn).length + 1;
    return left < 0;
  });
  return turns.slice(tooLong + 1);
};

export const keepChat = (storage: PageStorage, { turns, draft, forgottenTurns }: ChatState): boolean => {
  const kept = lastFitting(turns, longestKept - draft.length);
  const forgotten = forgottenTurns + turns.length - kept.length;
  return storage.keep(key, JSON.stringify({ turns: kept, draft, forgottenTurns: forgotten }));
};
