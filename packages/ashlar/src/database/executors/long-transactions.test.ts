import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { createApplication, createLogger } from "../../boot/index.ts";
import { generateSecret } from "../../security/index.ts";
import { Database } from "../connections/database.ts";
import { DatabaseProvider } from "../migrations/provider.ts";

const THIS_FILE = relative(process.cwd(), import.meta.filename);

let database: Database;
let reported: string[];
let told: PromiseWithResolvers<void>;
/** The test clock's time, in milliseconds. */
let time: number;

beforeEach(() => {
  time = 0;
  vi.spyOn(performance, "now").mockImplementation(() => time);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  database = new Database({ default: "memory", memory: { driver: "sqlite", path: ":memory:" } }, "/");
  reported = [];
  told = Promise.withResolvers();
  database.onLongTransaction((place) => {
    reported.push(place);
    told.resolve();
  });
});
afterEach(async () => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  await database.close();
});

/** Keeps the process busy for longer than a transaction may be open, so that time passes without running timers. */
function dawdle(): void {
  time += 205;
}

/** The same time passes, and timers run. */
function wait(): void {
  time += 205;
  vi.advanceTimersByTime(205);
}

/** The line on which a text is in this file. */
function lineHere(error: Error): string {
  const line = /long-transactions\.test\.ts:(\d+):\d+/.exec(error.stack!)![1];
  return `${THIS_FILE}:${line}`;
}

test("a transaction that stays open is reported while it is still open, with the location of the call", async () => {
  const place = { text: "" };
  const open = (): Promise<void> => {
    place.text = lineHere(new Error());
    return database.transaction(() => {
      setImmediate(wait);
      return told.promise;
    });
  };
  // It only ends because of the report.
  await open();
  const [file, line] = place.text.split(/:(?=\d+$)/);
  expect(reported).toEqual([`${file}:${Number(line) + 1}`]);
});

test("a transaction that kept the process busy is reported too, once for each location", async () => {
  for (let n = 0; n < 3; n++) await database.transaction(dawdle);
  await database.kysely.transaction().execute(async () => dawdle());
  expect(reported).toHaveLength(2);
  for (const place of reported) expect(place).toMatch(/long-transactions\.test\.ts:\d+$/);
});

test("short transactions, nested ones, and waiting for a turn are not reported", async () => {
  const started = Promise.withResolvers<void>();
  const first = database.transaction(async () => {
    started.resolve();
    await told.promise;
    await database.transaction(() => dawdle());
  });
  await started.promise;
  setImmediate(wait);
  // Waits for the first one, which ends when it is reported.
  const second = database.transaction(() => "short");
  await Promise.all([first, second]);
  expect(reported).toHaveLength(1);
});

test("a transaction that is open for exactly the allowed time isn't reported, nor is a short one after its end", async () => {
  await database.transaction(() => {
    time += 200;
  });
  await database.transaction(() => "short");
  wait();
  expect(reported).toEqual([]);
});

test.each(["development", "test", "production"])("it is logged only in development: %s", async (environment) => {
  const root = await mkdtemp(join(tmpdir(), "ashlar-long-"));
  const lines: Record<string, unknown>[] = [];
  const application = await createApplication({
    root,
    providers: [DatabaseProvider],
    config: { database: { DATABASES: { default: "main", main: { driver: "sqlite", path: "app.sqlite" } } } },
    environment: {
      APP_ENV: environment,
      NODE_ENV: environment,
      APP_KEY: generateSecret(),
      APP_URL: "https://shop.example",
    },
    logger: createLogger(
      { name: "Shop", environment: "test", log: { level: "warn", requests: false } },
      { write: (line) => void lines.push(JSON.parse(line) as Record<string, unknown>) },
    ),
  });
  onTestFinished(async () => {
    await application.shutdown();
    await rm(root, { recursive: true });
  });
  await application.container.make("database").transaction(dawdle);
  const warnings = lines.filter(({ msg }) => String(msg).includes("transaction"));
  expect(warnings).toEqual(
    environment !== "development"
      ? []
      : [
          expect.objectContaining({
            level: "warn",
            place: expect.stringMatching(/long-transactions\.test\.ts:\d+$/),
            msg:
              "A transaction has been open for more than 200 ms, and makes others wait. " +
              "Do slow work (requests, mails, hashing) before or after the transaction.",
          }),
        ],
  );
});
