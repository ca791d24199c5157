import { describe, expect, test } from "bun:test";
import { findChat, keepChat, longestKept } from "../../../src-view/chat/chat-storage.ts";
import { type Chat, type ChatState, createChat, emptyChat } from "../../../src-view/chat/chat-store.ts";
import type { Turn } from "../../../src-view/chat/conversation.ts";
import { keepChatCurrent } from "../../../src-view/chat/keep-chat-current.ts";
import type { PageStorage } from "../../../src-view/page-storage.ts";
import { someResult } from "../fake-host.ts";

const memory = (value: string | null = null) => {
  const kept: string[] = value === null ? [] : [value];
  const storage: PageStorage = { find: () => kept.at(-1) ?? null, keep: (_key, text) => kept.push(text) > 0 };
  return { kept, storage };
};

const { text, ...figures } = someResult();
const turn = (id: string, question = "One"): Turn => ({
  id,
  question,
  answer: { text, state: { kind: "finished", figures } },
});

describe("keeping a chat", () => {
  test("what was kept is found again", () => {
    const { storage } = memory();
    const chat: ChatState = { ...emptyChat, turns: [turn("a"), turn("b", "مرحبا 🫖")], draft: "half a thought" };
    expect(keepChat(storage, chat)).toBe(true);
    expect(findChat(storage)).toEqual(chat);
  });

  test("an answer that ran when the page went away is an interrupted one, with its text", () => {
    const { storage } = memory();
    const state = { kind: "running", requestId: "r", isStopping: false, prefill: null } as const;
    keepChat(storage, { ...emptyChat, turns: [{ id: "a", question: "One", answer: { text: "Half", state } }] });
    expect(findChat(storage).turns[0]?.answer).toEqual({
      text: "Half",
      state: { kind: "failed", failure: { kind: "interrupted" } },
    });
  });

  test("what cannot be read counts as nothing kept", () => {
    for (const bad of ["", "{", "null", "[]", '{"turns":1}', '{"turns":[{}],"draft":"","forgottenTurns":0}'])
      expect(findChat(memory(bad).storage)).toEqual(emptyChat);
    expect(findChat(memory().storage)).toEqual(emptyChat);
  });

  test("of a chat that is too long the newest turns are kept, and the rest is counted", () => {
    const { storage, kept } = memory();
    const long = "x".repeat(longestKept / 2 - 1000);
    keepChat(storage, { ...emptyChat, turns: [turn("a", long), turn("b", long), turn("c", long)], forgottenTurns: 2 });
    expect(kept.at(-1)?.length).toBeLessThan(longestKept + 1000);
    const found = findChat(storage);
    expect(found.turns.map((one) => one.id)).toEqual(["b", "c"]);
    expect(found.forgottenTurns).toBe(3);
  });
});

describe("keeping it current", () => {
  const following = (storage: PageStorage) => {
    const chat: Chat = createChat({ generate: () => undefined, cancel: () => undefined }, () => "id");
    const due: (() => void)[] = [];
    const keepNow = keepChatCurrent(chat, storage, (_delayMs, run) => {
      due.push(run);
      return () => due.splice(due.indexOf(run), 1);
    });
    return { chat, due, keepNow };
  };

  test("many changes are written once", () => {
    const { storage, kept } = memory();
    const { chat, due } = following(storage);
    for (const draft of ["a", "ab", "abc"]) chat.setDraft(draft);
    expect(due).toHaveLength(1);
    due[0]?.();
    expect(kept).toHaveLength(1);
    expect(findChat(storage).draft).toBe("abc");
    chat.setDraft("abcd");
    expect(due).toHaveLength(1);
  });

  test("the page going away writes at once", () => {
    const { storage, kept } = memory();
    const { chat, due, keepNow } = following(storage);
    chat.setDraft("abc");
    keepNow();
    expect(kept).toHaveLength(1);
    expect(due).toHaveLength(0);
  });

  test("a browser that keeps nothing is said to the reader, until it does", () => {
    let mayKeep = false;
    const { chat, keepNow } = following({ find: () => null, keep: () => mayKeep });
    chat.setDraft("abc");
    keepNow();
    expect(chat.store.getState().isKept).toBe(false);
    mayKeep = true;
    keepNow();
    expect(chat.store.getState().isKept).toBe(true);
  });
});
