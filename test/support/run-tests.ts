// `npm test` after its checks: sets the engine up as the app would, then runs the suites within their budgets.
// The last line it prints is the count. `--release` gives the suites their large sizes, `SUITE…` runs some of them.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suites } from "./suites.ts";
import { testSetup } from "./test-setup.ts";

type Count = { passed: number; failed: number; skipped: number };

const arguments_ = process.argv.slice(2);
const isRelease = arguments_.includes("--release");
const wanted = arguments_.filter((argument) => !argument.startsWith("--"));
/** A hang ends here; how long tests may take is the suite's budget. */
const TEST_TIMEOUT_MS = 240_000;
/** The large sizes may take this many times a suite's budget. */
const RELEASE_FACTOR = 20;

const countOf = (report: string): Count => {
  const head = /<testsuites[^>]*>/.exec(readFileSync(report, "utf8"))?.[0] ?? "";
  const number = (name: string): number => Number(new RegExp(`\\b${name}="(\\d+)"`).exec(head)?.[1] ?? 0);
  const failed = number("failures") + number("errors");
  const skipped = number("skipped");
  return { passed: number("tests") - failed - skipped, failed, skipped };
};

const runSuite = async (suite: (typeof suites)[number], folder: string): Promise<Count> => {
  const report = join(folder, "report.xml");
  rmSync(report, { force: true });
  const budgetMs = suite.budgetSeconds * 1000 * (isRelease ? RELEASE_FACTOR : 1);
  console.log(`\n== ${suite.name} (at most ${Math.round(budgetMs / 1000)} s)`);
  const start = performance.now();
  const tests = Bun.spawn(
    [
      process.execPath,
      "test",
      `--timeout=${TEST_TIMEOUT_MS}`,
      "--reporter=junit",
      `--reporter-outfile=${report}`,
      ...suite.files,
    ],
    {
      env: { ...process.env, KEEPWARM_TEST_SIZE: isRelease ? "release" : "commit" },
      stdio: ["ignore", "inherit", "inherit"],
      timeout: budgetMs,
      killSignal: "SIGKILL",
    },
  );
  const exitCode = await tests.exited;
  const seconds = (performance.now() - start) / 1000;
  if (tests.signalCode !== null) {
    console.error(`${suite.name} was ended after ${seconds.toFixed(0)} s (${tests.signalCode}).`);
    return { passed: 0, failed: 1, skipped: 0 };
  }
  const count = countOf(report);
  console.log(`${suite.name}: ${seconds.toFixed(1)} of ${suite.budgetSeconds} s`);
  // A file that cannot even be loaded is in no report.
  return exitCode !== 0 && count.failed === 0 ? { ...count, failed: 1 } : count;
};

const folder = mkdtempSync(join(tmpdir(), "keepwarm-tests-"));
const total: Count = { passed: 0, failed: 0, skipped: 0 };
try {
  await testSetup({ isTalking: true });
  for (const suite of suites) {
    if (wanted.length > 0 && !wanted.includes(suite.name)) continue;
    const { passed, failed, skipped } = await runSuite(suite, folder);
    total.passed += passed;
    total.failed += failed;
    total.skipped += skipped;
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
if (total.skipped > 0) console.log(`\n${total.skipped} skipped; each says why.`);
console.log(`\n${total.passed} passed, ${total.failed} failed`);
process.exit(total.failed === 0 && total.passed > 0 ? 0 : 1);
