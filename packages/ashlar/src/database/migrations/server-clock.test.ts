import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { mariadb, onMariadb, onPostgres, postgres, sqlite, type TestEngine } from "../../../test/support/services.ts";
import { correctClock, now, setClock, systemTime } from "../../support/index.ts";
import { sql } from "../index.ts";
import { ServerClock } from "./server-clock.ts";

const MINUTE = 60_000;

afterEach(() => {
  vi.restoreAllMocks();
  setClock(null);
  correctClock(0);
});

const machine = Date.now.bind(Date);

/** Sets the machine's clock wrong. */
function machineAhead(ms: number): void {
  vi.restoreAllMocks();
  vi.spyOn(Date, "now").mockImplementation(() => machine() + ms);
}

/**
 * The difference between the framework's clock and the machine's correct time, in seconds. Some time passes between the
 * two readings.
 */
const distance = (): number => Math.abs(now() - machine()) / 1000;

/** Whether the framework's clock equals the machine's, right or wrong. */
function isUncorrected(): boolean {
  const before = Date.now();
  const time = now();
  return before <= time && time <= Date.now();
}

function observedLog() {
  const lines: string[] = [];
  const note = (level: string) => (_: unknown, line?: string) => void lines.push(`${level} ${line ?? String(_)}`);
  return { lines, logger: { info: note("info"), warn: note("warn") } as never };
}

function clockOfServer(engine: TestEngine): void {
  async function clockOf() {
    const { database, drop } = await engine.open();
    onTestFinished(drop);
    const { lines, logger } = observedLog();
    const clock = new ServerClock(database.connection(), logger);
    /** Repeats the comparison until this many lines are logged, because slow responses are ignored. */
    const until = (count: number) =>
      expect.poll(() => clock.compare().then(() => lines.length)).toBeGreaterThanOrEqual(count);
    return { clock, lines, database, until };
  }

  test.each([
    [5 * MINUTE, "300 seconds ahead of"],
    [-5 * MINUTE, "300 seconds behind"],
  ])("is followed if the machine's own is %i ms off, which is logged once", async (ms, difference) => {
    const { clock, lines, until } = await clockOf();
    machineAhead(ms);
    await until(1);
    await clock.compare();
    expect(distance()).toBeLessThan(60);
    expect(lines).toEqual([
      expect.stringMatching(
        `^warn The machine's clock is ${difference.replace("300", "(299|300|301)")} the database server's\\. ` +
          "The application uses the server's time\\. Let both follow a time server \\(NTP\\)\\.$",
      ),
    ]);
    machineAhead(0);
    await until(2);
    expect(isUncorrected()).toBe(true);
    expect(lines.slice(1)).toEqual(["info The machine's clock agrees with the database server's again."]);
  });

  test("is followed within seconds if the machine's is set while the application runs", async () => {
    const { clock, lines } = await clockOf();
    await clock.start();
    onTestFinished(() => clock.stop());
    machineAhead(5 * MINUTE);
    await expect.poll(() => lines.length).toBe(1);
    expect(distance()).toBeLessThan(60);
  });

  test("is requested again at the next comparison if the database hasn't responded", async () => {
    const { clock, database, lines } = await clockOf();
    await database.close();
    await clock.compare();
    expect([isUncorrected(), lines]).toEqual([true, []]);
  });
}

await onPostgres("the clock of PostgreSQL", () => clockOfServer(postgres));
await onMariadb("the clock of MariaDB", () => clockOfServer(mariadb));

test("a database in this process shares its clock, and isn't asked", async () => {
  const { database, drop } = await sqlite.open();
  onTestFinished(drop);
  const statements: string[] = [];
  database.onQuery(({ sql }) => void statements.push(sql));
  await new ServerClock(database.connection(), observedLog().logger).start();
  expect(statements).toEqual([]);
});

