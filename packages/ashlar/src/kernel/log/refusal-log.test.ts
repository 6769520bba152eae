import { beforeEach, expect, test, vi } from "vitest";
import { createLogger } from "../../boot/log/create-logger.ts";
import { RefusalLog, type RefusalWords } from "./refusal-log.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  return () => void vi.useRealTimers();
});

function refusals(words: RefusalWords = { why: "Too few.", bindings: { connection: "main" } }) {
  const lines: object[] = [];
  const settings = { name: "x", environment: "test", log: { level: "info", requests: false } } as const;
  const logger = createLogger(settings, {
    write(line) {
      const { time, level, app, ...rest } = JSON.parse(line) as Record<string, unknown>;
      lines.push(rest);
    },
  });
  return { lines, log: new RefusalLog(logger, words) };
}

const BEGINS = { connection: "main", msg: "Requests are refused with 503. Too few." };
const ENDS = { connection: "main", msg: "Requests were refused with 503, because there were too many. That is over." };

test("S150 an episode is logged after a second, and again with its number of refusals when nothing was refused for ten seconds", async () => {
  const { lines, log } = refusals();
  for (let count = 0; count < 500; count++) log.count(count);
  expect(lines).toEqual([]);
  await vi.advanceTimersByTimeAsync(1000);
  expect(lines).toEqual([{ ...BEGINS, refused: 500, waitedMs: 499 }]);
  for (let second = 0; second < 30; second++) {
    log.count(700);
    await vi.advanceTimersByTimeAsync(1000);
  }
  expect(lines).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(9000);
  expect(lines.slice(1)).toEqual([{ ...ENDS, refused: 530, waitedMs: 700, seconds: 30 }]);
  // The next refusal begins a new episode.
  log.count(3);
  await vi.advanceTimersByTimeAsync(1000);
  expect(lines.slice(2)).toEqual([{ ...BEGINS, refused: 1, waitedMs: 3 }]);
});

test("S150 the caller logs an outage's first refusal, and the last line has the number", async () => {
  const { lines, log } = refusals({ why: null, bindings: { code: "E_DATABASE_UNAVAILABLE" } });
  expect([log.count(), log.count(), log.count()]).toEqual([true, false, false]);
  await vi.advanceTimersByTimeAsync(1000);
  expect(lines).toEqual([]);
  await vi.advanceTimersByTimeAsync(9000);
  const over = { code: "E_DATABASE_UNAVAILABLE", refused: 3, seconds: 0 };
  const msg = "Requests were refused with 503. The log has only the first of them.";
  expect(lines.splice(0)).toEqual([{ ...over, msg }]);
  // The next refusal begins another episode. If it is the only one in it, there is no second line.
  expect(log.count()).toBe(true);
  await vi.advanceTimersByTimeAsync(10_000);
  expect([lines, vi.getTimerCount()]).toEqual([[], 0]);
});

test("at the end of the process, unreported refusals are logged, if there are any", () => {
  const { lines, log } = refusals();
  log.stop();
  expect(lines).toEqual([]);
  log.count(5);
  log.stop();
  expect(lines).toEqual([{ ...ENDS, refused: 1, waitedMs: 5, seconds: 0 }]);
  expect(vi.getTimerCount()).toBe(0);
});
