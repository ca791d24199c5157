// Prefill and decode against mlx-lm, alternating, in the configuration that ships.
import { availableParallelism } from "node:os";
import { Sampler } from "../../src-bun/engine/sampler.ts";
import { blasThreads } from "../../src-bun/mlx/blas-threads.ts";
import { Starter } from "../support/starter.ts";
import { testSetup } from "../support/test-setup.ts";
import { type BenchResult, figure, median } from "./figure.ts";
import { Peer } from "./peer.ts";

const RUNS = 5;
const DECODE_STEPS = 64;
const DECODE_PROMPT = 128;
const GOAL = { atLeast: 0.97 } as const;

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

type Side = {
  readonly prefill: (ids: Uint32Array) => Promise<number>;
  readonly decode: (ids: Uint32Array) => Promise<number>;
};

/** Our side as a request runs it: in pieces, with a turn of the event loop between them. Milliseconds. */
const ourSide = (starter: Starter): Side => {
  const shape = starter.calibrated;
  const run = async (ids: Uint32Array, steps: number): Promise<{ prefillMs: number; decodeMs: number }> => {
    using kv = starter.kv.allocate(ids.length + steps);
    const sampler = new Sampler(starter.runtime, starter.ops, { temperature: 0, seed: 0 });
    const start = performance.now();
    const pieces = starter.forward.prefill(ids, kv, shape);
    let piece = pieces.next();
    while (!piece.done) {
      await turn();
      piece = pieces.next();
    }
    let logits = piece.value;
    let id = sampler.sample(logits);
    const prefilled = performance.now();
    for (let step = 0; step < steps; step++) {
      await turn();
      const next = starter.forward.step(id, kv);
      logits[Symbol.dispose]();
      logits = next;
      id = sampler.sample(logits);
    }
    logits[Symbol.dispose]();
    return { prefillMs: prefilled - start, decodeMs: performance.now() - prefilled };
  };
  return {
    prefill: async (ids) => (await run(ids, 0)).prefillMs,
    decode: async (ids) => (await run(ids, DECODE_STEPS)).decodeMs,
  };
};

const peerSide = (peer: Peer): Side => ({
  prefill: async (ids) => (await peer.ask<{ ms: number }>({ op: "prefill", ids: [...ids] })).ms,
  decode: async (ids) => (await peer.ask<{ ms: number }>({ op: "decode", ids: [...ids], n: DECODE_STEPS })).ms,
});

/** Ratios of the peer's time to ours, pair by pair, and the medians of both. One warm-up each. */
const compare = async (ours: () => Promise<number>, peers: () => Promise<number>) => {
  await ours();
  await peers();
  const pairs: { ours: number; peers: number }[] = [];
  for (let run = 0; run < RUNS; run++) pairs.push({ ours: await ours(), peers: await peers() });
  return {
    ratios: pairs.map((pair) => pair.peers / pair.ours),
    oursMs: median(pairs.map((pair) => pair.ours)),
    peersMs: median(pairs.map((pair) => pair.peers)),
  };
};

export const engineBench = async (): Promise<BenchResult> => {
  const setup = await testSetup();
  using starter = await Starter.open();
  await using peer = await Peer.start(setup);
  const threads = blasThreads(availableParallelism());
  await peer.ask({ op: "threads", n: threads });
  const text = "The quick brown fox jumps over the lazy dog. ".repeat(500);
  const ids = Uint32Array.from(starter.model.tokenizer.encodeText(text)).slice(0, 4096);
  const ours = ourSide(starter);
  const peers = peerSide(peer);
  const figures = [];
  const tokensPerSecond: Record<string, { ours: number; peer: number }> = {};
  for (const length of [128, 1024, 4096]) {
    const prompt = ids.slice(0, length);
    const { ratios, oursMs, peersMs } = await compare(
      () => ours.prefill(prompt),
      () => peers.prefill(prompt),
    );
    figures.push(figure(`prefill${length}.vsPeer`, "ratio", GOAL, ratios));
    tokensPerSecond[`prefill${length}`] = { ours: (length / oursMs) * 1000, peer: (length / peersMs) * 1000 };
  }
  const prompt = ids.slice(0, DECODE_PROMPT);
  const decode = await compare(
    () => ours.decode(prompt),
    () => peers.decode(prompt),
  );
  figures.push(figure("decode.vsPeer", "ratio", GOAL, decode.ratios));
  tokensPerSecond["decode"] = {
    ours: (DECODE_STEPS / decode.oursMs) * 1000,
    peer: (DECODE_STEPS / decode.peersMs) * 1000,
  };
  const context = { model: starter.model.id, blasThreads: threads, mlxLm: peer.description.mlxLm, tokensPerSecond };
  return { figures, context };
};
