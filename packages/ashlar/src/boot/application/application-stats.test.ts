import { performance } from "node:perf_hooks";
import { setImmediate as turn } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { Route } from "../../routing/index.ts";
import { hashPassword } from "../../security/index.ts";
import { EventLoopWatch } from "../process/event-loop-watch.ts";
import { createApplication } from "./create-application.ts";

declare module "../monitoring/application-stats.ts" {
  interface ApplicationStats {
    readonly carts?: { readonly open: number };
  }
}

async function make() {
  const application = await createApplication({
    environment: { APP_ENV: "test" },
    routes: [Route.get("/", () => "hello")],
  });
  onTestFinished(() => application.shutdown());
  return application;
}

/** Computes without a pause, like a slow handler. */
function work(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

test("an application without features reports on itself and its process", async () => {
  const application = await make();
  const { process: own, uptimeSeconds, ...stats } = application.stats();
  expect(stats).toEqual({
    requests: [],
    errors: {},
    eventLoop: null,
    hashing: { running: 0, waiting: 0 },
    backgroundJobs: 0,
    prunedAt: null,
  });
  expect(uptimeSeconds).toBeGreaterThan(0);
  expect(Object.values(own).every((number) => number > 0)).toBe(true);
  expect(own.heapTotalBytes).toBeGreaterThanOrEqual(own.heapUsedBytes);
  expect(JSON.parse(JSON.stringify(application.stats()))).toMatchObject(stats);
});

test("a feature's metrics are read on request, and a name can be used only once", async () => {
  const application = await make();
  let open = 1;
  application.addStats("carts", () => ({ open }));
  expect(application.stats().carts).toEqual({ open: 1 });
  open = 5;
  expect(application.stats().carts).toEqual({ open: 5 });
  expect(() => application.addStats("carts", () => ({ open }))).toThrow(
    expect.objectContaining({ code: "E_INVALID_CONFIGURATION" }),
  );
});

test("passwords that are being hashed and those that wait are counted", async () => {
  const application = await make();
  const { hashing } = application.stats();
  const hashes = Array.from({ length: 40 }, () => hashPassword("a password of hers"));
  const { running, waiting } = application.stats().hashing;
  expect([running + waiting - hashing.running - hashing.waiting, waiting > 0]).toEqual([40, true]);
  await Promise.all(hashes);
  await expect.poll(() => application.stats().hashing).toEqual({ running: 0, waiting: 0 });
});

test("the event loop is measured while the application listens", async () => {
  const application = await make();
  await application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false });
  expect(application.stats().eventLoop?.utilization).toEqual(expect.any(Number));
  await application.shutdown();
  expect(application.stats().eventLoop).toBe(null);
});

test("work that blocks the event loop shows in its delay and its utilization, until the next period", async () => {
  const watch = new EventLoopWatch();
  watch.start();
  onTestFinished(() => watch.stop());
  // The work makes the next measurement late.
  while (watch.read()!.delayMs.max <= 40) {
    work(80);
    await turn();
  }
  expect(watch.read()!.utilization).toBeGreaterThan(0.3);
  watch.endPeriod();
  const blocked = watch.read()!;
  expect(blocked.delayMs.max).toBeGreaterThan(40);
  watch.endPeriod();
  expect(watch.read()!.delayMs.max).toBe(0);
});
