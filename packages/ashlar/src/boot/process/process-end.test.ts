import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { requestTraces } from "../../kernel/index.ts";
import { createLogger } from "../log/create-logger.ts";
import type { Ending } from "./process-end.ts";

const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;
const EVENTS = [...SIGNALS, "uncaughtException"] as const;
const GRACE_SECONDS = 2;

/** A new module for each test, because it remembers what has happened to the process. */
let endWithProcess: typeof import("./process-end.ts").endWithProcess;
let theirs: ReadonlySet<unknown>;
let exits: unknown[];
let printed: unknown[];
let loads = 0;

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  ({ endWithProcess } = await import(/* @vite-ignore */ `./process-end.ts?process=${loads++}`));
  theirs = new Set(EVENTS.flatMap(listenersOf));
  exits = [];
  printed = [];
  vi.spyOn(process, "exit").mockImplementation(((code: unknown) => void exits.push(code ?? process.exitCode)) as never);
  vi.spyOn(console, "error").mockImplementation((error) => void printed.push(error));
});

afterEach(() => {
  for (const event of EVENTS) for (const one of ours(event)) process.off(event, one as never);
  process.exitCode = undefined;
  vi.useRealTimers();
  vi.restoreAllMocks();
});

function listenersOf(event: string): ((...args: unknown[]) => void)[] {
  return process.listeners(event as never) as never;
}

/** The listeners that the module under test has added. */
function ours(event: string): ((...args: unknown[]) => void)[] {
  return listenersOf(event).filter((one) => !theirs.has(one));
}

/** The events that the module listens to. */
const heard = (): string[] => EVENTS.filter((event) => ours(event).length > 0);

/** Simulates an event of this process for the module. */
async function happen(event: (typeof EVENTS)[number], value: unknown = event): Promise<void> {
  for (const listener of ours(event)) listener(value);
  await vi.advanceTimersByTimeAsync(0);
}

/** An application, the calls that it received, and its log lines. */
class TestApplication implements Ending {
  readonly timeoutSeconds: number;
  readonly drainSeconds: number;
  readonly lines: object[] = [];
  readonly logger: Ending["logger"];
  /** For each call to shut down, whether it may drain. */
  readonly told: boolean[] = [];
  readonly ended: PromiseWithResolvers<boolean> = Promise.withResolvers();

  constructor({ timeoutSeconds = 10, drainSeconds = 5, level = "info" } = {}) {
    this.timeoutSeconds = timeoutSeconds;
    this.drainSeconds = drainSeconds;
    const write = (text: string): void => {
      const { time, app, err, ...line } = JSON.parse(text);
      this.lines.push({ ...line, ...(err && { error: err.message }) });
    };
    const log = { level: level as "info", requests: false };
    this.logger = createLogger({ name: "Shop", environment: "test", log }, { write });
  }

  shutdown(drains: boolean): Promise<boolean> {
    this.told.push(drains);
    return this.ended.promise;
  }

  async ends(isFinished = true): Promise<void> {
    this.ended.resolve(isFinished);
    await vi.advanceTimersByTimeAsync(0);
  }
}

describe("a signal", () => {
  test.each(SIGNALS)("%s lets every application drain, and ends the process once all have finished", async (signal) => {
    const [first, second] = [new TestApplication(), new TestApplication()];
    for (const one of [first, second]) endWithProcess(one);
    await happen(signal);
    expect([first.told, second.told]).toEqual([[true], [true]]);
    expect(second.lines).toEqual([{ level: "info", signal, msg: "Shutting down." }]);
    // The module no longer listens for signals, so a second signal ends the process as usual.
    expect(heard()).toEqual(["uncaughtException"]);
    await first.ends();
    expect(exits).toEqual([]);
    await second.ends();
    expect(exits).toEqual([0]);
  });

  test("makes the exit code 1 if one of the applications had to cut something off", async () => {
    const [first, second] = [new TestApplication(), new TestApplication()];
    for (const one of [first, second]) endWithProcess(one);
    await happen("SIGTERM");
    await first.ends(false);
    await second.ends();
    expect(exits).toEqual([1]);
  });

  test("ends the process anyway when the time of the slowest application is over, its drain included", async () => {
    for (const [timeoutSeconds, drainSeconds] of [
      [10, 5],
      [4, 30],
      [20, 0],
    ] as const) {
      endWithProcess(new TestApplication({ timeoutSeconds, drainSeconds }));
    }
    await happen("SIGTERM");
    await vi.advanceTimersByTimeAsync((34 + GRACE_SECONDS) * 1000 - 1);
    expect(exits).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(exits).toEqual([1]);
  });

  test("isn't handled for an application that another process shuts down, but its errors are", async () => {
    const application = new TestApplication();
    const forget = endWithProcess(application, false);
    expect(heard()).toEqual(["uncaughtException"]);
    forget();
    expect(heard()).toEqual([]);
  });

  test("is handled until the last application is removed, and removed ones are left alone", async () => {
    const [first, second] = [new TestApplication(), new TestApplication()];
    const [forgetFirst, forgetSecond] = [endWithProcess(first), endWithProcess(second)];
    expect(EVENTS.map((event) => ours(event).length)).toEqual([1, 1, 1, 1]);
    forgetFirst();
    expect(heard()).toEqual([...EVENTS]);
    await happen("SIGTERM");
    expect([first.told, second.told]).toEqual([[], [true]]);
    forgetSecond();
  });

  test("is handled again for an application that is added after the last one was removed", async () => {
    endWithProcess(new TestApplication())();
    expect(heard()).toEqual([]);
    endWithProcess(new TestApplication());
    expect(heard()).toEqual([...EVENTS]);
  });
});

