import { expect, test } from "bun:test";
import { Scheduler } from "../../src-bun/engine/scheduler.ts";

const never = new AbortController().signal;

test("requests run one after the other, in the order they came", async () => {
  const scheduler = new Scheduler();
  const seen: string[] = [];
  const first = Promise.withResolvers<void>();
  const results = [
    scheduler.run(async () => {
      seen.push("first begins");
      await first.promise;
      seen.push("first ends");
      return 1;
    }, never),
    scheduler.run(async () => {
      seen.push("second");
      return 2;
    }, never),
  ];
  expect(scheduler.active).toBe(2);
  first.resolve();
  expect(await Promise.all(results)).toEqual([1, 2]);
  await scheduler.idle();
  expect(seen).toEqual(["first begins", "first ends", "second"]);
  expect(scheduler.active).toBe(0);
});

test("one that is cancelled while it waits ends at once and never starts", async () => {
  const scheduler = new Scheduler();
  const first = Promise.withResolvers<number>();
  const running = scheduler.run(() => first.promise, never);
  const stop = new AbortController();
  let hasStarted = false;
  const waiting = scheduler.run(async () => {
    hasStarted = true;
  }, stop.signal);
  stop.abort();
  await expect(waiting).rejects.toMatchObject({ code: "cancelled" });
  first.resolve(1);
  expect(await running).toBe(1);
  await scheduler.idle();
  expect(hasStarted).toBe(false);
});

test("one that fails lets the next have its turn", async () => {
  const scheduler = new Scheduler();
  const failing = scheduler.run(() => Promise.reject(new Error("a mistake")), never);
  const next = scheduler.run(async () => 2, never);
  await expect(failing).rejects.toThrow("a mistake");
  expect(await next).toBe(2);
});

test("a job that began decides itself what its signal means", async () => {
  const scheduler = new Scheduler();
  const stop = new AbortController();
  const answer = scheduler.run(async () => {
    await Promise.resolve();
    stop.abort();
    return "cancelled in its own words";
  }, stop.signal);
  expect(await answer).toBe("cancelled in its own words");
});
