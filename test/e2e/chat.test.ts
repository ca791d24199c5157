import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Browser, Locator } from "playwright-core";
import { TemporaryFolder } from "../support/temporary-folder.ts";
import { BrowserPage, openBrowser } from "./browser-page.ts";
import { RunningApp } from "./running-app.ts";

/** For what the model writes; a test that hangs ends well before its suite. */
const ANSWER_MS = 60_000;

let browser: Browser;

beforeAll(async () => {
  browser = await openBrowser();
});

afterAll(() => browser.close());

const chatOf = ({ page }: BrowserPage) => ({
  message: page.getByRole("textbox", { name: "Message" }),
  send: page.getByRole("button", { name: "Send" }),
  stop: page.getByRole("button", { name: "Stop", exact: true }),
  answers: page.getByRole("article", { name: "Keepwarm answered" }),
  questions: page.getByRole("article", { name: "You asked" }),
  warmNote: page.getByRole("button", { name: /were warm/ }),
  coldNote: page.getByRole("button", { name: /new: first time/ }),
});

const say = async (page: BrowserPage, text: string): Promise<void> => {
  const { message, send } = chatOf(page);
  await message.fill(text);
  await send.click();
};

/** The words of an answer, without the line under it. */
const wordsOf = (answer: Locator): Locator =>
  answer
    .locator("p")
    .filter({ hasText: /\w+ \w+ \w+/ })
    .first();

/** Resolves when the answer is longer than it was, and is still being written. */
const grows = async (page: BrowserPage, answer: Locator): Promise<void> => {
  const { stop } = chatOf(page);
  const words = wordsOf(answer);
  await words.waitFor({ timeout: ANSWER_MS });
  const before = (await words.textContent()) ?? "";
  await stop.waitFor();
  await page.page.waitForFunction(
    ({ node, length }) => (node?.textContent ?? "").length > length + 20,
    { node: await words.elementHandle(), length: before.length },
    { timeout: ANSWER_MS },
  );
  expect(await stop.isVisible()).toBe(true);
};

/** Asks, and ends the answer after its first words: a small model may find no end by itself. */
const askBriefly = async (page: BrowserPage, question: string): Promise<void> => {
  const { answers } = chatOf(page);
  const already = await answers.count();
  await say(page, question);
  await wordsOf(answers.nth(already)).waitFor({ timeout: ANSWER_MS });
  await page.page.keyboard.press("Escape");
};

const figuresOf = async (note: Locator): Promise<{ warm: number; all: number }> => {
  const text = (await note.textContent()) ?? "";
  const [, warm = "", all = ""] = /(\d[\d,]*) of (\d[\d,]*) prompt tokens were warm/.exec(text) ?? [];
  return { warm: Number(warm.replaceAll(",", "")), all: Number(all.replaceAll(",", "")) };
};

const offline = ({ page }: BrowserPage): Locator => page.getByText("Keepwarm does not answer. Offline, trying again.");

test("a first visit, two questions, a reload, a restart of the host", async () => {
  using folder = new TemporaryFolder();
  const home = folder.path;
  await using app = await RunningApp.start({ home });
  const context = await browser.newContext();
  const visit = await BrowserPage.open(context, app.link);
  const { page } = visit;
  const { answers, questions, stop, send, warmNote, coldNote } = chatOf(visit);

  await page.getByRole("heading", { name: "Ask something" }).waitFor();
  expect(new URL(page.url()).hash).toBe("");
  await visit.picture("empty");

  await say(visit, "Write a long story about a lighthouse keeper.");
  await grows(visit, answers.first());
  await visit.picture("streaming");
  await stop.click();
  await coldNote.waitFor({ timeout: ANSWER_MS });
  expect(await coldNote.textContent()).toMatch(/^stopped · new: first time this text was seen · first token after/);
  await send.waitFor();

  await askBriefly(visit, "Name three fruits and say something about each.");
  await warmNote.waitFor({ timeout: ANSWER_MS });
  const { warm, all } = await figuresOf(warmNote);
  expect(warm).toBeGreaterThan(0);
  expect(all).toBeGreaterThan(warm);
  await visit.picture("answers");
  expect(await visit.accessibilityFaults()).toEqual([]);

  const answer = await answers.last().textContent();
  await page.reload();
  await warmNote.waitFor();
  expect(await questions.count()).toBe(2);
  expect(await answers.last().textContent()).toBe(answer);

  expect(visit.unreachable).toBe(0);
  expect(await app.stop()).toBe(0);
  await offline(visit).waitFor();
  await using _again = await RunningApp.start({ home }, app.port);
  await offline(visit).waitFor({ state: "detached" });
  await askBriefly(visit, "Which of them is the sweetest?");
  await warmNote.nth(1).waitFor({ timeout: ANSWER_MS });
  expect((await figuresOf(warmNote.nth(1))).warm).toBeGreaterThanOrEqual(all);

  await page.getByRole("button", { name: "New chat" }).click();
  await page.getByRole("heading", { name: "Ask something" }).waitFor();
  expect(visit.errors).toEqual([]);
  await context.close();
});

test("a link that was used is refused in words", async () => {
  using folder = new TemporaryFolder();
  await using app = await RunningApp.open({ home: folder.path });
  const [first, second] = await Promise.all([browser.newContext(), browser.newContext()]);
  const visit = await BrowserPage.open(first, app.link);
  await visit.page.getByRole("textbox", { name: "Message" }).waitFor();
  const late = await BrowserPage.open(second, app.link);
  await late.page.getByRole("heading", { name: "This page needs a fresh link" }).waitFor();
  expect(await late.accessibilityFaults()).toEqual([]);
  await late.picture("refused");
  await Promise.all([first.close(), second.close()]);
});