describe("an error that nothing handles", () => {
  const SENTENCE = "An error was not handled. The process is shutting down.";
  const FURTHER = "Another error was not handled.";

  test("ends the process with 1, without a drain", async () => {
    const application = new TestApplication({ timeoutSeconds: 10, drainSeconds: 30 });
    endWithProcess(application);
    await happen("uncaughtException", new Error("lost"));
    expect(application.told).toEqual([false]);
    expect(application.lines).toEqual([{ level: "fatal", error: "lost", msg: SENTENCE }]);
    expect(printed).toEqual([]);
    await application.ends();
    expect(exits).toEqual([1]);
  });

  test("ends it anyway when the time for a shutdown is over, which doesn't include a drain", async () => {
    endWithProcess(new TestApplication({ timeoutSeconds: 10, drainSeconds: 30 }));
    await happen("uncaughtException", new Error("lost"));
    await vi.advanceTimersByTimeAsync((10 + GRACE_SECONDS) * 1000 - 1);
    expect(exits).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(exits).toEqual([1]);
  });

  test("stays a failure when a signal comes during the shutdown, which continues", async () => {
    const application = new TestApplication();
    endWithProcess(application);
    await happen("uncaughtException", new Error("lost"));
    await happen("SIGTERM");
    expect(application.told).toEqual([false]);
    await application.ends();
    expect(exits).toEqual([1]);
  });

  test("is still logged by an application that has shut down, while others have not", async () => {
    const [first, second] = [new TestApplication(), new TestApplication()];
    const forgets = [first, second].map((one) => endWithProcess(one));
    await happen("SIGTERM");
    // Like each application at the end of its shutdown.
    for (const forget of forgets) forget();
    expect(heard()).toEqual(["uncaughtException"]);
    await happen("uncaughtException", new Error("late"));
    expect(first.lines.slice(1)).toEqual([{ level: "error", error: "late", msg: FURTHER }]);
    expect([first.told, second.told]).toEqual([[true], [true]]);
    for (const one of [first, second]) await one.ends();
    expect(exits).toEqual([1]);
  });

  test("doesn't handle signals for an application that begins to listen in the meantime, but uses its log", async () => {
    const first = new TestApplication();
    const forget = endWithProcess(first);
    await happen("uncaughtException", new Error("lost"));
    // Signals have their default effect already, or still do.
    const before = EVENTS.map((event) => ours(event).length);
    forget();
    const late = new TestApplication();
    endWithProcess(late);
    expect(EVENTS.map((event) => ours(event).length)).toEqual(before);
    await happen("uncaughtException", new Error("another"));
    expect(late.lines).toEqual([{ level: "error", error: "another", msg: FURTHER }]);
    expect(late.told).toEqual([]);
  });

  test("is logged with its request's id, by that request's application", async () => {
    const [first, second] = [new TestApplication(), new TestApplication()];
    for (const one of [first, second]) endWithProcess(one);
    const { logger } = second;
    await requestTraces.run({ logger, id: "of-the-request" } as never, () =>
      happen("uncaughtException", new Error("a")),
    );
    await requestTraces.run({ logger, id: null } as never, () => happen("uncaughtException", new Error("b")));
    expect(first.lines).toEqual([]);
    expect(second.lines).toEqual([
      { level: "fatal", error: "a", requestId: "of-the-request", msg: SENTENCE },
      { level: "error", error: "b", requestId: expect.stringMatching(/^[\da-f-]{36}$/), msg: FURTHER },
    ]);
  });

  test("is printed if the log leaves it out, or fails", async () => {
    const silent = new TestApplication({ level: "silent" });
    endWithProcess(silent);
    const [first, second] = [new Error("first"), new Error("second")];
    await happen("uncaughtException", first);
    expect([printed, silent.lines]).toEqual([[first], []]);
    vi.spyOn(silent.logger, "error").mockImplementation(() => {
      throw new Error("The disk is full.");
    });
    await happen("uncaughtException", second);
    expect(printed).toEqual([first, second]);
  });

  test("is logged for the first one and ten more, however many follow", async () => {
    const application = new TestApplication();
    endWithProcess(application);
    for (let count = 0; count < 15; count++) await happen("uncaughtException", new Error(`error ${count}`));
    expect(application.lines).toHaveLength(11);
    expect(application.told).toEqual([false]);
  });
});
