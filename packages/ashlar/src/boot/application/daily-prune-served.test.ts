import { once } from "node:events";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { ADA, BOB, type TestAccounts, testAccounts } from "../../../test/support/account-application.ts";
import { migrationOfStub } from "../../../test/support/migration-folder.ts";
import { sqlite } from "../../../test/support/services.ts";
import { AuthProvider } from "../../auth/index.ts";
import { type Database, DatabaseProvider } from "../../database/index.ts";
import { createSessionDataTable, databaseSessions, SessionProvider } from "../../session/index.ts";
import { setClock } from "../../support/index.ts";
import { createRateLimitsTable, ThrottleProvider } from "../../throttle/index.ts";
import { createLogger } from "../log/create-logger.ts";
import type { Application } from "./application.ts";
import { createApplication } from "./create-application.ts";
import { Provider, type ProviderClass } from "./provider.ts";

const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000];

const QUIET = { app: { APP: { log: { level: "silent" } } } };
const SERVED = { APP_ENV: "development", APP_KEY: "k3Vw9qLz7Rt2Xn8Bc5Mf1Hd6Js4Pg0YaQeTuIoWi" };

afterEach(() => setClock(null));

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
});

/**
 * An application with an orphaned session, its statements about the daily task, and a promise for the end of the first
 * prune.
 */
async function withOrphan(options: object): Promise<[TestAccounts, string[], Promise<void>]> {
  const accounts = await testAccounts({ engine: sqlite, environment: SERVED, config: QUIET, ...options });
  const statements: string[] = [];
  const done = Promise.withResolvers<void>();
  await accounts.loggedIn(BOB);
  await accounts.loggedIn(ADA);
  await accounts.User.where("id", ADA.id).delete();
  accounts.database.onQuery(({ sql }) => {
    if (sql.includes("maintenance")) statements.push(sql.split(" ")[0]!);
    if (sql.startsWith("update") && sql.includes("maintenance")) done.resolve();
  });
  return [accounts, statements, done.promise];
}
const users = async (accounts: TestAccounts): Promise<unknown[]> => {
  return (await accounts.rows("logins")).map((row) => row.user_id);
};

test("a server prunes within a quarter of an hour after it has started to listen", async () => {
  // The outbox has its own timer.
  const config = { ...QUIET, mail: { MAIL: { outbox: { enabled: false } } } };
  const [accounts, statements, done] = await withOrphan({ config });
  await accounts.application.listen({ port: 0, handleSignals: false });
  // The other timer deletes expired limit counts.
  expect([vi.getTimerCount(), await users(accounts)]).toEqual([2, [BOB.id, ADA.id]]);
  await vi.advanceTimersByTimeAsync(15 * MINUTE);
  await done;
  expect(await users(accounts)).toEqual([BOB.id]);
  expect(statements).toEqual(["insert", "update"]);
  // All processes of an application share this name, whatever their version.
  expect(await accounts.rows("maintenance")).toMatchObject([{ task: "prune" }]);
});

/** An application with these providers that has started to listen. */
async function served(providers: readonly ProviderClass[], config: object = {}): Promise<Application> {
  const application = await createApplication({ providers, environment: SERVED, config: { ...QUIET, ...config } });
  onTestFinished(() => application.shutdown());
  await application.listen({ port: 0, handleSignals: false });
  return application;
}

test("a server without accounts prunes the data of its other features", async () => {
  const fill = async (database: Database): Promise<void> => {
    await createRateLimitsTable(database.kysely);
    await createSessionDataTable(database.kysely);
    await (await migrationOfStub("auth/migrations/create_maintenance.ts.stub")).up(database.kysely);
    const session = { id: "a", data: "{}", created_at: 1000, last_used_at: 1000 };
    await database.kysely.insertInto("session_data").values(session).execute();
    await database.kysely.insertInto("rate_limits").values({ id: "a", attempts: 1, resets_at: 1000 }).execute();
  };
  const { database: opened, configuration, drop } = await sqlite.open({}, { name: "an API's data", fill });
  onTestFinished(drop);
  const application = await served([DatabaseProvider, ThrottleProvider, SessionProvider], {
    database: { DATABASES: { default: "main", main: configuration } },
    session: { SESSION: { store: databaseSessions() } },
  });
  const done = Promise.withResolvers<void>();
  application.container.make("database").onQuery(({ sql }) => {
    if (sql.startsWith("update") && sql.includes("maintenance")) done.resolve();
  });
  await vi.advanceTimersByTimeAsync(15 * MINUTE);
  await done.promise;
  const rows = (table: string): Promise<object[]> => opened.kysely.selectFrom(table).selectAll().execute();
  expect(await Promise.all(["rate_limits", "session_data"].map(rows))).toEqual([[], []]);
  // The task was recorded, so that other processes don't prune too.
  expect(await rows("maintenance")).toMatchObject([{ task: "prune" }]);
});

