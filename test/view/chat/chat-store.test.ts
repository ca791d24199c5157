import { describe, expect, test } from "bun:test";
import type { GenerateRequest } from "../../../src-bun/contract/engine.ts";
import { type ChatHost, type ChatState, createChat } from "../../../src-view/chat/chat-store.ts";
import type { GenerateEvent } from "../../../src-view/host-client.ts";
import { someResult } from "../fake-host.ts";

type Asked = { readonly id: string; readonly request: GenerateRequest; readonly tell: (event: GenerateEvent) => void };

const fakeChat = (start?: ChatState) => {
  const asked: Asked[] = [];
  const cancelled: string[] = [];
  const host: ChatHost = {
    generate: (id, request, tell) => asked.push({ id, request, tell }),
    cancel: (id) => cancelled.push(id),
  };
  let ids = 0;
  const newId = () => {
    ids += 1;
    return `id${ids}`;
  };
  const chat = createChat(host, newId, start);
  const tell = (event: GenerateEvent): void => asked.at(-1)?.tell(event);
  const write = (text: string): void => tell({ kind: "progress", progress: { kind: "text", text } });
  const answer = () => chat.store.getState().turns.at(-1)?.answer;
  return { chat, asked, cancelled, tell, write, answer };
};

const contents = (asked: readonly Asked[]) => asked.at(-1)?.request.messages.map((message) => message.content);

describe("asking", () => {
  test("a question is trimmed and its answer streams into it", () => {
    const { chat, asked, write, answer, tell } = fakeChat();
    chat.send("  Capital of France?\n");
    expect(contents(asked)).toEqual(["Capital of France?"]);
    write("Pa");
    write("ri");
    expect(answer()).toMatchObject({ text: "Pari", state: { kind: "running" } });
    tell({ kind: "result", result: someResult() });
    expect(answer()).toMatchObject({ text: "Paris.", state: { kind: "finished", figures: { promptTokens: 1250 } } });
  });

  test("progress of the prompt is kept until the answer ends", () => {
    const { chat, tell, answer } = fakeChat();
    chat.send("Hello");
    const cachedTokens = { ram: 256, ssd: 0 };
    tell({ kind: "progress", progress: { kind: "prefill", doneTokens: 512, totalTokens: 1500, cachedTokens } });
    expect(answer()?.state).toMatchObject({ prefill: { doneTokens: 512, totalTokens: 1500, cachedTokens } });
  });

  test("the next question carries what was asked and answered before", () => {
    const { chat, asked, tell } = fakeChat();
    chat.send("One");
    tell({ kind: "result", result: someResult({ text: "First." }) });
    chat.send("Two");
    expect(asked.at(-1)?.request.messages).toEqual([
      { role: "user", content: "One" },
      { role: "assistant", content: "First." },
      { role: "user", content: "Two" },
    ]);
  });

  test("nothing is asked while an answer runs, or without text", () => {
    const { chat, asked } = fakeChat();
    chat.send("  \n ");
    chat.send("One");
    chat.send("Two");
    chat.retry();
    expect(asked).toHaveLength(1);
  });
});

describe("stopping and failing", () => {
  test("stop asks the host, and the answer ends with the host's figures", () => {
    const { chat, asked, cancelled, write, answer, tell } = fakeChat();
    chat.send("One");
    write("Half");
    chat.stop();
    expect(cancelled).toEqual(asked.map((one) => one.id));
    expect(answer()?.state).toMatchObject({ kind: "running", isStopping: true });
    tell({ kind: "result", result: someResult({ text: "Half", finishReason: "cancelled" }) });
    expect(answer()).toMatchObject({ text: "Half", state: { kind: "finished" } });
  });

  test("a lost connection keeps the text that had come", () => {
    const { chat, write, tell, answer } = fakeChat();
    chat.send("One");
    write("Half");
    tell({ kind: "lost" });
    expect(answer()).toEqual({ text: "Half", state: { kind: "failed", failure: { kind: "lost" } } });
  });

  test("a failed answer is asked again in its place, and late events of the first are not heard", () => {
    const { chat, asked, tell, answer } = fakeChat();
    chat.send("One");
    tell({ kind: "error", error: { code: "busy", message: "Busy." } });
    chat.retry();
    expect(contents(asked)).toEqual(["One"]);
    asked[0]?.tell({ kind: "progress", progress: { kind: "text", text: "late" } });
    expect(answer()).toMatchObject({ text: "", state: { kind: "running" } });
    expect(chat.store.getState().turns).toHaveLength(1);
  });

  test("a question without a word of an answer is not part of later prompts", () => {
    const { chat, asked, tell } = fakeChat();
    chat.send("Unanswered");
    tell({ kind: "lost" });
    chat.send("Two");
    expect(contents(asked)).toEqual(["Two"]);
  });
});

describe("a new chat", () => {
  test("clears the turns, keeps the draft, and can be undone", () => {
    const { chat, tell } = fakeChat();
    chat.send("One");
    tell({ kind: "result", result: someResult() });
    const { turns } = chat.store.getState();
    chat.setDraft("later");
    chat.newChat();
    expect(chat.store.getState()).toMatchObject({ turns: [], draft: "later" });
    chat.undoNewChat();
    expect(chat.store.getState()).toMatchObject({ turns, cleared: null });
  });

  test("stops the running answer, which comes back as stopped", () => {
    const { chat, cancelled, write, answer } = fakeChat();
    chat.send("One");
    write("Half");
    chat.newChat();
    expect(cancelled).toHaveLength(1);
    write(" more");
    expect(chat.store.getState().turns).toEqual([]);
    chat.undoNewChat();
    expect(answer()).toEqual({ text: "Half", state: { kind: "left" } });
  });

  test("can no longer be undone once something is asked; undoing twice does nothing", () => {
    const { chat, tell } = fakeChat();
    chat.send("One");
    tell({ kind: "result", result: someResult() });
    chat.newChat();
    chat.send("Two");
    chat.undoNewChat();
    expect(chat.store.getState().turns.map((turn) => turn.question)).toEqual(["Two"]);
  });

  test("of an empty chat leaves an earlier undo in place", () => {
    const { chat, tell } = fakeChat();
    chat.send("One");
    tell({ kind: "result", result: someResult() });
    chat.newChat();
    chat.newChat();
    expect(chat.store.getState().cleared?.turns).toHaveLength(1);
  });
});
