// A page of the app in the system's Chromium, and what went wrong in it.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { AxeBuilder } from "@axe-core/playwright";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";

/** Where pictures for a reader go; none are taken without it. */
const screenshots = process.env["KEEPWARM_SCREENSHOTS"];
/** Debian's; KEEPWARM_CHROMIUM names another. */
const executablePath = process.env["KEEPWARM_CHROMIUM"] ?? "/usr/bin/chromium";

const quiet = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export const openBrowser = (): Promise<Browser> => chromium.launch({ executablePath, args: quiet });

/** What the browser itself says of a host that is down. */
const isUnreachable = (text: string): boolean =>
  /ERR_CONNECTION_REFUSED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET/.test(text);

export class BrowserPage {
  readonly page: Page;
  /** Errors of the page and its console, but for those the browser reports of a host that is down. */
  readonly errors: string[] = [];
  /** How often the browser could not reach the host. */
  unreachable = 0;

  private constructor(page: Page) {
    this.page = page;
    page.on("pageerror", (error) => this.errors.push(error.message));
    page.on("console", (message) => {
      if (message.type() !== "error") return;
      if (isUnreachable(message.text())) this.unreachable++;
      else this.errors.push(message.text());
    });
  }

  static async open(context: BrowserContext, address: string): Promise<BrowserPage> {
    const opened = new BrowserPage(await context.newPage());
    await opened.page.goto(address);
    return opened;
  }

  /** Faults of accessibility in the light and in the dark theme: the rule, and where. */
  async accessibilityFaults(): Promise<string[]> {
    const faults: string[] = [];
    for (const colorScheme of ["light", "dark"] as const) {
      await this.page.emulateMedia({ colorScheme });
      const { violations } = await new AxeBuilder({ page: this.page }).analyze();
      for (const { id, nodes } of violations)
        faults.push(`${colorScheme}: ${id} at ${nodes.map(({ target }) => target).join(", ")}`);
    }
    return faults;
  }

  /** In both themes and two sizes. */
  async picture(name: string): Promise<void> {
    if (screenshots === undefined) return;
    mkdirSync(screenshots, { recursive: true });
    const before = this.page.viewportSize();
    for (const colorScheme of ["light", "dark"] as const) {
      await this.page.emulateMedia({ colorScheme });
      for (const [width, height] of [
        [1180, 800],
        [360, 700],
      ] as const) {
        await this.page.setViewportSize({ width, height });
        await this.page.screenshot({ path: join(screenshots, `${name}-${colorScheme}-${width}.png`) });
      }
    }
    if (before !== null) await this.page.setViewportSize(before);
  }
}
