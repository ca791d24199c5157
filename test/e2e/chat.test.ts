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

/** Resolves when the text of `answer` has grown while the answer is still being written. */
const grows = async (page: BrowserPage, answer: Locator): Promise<void> => {
  const { stop } = chatOf(page);
  await answer.getByText(/\w+ \w+/).waitFor({ timeout: ANSWER_MS });
  const before = ((await answer.textContent()) ?? "").length;
  expect(await stop.isVisible()).toBe(true);
  const element = await answer.elementHandle();
  await page.page.waitForFunction(
    ({ node, length }) => (node?.textContent ?? "").length > length + 60,
    { node: element, length: before },
    { timeout: ANSWER_MS },
  );
  expect(await stop.isVisible()).toBe(true);
};

test("a first visit, two questions, a reload, a restart of the host", async () => {
  using folder = new TemporaryFolder();
  const home = folder.path;
  await using app = await RunningApp.start({ home });
  const context = await browser.newContext();
  const visit = await BrowserPage.open(context, app.link);
  const { page } = visit;
  const { answers, questions, stop, send, warmNote, coldNote, message } = chatOf(visit);

  await page.getByRole("heading", { name: "Ask something" }).waitFor();
  expect(new URL(page.url()).hash).toBe("");
  await visit.picture("empty");

  await say(visit, "Explain to a child what a cache is.");
  await grows(visit, answers.first());
  await visit.picture("streaming");
  await stop.click();
  await coldNote.waitFor({ timeout: ANSWER_MS });
  expect(await coldNote.textContent()).toMatch(/^stopped · new: first time this text was seen · first token after/);
  await send.waitFor();

  await say(visit, "What is the capital of France? Answer with one word.");
  await warmNote.waitFor({ timeout: ANSWER_MS });
  const [, warm, all] =
    /(\d[\d,]*) of (\d[\d,]*) prompt tokens were warm/.exec((await warmNote.textContent()) ?? "") ?? [];
  expect(Number(warm)).toBeGreaterThan(0);
  expect(Number(all)).toBeGreaterThan(Number(warm));
  await visit.picture("answers");
  expect(await visit.accessibilityFaults()).toEqual([]);

  const answer = await answers.last().textContent();
  await page.reload();
  await warmNote.waitFor();
  expect(await questions.count()).toBe(2);
  expect(await answers.last().textContent()).toBe(answer);

  expect(visit.unreachable).toBe(0);
  expect(await app.stop()).toBe(0);
  await page.getByText("Keepwarm does not answer. Offline, trying again.").waitFor();
  await using _again = await RunningApp.start({ home }, app.port);
  await page.getByText("Keepwarm does not answer. Offline, trying again.").waitFor({ state: "detached" });
  await message.fill("And of Italy?");
  await send.click();
  await warmNote.nth(1).waitFor({ timeout: ANSWER_MS });
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
