import { expect, onTestFinished, test, vi } from "vitest";
import { AshlarError } from "../../support/index.ts";
import { createLogger } from "../log/create-logger.ts";
import { waitFor } from "./wait-for.ts";

type Line = Readonly<Record<string, unknown>>;

/** A target that accepts a connection after some attempts, and the log's lines until then. */
function away(attempts: number, error: Error = new AshlarError("E_OVERLOADED")) {
  const lines: Line[] = [];
  const settings = { name: "Shop", environment: "test", log: { level: "info", requests: false } } as const;
  const logger = createLogger(settings, { write: (line) => void lines.push(JSON.parse(line) as Line) });
  let made = 0;
  const connect = async (): Promise<void> => {
    if (++made <= attempts) throw error;
  };
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const sleeps: number[] = [];
  const pause = async (ms: number): Promise<void> => {
    sleeps.push(ms);
    vi.advanceTimersByTime(ms);
  };
  const options = { what: "The database", logger, pause };
  const isFinal = ({ code }: AshlarError) => code === "E_SHUTTING_DOWN";
  const wait = (seconds: number) => waitFor(connect, { ...options, seconds, isFinal });
  return { wait, lines, sleeps, made: () => made };
}

test("a reachable target is connected to once, and nothing is logged", async () => {
  const { wait, lines, made } = away(0);
  await wait(30);
  expect([made(), lines]).toEqual([1, []]);
});

test("an unreachable target is tried again, with growing pauses, and two lines say so", async () => {
  const { wait, lines, sleeps, made } = away(6);
  await wait(60);
  expect(made()).toBe(7);
  const bounds = [250, 500, 1000, 2000, 4000, 5000];
  for (const [index, ms] of sleeps.entries()) {
    expect(ms).toBeGreaterThanOrEqual(bounds[index]! / 2);
    expect(ms).toBeLessThanOrEqual(bounds[index]!);
  }
  expect(sleeps).toHaveLength(bounds.length);
  expect(lines).toEqual([
    expect.objectContaining({
      level: "warn",
      seconds: 60,
      err: expect.objectContaining({ code: "E_OVERLOADED" }) as object,
      msg: "The database can't be reached yet. Waiting for it, for up to 60 seconds.",
    }),
    expect.objectContaining({
      level: "info",
      attempts: 7,
      msg: "The database can be reached now. The application starts.",
    }),
  ]);
});

test("when the time is over, the last error is thrown, and the last attempt is not before the end", async () => {
  const { wait, sleeps } = away(Number.POSITIVE_INFINITY);
  await expect(wait(30)).rejects.toMatchObject({ code: "E_OVERLOADED" });
  expect(sleeps.reduce((sum, ms) => sum + ms)).toBeCloseTo(30_000, 0);
});

test("without time to wait, the first error is thrown, and nothing is logged", async () => {
  const { wait, lines, made } = away(1);
  await expect(wait(0)).rejects.toMatchObject({ code: "E_OVERLOADED" });
  expect([made(), lines]).toEqual([1, []]);
});

test.each(["E_INVALID_CONFIGURATION", "E_SHUTTING_DOWN"] as const)(
  "%s, which waiting won't fix, is thrown at once",
  async (code) => {
    const { wait, lines, made } = away(1, new AshlarError(code));
    await expect(wait(30)).rejects.toMatchObject({ code });
    expect([made(), lines]).toEqual([1, []]);
  },
);
