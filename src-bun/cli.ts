// Entry of the command line and of the browser host.
import { parseArgs } from "node:util";
import * as v from "valibot";
import { type App, createApp } from "./app.ts";
import { KeepwarmError, messageOf } from "./base/errors.ts";
import { askJson, askNote, askRequest } from "./host/ask.ts";
import { connectSocket } from "./host/connect-socket.ts";
import { doctor } from "./host/doctor.ts";
import { runAsk } from "./host/run-ask.ts";
import { serve } from "./host/serve.ts";
import { setupReport } from "./host/setup-report.ts";
import { maxTokensField, seedField, temperatureField } from "./server/generate-fields.ts";
import { ensureSetup } from "./setup/setup.ts";

const USAGE = `Keepwarm runs a language model on this computer and keeps every computed prompt warm.

  npm start                          the app, with its page in the browser
  npm run -s keepwarm -- COMMAND

  serve [--port N]                   what npm start does
  open                               a fresh link to the page of the running app
  ask [OPTIONS] ["text"]             one question; without text, standard input
      --system S                     a system prompt, or @FILE to read one
      --max-tokens N  --temperature T  --seed N
      --json                         the answer and its figures as one JSON object
  setup                              gets the libraries and the starter model
  doctor                             says what is there and what is missing`;

const out = (line: string): void => console.log(line);
const err = (line: string): void => console.error(line);

class UsageError extends Error {}

/** What shells expect of a command that was interrupted. */
const INTERRUPTED = 130;

const numberOf = (name: string, text: string | undefined, isGood: (value: number) => boolean): number | null => {
  if (text === undefined) return null;
  const value = text.trim() === "" ? Number.NaN : Number(text);
  if (!isGood(value)) throw new UsageError(`--${name} does not take "${text}".`);
  return value;
};

const isPort = (value: number): boolean => Number.isInteger(value) && value >= 0 && value < 65536;

/** One Ctrl-C arrives several times: from the terminal, and again from npm and run.mjs, which hand on what they got. */
const ONE_PRESS_MS = 1000;

/** Resolves at the first request to end; a later one ends the process at once. */
const interrupted = (): Promise<void> =>
  new Promise((resolve) => {
    let firstMs: number | null = null;
    const hear = (): void => {
      firstMs ??= performance.now();
      if (performance.now() - firstMs > ONE_PRESS_MS) process.exit(INTERRUPTED);
      resolve();
    };
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, hear);
  });

const interruptedSignal = (): AbortSignal => {
  const stop = new AbortController();
  void interrupted().then(() => stop.abort());
  return stop.signal;
};

const runServe = (app: App, args: string[]): Promise<number> => {
  const { values } = parseArgs({ args, options: { port: { type: "string" } } });
  if (!isPort(app.port)) throw new UsageError("KEEPWARM_PORT is no port. Set it to a number from 0 to 65535.");
  return serve({
    local: app.local,
    dataFolder: app.paths.data,
    socketPath: app.socketPath,
    port: numberOf("port", values.port, isPort) ?? app.port,
    write: out,
    writeError: err,
    stopped: interrupted(),
  });
};

const runOpen = async (app: App): Promise<number> => {
  using running = await connectSocket(app.socketPath);
  if (running === null) throw new KeepwarmError("not-ready", 'Keepwarm is not running. Start it with "npm start".');
  out(await running.openPage());
  return 0;
};

const systemPrompt = async (given: string | undefined): Promise<string | null> => {
  if (!given?.startsWith("@")) return given ?? null;
  try {
    return await Bun.file(given.slice(1)).text();
  } catch (cause) {
    throw new UsageError(`The system prompt ${given.slice(1)} could not be read: ${messageOf(cause)}`, { cause });
  }
};

const runAskCommand = async (app: App, args: string[]): Promise<number> => {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      json: { type: "boolean", default: false },
      system: { type: "string" },
      "max-tokens": { type: "string" },
      temperature: { type: "string" },
      seed: { type: "string" },
    },
  });
  const request = askRequest({
    text: positionals.length > 0 ? positionals.join(" ") : (await Bun.stdin.text()).trimEnd(),
    system: await systemPrompt(values.system),
    maxTokens: numberOf("max-tokens", values["max-tokens"], (value) => v.is(maxTokensField, value)),
    temperature: numberOf("temperature", values.temperature, (value) => v.is(temperatureField, value)) ?? 0,
    seed: numberOf("seed", values.seed, (value) => v.is(seedField, value)),
  });
  const signal = interruptedSignal();
  const result = await runAsk({
    request,
    local: app.local,
    socketPath: app.socketPath,
    onText: (text) => {
      if (!values.json) process.stdout.write(text);
    },
    writeError: err,
    signal,
  });
  if (values.json) out(JSON.stringify(askJson(result)));
  else {
    out("");
    err(askNote(result));
  }
  return result.finishReason === "cancelled" ? INTERRUPTED : 0;
};

const runSetup = async (app: App): Promise<number> => {
  const signal = interruptedSignal();
  const report = setupReport(out);
  await ensureSetup({
    cacheFolder: app.paths.downloads,
    givenLibraryFolder: app.givenLibraryFolder,
    environment: app.environment,
    onProgress: (parts) => report({ kind: "setting-up", parts }),
    signal,
  });
  out("Everything is set up.");
  return 0;
};

const runDoctor = (app: App): Promise<number> =>
  doctor({
    downloads: app.paths.downloads,
    givenLibraryFolder: app.givenLibraryFolder,
    environment: app.environment,
    write: out,
  });

const commands: Readonly<Record<string, (app: App, args: string[]) => Promise<number>>> = {
  serve: runServe,
  open: runOpen,
  ask: runAskCommand,
  setup: runSetup,
  doctor: runDoctor,
};

const main = async ([name, ...args]: string[]): Promise<number> => {
  if (name === undefined || name === "help" || name === "--help") {
    out(USAGE);
    return 0;
  }
  const command = commands[name];
  if (command === undefined) throw new UsageError(`There is no command "${name}".`);
  return command(createApp(), args);
};

const isUsage = (thrown: unknown): boolean =>
  thrown instanceof UsageError ||
  (thrown instanceof Error && "code" in thrown && String(thrown.code).startsWith("ERR_PARSE_ARGS"));

const exitCodeOf = (thrown: unknown): number => {
  if (isUsage(thrown)) return 2;
  return thrown instanceof KeepwarmError && thrown.code === "cancelled" ? INTERRUPTED : 1;
};

try {
  process.exit(await main(process.argv.slice(2)));
} catch (thrown) {
  err(messageOf(thrown));
  if (isUsage(thrown)) err('"npm run -s keepwarm -- help" lists the commands.');
  else if (!(thrown instanceof KeepwarmError) && thrown instanceof Error) err(thrown.stack ?? "");
  process.exit(exitCodeOf(thrown));
}