/** A server and a machine whose clocks are numbers, so that time passes only when the test says so. */
async function stoppedClocks() {
  const time = { machine: 1_800_000_000_000, server: 1_800_000_000_000, monotonic: 5000, answerMs: 0 };
  const { database, drop } = await sqlite.open();
  onTestFinished(drop);
  const { lines, logger } = observedLog();
  const asked = vi.fn();
  const { dialect } = database.connection();
  const serverTime = { get: () => sql<number>`${time.server}` };
  Object.assign(dialect, { values: Object.create(dialect.values, { serverTime }) });
  database.onQuery(() => {
    asked();
    pass(time.answerMs);
  });
  /** Lets time pass, for all clocks. */
  const pass = (ms: number): void => {
    time.machine += ms;
    time.server += ms;
    time.monotonic += ms;
  };
  vi.spyOn(Date, "now").mockImplementation(() => time.machine);
  vi.spyOn(performance, "now").mockImplementation(() => time.monotonic);
  const clock = new ServerClock(database.connection(), logger);
  const correction = () => systemTime() - time.machine;
  return { time, clock, lines, asked, pass, correction };
}

test.each([
  [999, 0, ""],
  [1000, -1000, "1 seconds ahead of the database server's. The application uses"],
  [60 * MINUTE, -60 * MINUTE, "3600 seconds ahead of the database server's. The application uses"],
  [60 * MINUTE + 1, 0, "3600 seconds ahead of the database server's. That is too much"],
  [-999, 0, ""],
  [-1000, 1000, "1 seconds behind the database server's. The application uses"],
  [-60 * MINUTE, 60 * MINUTE, "3600 seconds behind the database server's. The application uses"],
  [-60 * MINUTE - 1, 0, "3600 seconds behind the database server's. That is too much"],
])("a machine that is %i ms ahead is corrected by %i ms", async (ahead, corrected, line) => {
  const { time, clock, lines, correction } = await stoppedClocks();
  time.machine += ahead;
  await clock.compare();
  expect(correction()).toBe(corrected);
  expect(lines).toEqual(line === "" ? [] : [expect.stringContaining(line)]);
});

test("the server's time is taken at the middle of its response, and a response that took longer than a second gives no time", async () => {
  const { time, clock, correction } = await stoppedClocks();
  time.machine += 5 * MINUTE;
  time.answerMs = 1000;
  await clock.compare();
  expect(correction()).toBe(-5 * MINUTE - 500);
  time.machine -= 5 * MINUTE;
  time.answerMs = 1001;
  await clock.compare();
  expect(correction()).toBe(-5 * MINUTE - 500);
});

test("the clocks are compared at the start, once a minute, and once after the machine's was moved by a second, either way", async () => {
  const { time, clock, asked, pass } = await stoppedClocks();
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const seconds = async (count: number) => {
    for (let n = 0; n < count; n++) {
      pass(1000);
      await vi.advanceTimersByTimeAsync(1000);
    }
    return asked.mock.calls.length;
  };
  await clock.start();
  expect([asked.mock.calls.length, await seconds(59), await seconds(1), await seconds(60)]).toEqual([1, 1, 2, 3]);
  time.machine += 999;
  expect(await seconds(3)).toBe(3);
  time.machine += 1;
  expect(await seconds(3)).toBe(4);
  time.machine -= 1000;
  expect(await seconds(3)).toBe(5);
  time.machine += 5 * MINUTE;
  expect(await seconds(1)).toBe(6);
  clock.stop();
  expect([systemTime() - time.machine, vi.getTimerCount()]).toEqual([0, 0]);
});

test("a response that took too long is followed by another comparison within a second, until one is fast enough", async () => {
  const { time, clock, asked, correction } = await stoppedClocks();
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  time.machine += 5 * MINUTE;
  time.answerMs = 1001;
  await clock.start();
  await vi.advanceTimersByTimeAsync(2000);
  expect([asked.mock.calls.length, correction()]).toEqual([3, 0]);
  time.answerMs = 1000;
  await vi.advanceTimersByTimeAsync(5000);
  expect([asked.mock.calls.length, correction()]).toEqual([4, -5 * MINUTE - 500]);
  clock.stop();
});

test("comparing does not keep the process alive", async () => {
  const { clock } = await stoppedClocks();
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
  const starting = clock.start();
  const before = timers();
  await starting;
  expect(timers()).toBe(before);
  clock.stop();
});

test("an application that has corrected nothing doesn't undo another one's correction", async () => {
  const { clock, correction } = await stoppedClocks();
  correctClock(-5 * MINUTE);
  clock.stop();
  expect(correction()).toBe(-5 * MINUTE);
});

test("the server's clock does not matter to a test that travels in time", async () => {
  const { time, clock } = await stoppedClocks();
  setClock(() => 1_900_000_000_000);
  time.machine += 5 * MINUTE;
  await clock.compare();
  expect(now()).toBe(1_900_000_000_000);
});
