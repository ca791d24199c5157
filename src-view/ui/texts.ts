// Every sentence the page shows.
import type { Readiness } from "../app-store.ts";
import { formatBytesOf, formatCount, formatDuration, formatRate } from "./format.ts";

const openCommand = "npm run -s keepwarm -- open";
const doctorCommand = "npm run keepwarm -- doctor";

export const texts = {
  name: "Keepwarm",
  navigation: "Pages",
  chat: "Chat",
  status: {
    connecting: "connecting",
    offline: "offline",
    outdated: "page out of date",
    "setting-up": "setting up",
    loading: "loading the model",
    failed: "not running",
    ready: "ready",
    answering: "answering",
  },
  noModel: "No model yet",
  theme: { legend: "Theme", light: "Light", dark: "Dark", system: "As the system" },

  connection: {
    offline: "Keepwarm does not answer. Offline, trying again.",
    outdated: "Keepwarm was updated and this page is older. Reload it to go on.",
    tryNow: "Try now",
    reload: "Reload",
  },
  refused: {
    title: "This page needs a fresh link",
    body: "Keepwarm runs, but it does not know this browser. A link works once and for ten minutes. To get a new one, run:",
    command: openCommand,
    after: "Then open the address it prints.",
  },
  connecting: { title: "Connecting to Keepwarm", body: "This takes a moment." },
  setup: {
    title: "Setting up",
    body: "This happens once. Keepwarm gets what it needs to run a model on this computer; nothing you write leaves it.",
    next: "Next: the starter model is loaded, then you can chat. You may close this page; the set-up goes on.",
    parts: "Parts",
    waiting: "waiting",
    working: "working",
    ready: "ready",
    failed: "failed",
    part: (title: string, doneBytes: number, totalBytes: number) =>
      `${title} · ${formatBytesOf(doneBytes, totalBytes)}`,
    summary: (ready: number, all: number) => `Setting up: ${ready} of ${all} parts are ready.`,
  },
  loading: {
    title: (model: string) => `Loading ${model}`,
    body: "The model is read into memory. Then you can chat.",
  },
  failed: {
    title: "Keepwarm cannot run the model",
    doctor: "To see what each part needs, run:",
    command: doctorCommand,
    after: "This page reconnects by itself when Keepwarm is started again.",
  },

  newChat: "New chat",
  untitled: "New chat",
  conversation: "Conversation",
  tokensOf: (used: number, context: number) => `${formatCount(used)} of ${formatCount(context)} tokens`,
  question: "You asked",
  answer: "Keepwarm answered",
  empty: {
    title: "Ask something",
    body: "What you send is computed once and kept warm, so the next question waits only for what is new.",
    examples: "Examples",
  },
  examples: [
    "What is the capital of France?",
    "Explain to a child what a cache is.",
    "Write three short lines about a warm kitchen.",
  ],

  composer: {
    label: "Message",
    placeholder: "Write a message",
    send: "Send",
    stop: "Stop",
    stopping: "Stopping",
    hint: "⏎ to send, ⇧⏎ for a new line",
    hintRunning: "Esc to stop",
    blocked: {
      connecting: "Connecting to Keepwarm. Your text is kept.",
      offline: "Keepwarm does not answer. Your text is kept.",
      outdated: "Reload the page to send. Your text is kept.",
      "setting-up": "You can send when the set-up is done. Your text is kept.",
      loading: "You can send when the model is loaded. Your text is kept.",
      failed: "Keepwarm cannot run the model. Your text is kept.",
    } satisfies Record<Exclude<Readiness, "ready">, string>,
  },
  jumpToLatest: "Jump to latest",
  cleared: "The chat was cleared.",
  undo: "Undo",
  dismiss: "Dismiss",
  forgotten: (turns: number) =>
    turns === 1
      ? "The first question of this chat was too long to be kept."
      : `The first ${formatCount(turns)} questions of this chat were too long to be kept.`,
  ssdFault: (reason: string) => `New prompts stay in RAM only and will be computed again after a restart: ${reason}`,
  notKept: "This browser does not keep the chat; it ends with this tab.",

  progress: {
    waiting: "waiting for the model",
    reading: (done: number, total: number) =>
      `reading the prompt: ${formatCount(done)} of ${formatCount(total)} tokens`,
    writing: "writing",
    stopping: "stopping",
  },
  note: {
    warm: (warm: number, all: number) => `${formatCount(warm)} of ${formatCount(all)} prompt tokens were warm`,
    cold: "new: first time this text was seen",
    damaged: "new: what was kept could not be read",
    evicted: "new: it was kept, but had to make room",
    firstToken: (ms: number) => `first token after ${formatDuration(ms)}`,
    rate: (tokensPerSecond: number) => formatRate(tokensPerSecond),
    stopped: "stopped",
    full: "cut off: the context is full",
  },
  residency: (ram: number, ssd: number, fresh: number) =>
    `${formatCount(ram)} tokens from RAM, ${formatCount(ssd)} from SSD, ${formatCount(fresh)} new`,
  details: {
    diverged: (atToken: number) =>
      `The prompt parts from what was kept at token ${formatCount(atToken)}; from there it was computed.`,
    damaged: (message: string) => `A kept block could not be used: ${message}`,
    evicted: "More of the prompt was kept, but it had to make room for newer ones.",
    notKept: "More of the prompt is in memory, but only for the chat that asked not to be kept.",
    restoreFailed: (message: string) => `What the SSD keeps could not be read this time: ${message}`,
    written: (tokens: number) => `${formatCount(tokens)} tokens were written.`,
    prefill: (tokensPerSecond: number) => `New prompt tokens were read at ${formatRate(tokensPerSecond)}.`,
  },
  failure: {
    lost: "The connection to Keepwarm ended before the answer did.",
    left: "Stopped.",
    interrupted: "The page was closed before the answer was finished.",
    leftOut: "The model will not see this question later.",
    tryAgain: "Try again",
  },
  noText: "The model ended its turn without a word.",
  announce: { finished: "Answer finished.", reading: "Reading the prompt." },
  openLink: "opens in a new tab",
} as const;
