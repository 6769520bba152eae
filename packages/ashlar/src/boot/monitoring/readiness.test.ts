import { expect, onTestFinished, test, vi } from "vitest";
import { currentTrace, fetchTraced, type Logger, type RequestTrace, requestTraces } from "../../kernel/index.ts";
import { createLogger } from "../log/create-logger.ts";
import { Readiness, type ReadinessCheck } from "./readiness.ts";

type Line = Readonly<Record<string, unknown>>;

function readiness(checks: readonly ReadinessCheck[]): {
  readonly checked: Readiness;
  readonly lines: Line[];
  readonly logger: Logger;
} {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const lines: Line[] = [];
  const settings = { name: "Shop", environment: "test", log: { level: "info", requests: false } } as const;
  const logger = createLogger(settings, { write: (line) => void lines.push(JSON.parse(line) as Line) });
  return { checked: new Readiness(checks, logger), lines, logger };
}

test("all requests within a second share one run of the checks", async () => {
  let runs = 0;
  const { checked } = readiness([{ name: "database", run: async () => void runs++ }]);
  await Promise.all(Array.from({ length: 100 }, () => checked.results()));
  vi.advanceTimersByTime(999);
  await checked.results();
  expect(runs).toBe(1);
  vi.advanceTimersByTime(1);
  expect(await checked.results()).toEqual({ database: "ok" });
  expect(runs).toBe(2);
});

test("a check that throws or rejects fails, and the others run all the same", async () => {
  const { checked } = readiness([
    {
      name: "database",
      run: () => {
        throw new Error("away");
      },
    },
    { name: "redis", run: () => Promise.reject(new Error("away")) },
    { name: "stock", run: () => {} },
  ]);
  expect(await checked.results()).toEqual({ database: "failed", redis: "failed", stock: "ok" });
});

test("a check runs outside the context of any request that triggers it, however it came in", async () => {
  const seen: unknown[] = [];
  const { checked, logger } = readiness([{ name: "database", run: () => void seen.push(currentTrace()) }]);
  const served: RequestTrace = { id: null, logger, application: null, isHandedOver: false, waiting: null };
  await requestTraces.run(served, () => checked.results());
  vi.advanceTimersByTime(1000);
  await fetchTraced(async () => {
    await checked.results();
    return new Response();
  });
  expect(seen).toEqual([null, null]);
});

test("a check that hangs is abandoned after two seconds, is not started again, and may end late", async () => {
  const held = Promise.withResolvers<void>();
  let runs = 0;
  const run = (): Promise<void> => {
    runs++;
    return runs === 1 ? held.promise : Promise.resolve();
  };
  const { checked } = readiness([{ name: "database", run }]);
  const ask = async () => {
    const results = checked.results();
    await vi.advanceTimersByTimeAsync(2000);
    return await results;
  };
  expect(await ask()).toEqual({ database: "timeout" });
  expect(await ask()).toEqual({ database: "timeout" });
  expect(runs).toBe(1);
  held.reject(new Error("late"));
  await vi.advanceTimersByTimeAsync(1000);
  expect(await ask()).toEqual({ database: "ok" });
  expect(runs).toBe(2);
});

test("a check that takes no instance out of service is abandoned after one second, so that /ready still answers in time", async () => {
  const run = () => new Promise<void>(() => {});
  const { checked } = readiness([{ name: "redis", failsReadiness: false, run }]);
  let results: unknown = null;
  void checked.results().then((found) => (results = found));
  await vi.advanceTimersByTimeAsync(999);
  expect(results).toBe(null);
  await vi.advanceTimersByTimeAsync(1);
  expect(results).toEqual({ redis: "timeout" });
});

test("the log says when results change, with the error, and not each time", async () => {
  let isAway = true;
  const run = (): void => {
    if (isAway) throw new Error("connection refused");
  };
  const { checked, lines } = readiness([
    { name: "stock", run: () => {} },
    { name: "database", run },
  ]);
  const ask = async (): Promise<void> => {
    await checked.results();
    vi.advanceTimersByTime(1000);
  };
  await ask();
  await ask();
  isAway = false;
  await ask();
  await ask();
  expect(lines.map(({ level, msg, checks }) => [level, msg, checks])).toEqual([
    ["warn", "The application is not ready for requests. These checks fail: database.", ["database"]],
    ["info", "The application is ready again: all checks pass.", undefined],
  ]);
  expect(lines[0]!.err).toMatchObject({ message: "connection refused" });
});