test("a server without a database prunes once a day, in each process", async () => {
  let prunes = 0;
  class StockProvider extends Provider {
    override prune(): Record<string, number> {
      return { reservations: ++prunes };
    }
  }
  await Promise.all([served([StockProvider]), served([StockProvider])]);
  const start = Date.now();
  const at = async (time: number): Promise<number> => {
    setClock(() => start + time);
    // Every process checks at least once.
    await vi.advanceTimersByTimeAsync(75 * MINUTE);
    return prunes;
  };
  expect([await at(0), await at(DAY - HOUR), await at(DAY), await at(2 * DAY)]).toEqual([2, 2, 4, 6]);
});

test("a server sets no timer if no provider prunes", async () => {
  class MenuProvider extends Provider {}
  await served([MenuProvider]);
  expect(vi.getTimerCount()).toBe(0);
});

test("a server logs nothing if its providers store nothing that expires", async () => {
  const lines: string[] = [];
  const logger = createLogger(
    { name: "Shop", environment: "test", log: { level: "info", requests: false } },
    {
      write: (line: string) => void lines.push(line),
    },
  );
  const application = await createApplication({ providers: [AuthProvider], environment: SERVED, logger });
  onTestFinished(() => application.shutdown());
  await application.listen({ port: 0, handleSignals: false, isAnnounced: true });
  await vi.advanceTimersByTimeAsync(15 * MINUTE);
  await application.shutdown();
  expect(lines).toEqual([]);
});

test.each([
  ["by ACCOUNTS.retention.prune: false", { ACCOUNTS: { retention: { prune: false } } }],
  ["in tests", { environment: { APP_ENV: "test" } }],
])("a server does not prune if pruning is turned off, %s", async (_, options) => {
  const [accounts, statements] = await withOrphan(options);
  await accounts.application.listen({ port: 0, handleSignals: false });
  await vi.advanceTimersByTimeAsync(2 * DAY);
  expect([statements, await users(accounts)]).toEqual([[], [BOB.id, ADA.id]]);
  // The command still prunes.
  expect(await accounts.application.prune()).toMatchObject({ logins: 1 });
});

test("an application that does not listen, as in a command, does not prune", async () => {
  const [accounts, statements] = await withOrphan({});
  await vi.advanceTimersByTimeAsync(2 * DAY);
  expect([statements, await users(accounts)]).toEqual([[], [BOB.id, ADA.id]]);
});

test("a server waits for a running prune when it shuts down", async () => {
  const [accounts, statements, done] = await withOrphan({});
  await accounts.application.listen({ port: 0, handleSignals: false });
  const begun = Promise.withResolvers<void>();
  accounts.database.onQuery(({ sql }) => {
    if (sql.startsWith("insert") && sql.includes("maintenance")) begun.resolve();
  });
  await vi.advanceTimersByTimeAsync(15 * MINUTE);
  await begun.promise;
  await accounts.application.shutdown();
  await done;
  expect(statements).toEqual(["insert", "update"]);
});

test("a server stops a running prune when it shuts down, before the providers that it prunes are shut down", async () => {
  const begun = Promise.withResolvers<void>();
  const order: string[] = [];
  class StockProvider extends Provider {
    override async prune(signal?: AbortSignal): Promise<Record<string, number>> {
      begun.resolve();
      await once(signal!, "abort");
      for (let turn = 0; turn < 20; turn++) await setImmediate();
      order.push("pruned");
      return {};
    }

    override async shutdown(): Promise<void> {
      order.push("shut down");
    }
  }
  // It is listed last, so that it is shut down first.
  class LaterAuthProvider extends AuthProvider {}
  const { application } = await testAccounts({
    environment: SERVED,
    config: QUIET,
    without: [AuthProvider],
    providers: [StockProvider, LaterAuthProvider],
  });
  await application.listen({ port: 0, handleSignals: false });
  await vi.advanceTimersByTimeAsync(15 * MINUTE);
  await begun.promise;
  await application.shutdown();
  expect(order).toEqual(["pruned", "shut down"]);
});

test("a server does not wait longer than its time limit for a prune that doesn't stop", async () => {
  const begun = Promise.withResolvers<void>();
  const hung = Promise.withResolvers<Record<string, number>>();
  class StockProvider extends Provider {
    override prune(): Promise<Record<string, number>> {
      begun.resolve();
      return hung.promise;
    }
  }
  const lines: string[] = [];
  const logger = createLogger(
    { name: "Shop", environment: "test", log: { level: "error", requests: false } },
    { write: (line: string) => void lines.push(line) },
  );
  const application = await createApplication({
    providers: [StockProvider],
    environment: SERVED,
    config: { app: { APP: { server: { shutdownTimeoutSeconds: 5 } } } },
    logger,
  });
  await application.listen({ port: 0, handleSignals: false });
  await vi.advanceTimersByTimeAsync(15 * MINUTE);
  await begun.promise;
  let isShutDown = false;
  const shutDown = application.shutdown().then(() => {
    isShutDown = true;
  });
  for (let turn = 0; turn < 1000 && !isShutDown; turn++) await vi.advanceTimersByTimeAsync(1000);
  expect(isShutDown).toBe(true);
  expect(lines.map((line) => JSON.parse(line).msg)).toEqual(["Expired data was not deleted in time."]);
  hung.resolve({});
  await shutDown;
});
