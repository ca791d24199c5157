import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { FakeTools } from "../setup/fake-tools.ts";
import { TemporaryFolder } from "../support/temporary-folder.ts";
import { BrowserPage, openBrowser } from "./browser-page.ts";
import type { StartOptions } from "./keepwarm-process.ts";
import { RunningApp } from "./running-app.ts";

let browser: Browser;

beforeAll(async () => {
  browser = await openBrowser();
});

afterAll(() => browser.close());

/** Nothing is downloaded yet, and what would download it is a stand-in. */
const freshStart = (folder: TemporaryFolder, tools: FakeTools): StartOptions => ({
  home: folder.path,
  environment: { ...tools.environment, KEEPWARM_DOWNLOADS: tools.cacheFolder } as Record<string, string>,
});

test("without a network the page says what failed, and the app stays up to say it", async () => {
  using folder = new TemporaryFolder();
  using tools = new FakeTools();
  tools.set("pip", "cut");
  tools.set("cargo", "cut");
  await using app = await RunningApp.open(freshStart(folder, tools));
  const context = await browser.newContext();
  const visit = await BrowserPage.open(context, app.link);
  const { page } = visit;
  await page.getByRole("heading", { name: "Keepwarm cannot run the model" }).waitFor();
  await page.getByText(/pip could not fetch .*Check the network connection and start again/s).waitFor();
  expect(await visit.accessibilityFaults()).toEqual([]);
  await visit.picture("failed");
  expect(app.process.isAlive).toBe(true);
  expect(app.process.err).toContain("pip could not fetch");
  expect((await fetch(`${app.url}/health`)).status).toBe(200);
  const models = await fetch(`${app.url}/v1/models`, { headers: { authorization: `Bearer ${app.token}` } });
  expect(models.status).toBe(503);
  expect(await models.text()).toContain("pip could not fetch");
  expect(visit.errors).toEqual([]);
  await context.close();
});

test("the page shows the set-up, and the app can be ended in the middle of it", async () => {
  using folder = new TemporaryFolder();
  using tools = new FakeTools();
  tools.set("pip", "hang");
  await using app = await RunningApp.open(freshStart(folder, tools));
  const context = await browser.newContext();
  const visit = await BrowserPage.open(context, app.link);
  const { page } = visit;
  await tools.arrived();
  await page.getByRole("heading", { name: "Setting up" }).waitFor();
  await page.getByRole("list", { name: "Parts" }).getByText("working").waitFor();
  expect(await page.getByRole("listitem").allTextContents()).toContainEqual(
    expect.stringMatching(/SmolLM2-135M-Instruct/),
  );
  expect(await visit.accessibilityFaults()).toEqual([]);
  await visit.picture("setting-up");
  expect(await app.stop()).toBe(0);
  expect(visit.errors).toEqual([]);
  await context.close();
});
