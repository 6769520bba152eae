import { describe, expect, onTestFinished, test } from "vitest";
import { onEachDatabase, onPostgres, postgres, type TestEngine } from "../../../test/support/services.ts";
import { type Application, createApplication, createLogger, type ProviderClass } from "../../boot/index.ts";
import { DatabaseProvider, sql } from "../../database/index.ts";
import { Route } from "../../routing/index.ts";
import { throttleStoreSuite } from "../../testing/index.ts";
import { databaseStore, memoryStore, ThrottleProvider, type ThrottleSettings } from "../index.ts";
import type { Bucket } from "../limits/limit.ts";
import { DefaultStore } from "./default-store.ts";
import { MemoryStore } from "./memory-store.ts";
import { createRateLimitsTable } from "./rate-limits-table.ts";
import type { AttemptCounter, ThrottleStore } from "./store.ts";

const LIMITS = {
  export: { buckets: [{ by: ["address"], attempts: 3, windowSeconds: 60 }] },
} satisfies ThrottleSettings["limits"];

const EXPORTS: Bucket = { name: "export", by: ["address"], attempts: 3, windowSeconds: 60 };

interface Options {
  readonly providers?: readonly ProviderClass[];
  readonly store?: ThrottleSettings["store"];
  /** The default connection of `config/database.ts`. */
  readonly connection?: object;
  /** A second connection, `limits`. */
  readonly second?: object;
}

/** An application with a limit of three exports, and its logged warnings and errors. */
async function boot({ providers = [], store, connection = {}, second }: Options = {}) {
  const warnings: string[] = [];
  const settings = { name: "Shop", environment: "test", log: { level: "warn", requests: false } } as const;
  const write = (line: string) => {
    const { msg, err } = JSON.parse(line) as { readonly msg: string; readonly err?: { readonly message: string } };
    warnings.push(err?.message ?? msg);
  };
  const application = await createApplication({
    providers: [...new Set([...providers, ThrottleProvider])],
    config: {
      database: { DATABASES: { default: "main", main: connection, ...(second && { limits: second }) } },
      throttle: { THROTTLE: { limits: LIMITS, ...(store !== undefined && { store }) } },
    },
    environment: { APP_ENV: "test" },
    routes: [
      Route.get("/export", async (context) => {
        await context.throttle.hit(context, "export");
        return "exported";
      }),
    ],
    logger: createLogger(settings, { write }),
  });
  onTestFinished(() => application.shutdown());
  return { application, warnings };
}

/** Returns how many of four exports pass. */
async function exported(application: Application): Promise<number> {
  let passed = 0;
  for (let attempt = 0; attempt < 4; attempt++) {
    const { allowed } = await application.container.make("throttle").consume("export", { address: "203.0.113.7" });
    passed += Number(allowed);
  }
  return passed;
}

async function connectionOf(engine: TestEngine, hasTable: boolean): Promise<object> {
  const own = await engine.open();
  onTestFinished(() => own.drop());
  if (hasTable) await createRateLimitsTable(own.database.kysely);
  return own.configuration;
}

await onEachDatabase("where limits count", (engine) => {
  describe.each([
    ["left out", undefined],
    ["by its name", "database"],
  ] as const)("with the store %s", (_, store) => {
    test("S33 two processes count together, and a restart loses nothing", async () => {
      const connection = await connectionOf(engine, true);
      const options = { providers: [DatabaseProvider], connection, ...(store && { store }) };
      const [one, other] = [await boot(options), await boot(options)];
      const address = "203.0.113.7";
      for (const { application } of [one, other]) {
        const { allowed } = await application.container.make("throttle").consume("export", { address });
        expect(allowed).toBe(true);
      }
      await Promise.all([one, other].map(({ application }) => application.shutdown()));
      const { application, warnings } = await boot(options);
      expect([await exported(application), warnings]).toEqual([1, []]);
    });
  });

  describe.each([
    ["with the table", true],
    ["without it", false],
  ])("in a database %s, a store's promises are kept", (_, hasTable) => {
    const store = async () => {
      const connection = await connectionOf(engine, hasTable);
      const { application } = await boot({ providers: [DatabaseProvider], connection });
      return new DefaultStore(application.container, application.logger);
    };
    for (const { title, run } of throttleStoreSuite(store)) test(title, run);
  });

  test("closing discards the attempts kept for transactions in the database", async () => {
    const connection = await connectionOf(engine, true);
    const { application } = await boot({ providers: [DatabaseProvider], connection });
    const store = new DefaultStore(application.container, application.logger);
    const counter = store.counter(EXPORTS);
    const failing = application.container.make("database").transaction(async () => {
      await counter.add("a", 2);
      throw new Error("A wrong password.");
    });
    await expect(failing).rejects.toThrow("A wrong password.");
    expect((await counter.get("a"))!.attempts).toBe(2);
    store.close();
    // On separate connections, attempts aren't part of the transaction, so nothing is kept in memory for it.
    expect((await counter.get("a"))?.attempts ?? null).toBe(engine.name === "sqlite" ? null : 2);
  });

  test("the store can use a named connection", async () => {
    const [connection, second] = [await connectionOf(engine, false), await connectionOf(engine, true)];
    const options = {
      providers: [DatabaseProvider],
      connection,
      second,
      store: databaseStore({ connection: "limits" }),
    };
    const [one, other] = [await boot(options), await boot(options)];
    const passed = [await exported(one.application), await exported(other.application)];
    expect([passed, one.warnings, other.warnings]).toEqual([[3, 0], [], []]);
  });

  test("S33 on a named connection, a start creates the table that migrations have created on the default one", async () => {
    const [connection, second] = [await connectionOf(engine, true), await connectionOf(engine, false)];
    const options = {
      providers: [DatabaseProvider],
      connection,
      second,
      store: databaseStore({ connection: "limits" }),
    };
    // Several processes may start at once.
    const started = await Promise.all([boot(options), boot(options), boot(options)]);
    const passed: number[] = [];
    for (const { application, warnings } of started) {
      expect(warnings).toEqual([]);
      await application.container.make("throttle").store.check!();
      passed.push(await exported(application));
    }
    expect(passed).toEqual([3, 0, 0]);
    const database = started[0]!.application.container.make("database");
    expect(await database.kysely.selectFrom("rate_limits").selectAll().execute()).toEqual([]);
  });

  test("S33 a server doesn't start if no connection has the table that its limits need, and says what creates it", async () => {
    const [connection, second] = [await connectionOf(engine, false), await connectionOf(engine, false)];
    const store = databaseStore({ connection: "limits" });
    const { application } = await boot({ providers: [DatabaseProvider], connection, second, store });
    const message =
      'config/throttle.ts: THROTTLE.store: the database of the connection "limits" has no table rate_limits. Migrations ' +
      "create it on the default connection: npx ashlar migrate. If it is there, each start of the application creates it on " +
      "this one, too; if the log says that it can't, let its user create tables for one start.";
    const expected = { code: "E_INVALID_CONFIGURATION", message };
    await expect(application.container.make("throttle").store.check!()).rejects.toMatchObject(expected);
    await expect(application.listen({ port: 0, handleSignals: false })).rejects.toMatchObject(expected);
  });

  test("the table is looked up once, and expired counts are pruned", async () => {
    const connection = await connectionOf(engine, true);
    const { application } = await boot({ providers: [DatabaseProvider], connection });
    const database = application.container.make("database");
    const lookups: string[] = [];
    database.onQuery(({ sql }) => {
      if (/pragma_table_info|pg_catalog|information_schema/.test(sql)) lookups.push(sql);
    });
    await Promise.all([exported(application), exported(application)]);
    await exported(application);
    expect(lookups).not.toEqual([]);
    expect(lookups).toEqual([...new Set(lookups)]);
    await database.kysely.updateTable("rate_limits").set({ resets_at: 1000 }).execute();
    expect(await application.prune()).toEqual({ "counts of limits": 1 });
    expect(await database.kysely.selectFrom("rate_limits").selectAll().execute()).toEqual([]);
  });

  test("without the table, each process counts on its own, and that is logged once", async () => {
    const connection = await connectionOf(engine, false);
    const options = { providers: [DatabaseProvider], connection };
    const [one, other] = [await boot(options), await boot(options)];
    for (const { application, warnings } of [one, other]) {
      expect([await exported(application), await application.prune()]).toEqual([3, { "counts of limits": 0 }]);
      expect(warnings).toEqual([
        "Limits count in the memory of each process, because the database has no table rate_limits: several processes " +
          "allow several times the attempts, and a restart forgets them. Run npx ashlar migrate if a migration creates it; " +
          "if none does, run npx ashlar auth --migrations first, or npx ashlar api:install --migrations in an application " +
          "without pages. Then restart every process, because each looks for the table only once. To count in memory " +
          "without this warning, set store: memoryStore() in config/throttle.ts.",
      ]);
    }
  });

  test("a server that starts before the table is created counts in the database, without a warning", async () => {
    const connection = await connectionOf(engine, false);
    const options = { providers: [DatabaseProvider], connection };
    const [one, other] = [await boot(options), await boot(options)];
    for (const { application } of [one, other]) {
      await application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false });
    }
    await createRateLimitsTable(one.application.container.make("database").kysely);
    expect([await exported(one.application), await exported(other.application)]).toEqual([3, 0]);
    expect([one.warnings, other.warnings]).toEqual([[], []]);
  });

  test("S33 if the configured store is the database and its table is missing, an attempt is an error and not let through", async () => {
    const connection = await connectionOf(engine, false);
    const { application } = await boot({ providers: [DatabaseProvider], connection, store: "database" });
    await expect(exported(application)).rejects.toThrow("rate_limits");
  });
});

await onPostgres("a database whose table is in a schema that is not on the search_path", () => {
  test("limits count in memory, and the log says that the table is missing", async () => {
    const connection = await connectionOf(postgres, true);
    const { application, warnings } = await boot({ providers: [DatabaseProvider], connection });
    const { kysely } = application.container.make("database");
    await sql.raw("create schema other").execute(kysely);
    await sql.raw("alter table rate_limits set schema other").execute(kysely);
    expect(await exported(application)).toBe(3);
    expect(warnings).toEqual([expect.stringContaining("the database has no table rate_limits")]);
  });
});

await onPostgres("a database whose connections are all in use", () => {
  test("S33 refuses attempts, and its table is looked up again later", async () => {
    const own = await connectionOf(postgres, true);
    const connection = { ...own, poolSize: 1, acquireTimeoutMs: 500 };
    const { application, warnings } = await boot({ providers: [DatabaseProvider], connection });
    const { promise: end, resolve } = Promise.withResolvers<void>();
    const { promise: taken, resolve: take } = Promise.withResolvers<void>();
    const held = application.container
      .make("database")
      .connection()
      .reserved(() => {
        take();
        return end;
      });
    await taken;
    await expect(exported(application)).rejects.toMatchObject({ code: "E_OVERLOADED" });
    await expect(application.prune()).rejects.toMatchObject({ code: "E_OVERLOADED" });
    resolve();
    await held;
    expect([await exported(application), warnings]).toEqual([3, []]);
  });
});

test("without a database, limits count in memory, and nothing is logged", async () => {
  const { application, warnings } = await boot();
  expect([await exported(application), warnings]).toEqual([3, []]);
});

test("closing discards the counts in memory", async () => {
  const { application } = await boot();
  const store = new DefaultStore(application.container, application.logger);
  const counter = store.counter(EXPORTS);
  await counter.add("a", 2);
  store.close();
  expect(await counter.get("a")).toBeNull();
});

describe("a store", () => {
  const SQLITE = { driver: "sqlite", path: ":memory:" };
  const COUNTER: AttemptCounter = {
    add: async () => ({ attempts: 1, resetInMs: 1000 }),
    takeBack: async () => {},
    get: async () => null,
    delete: async () => {},
  };

  test.each([
    ["limts", 'config/database.ts has no connection "limts". Did you mean "limits"?'],
    ["toString", 'config/database.ts has no connection "toString". Known are "limits", "main".'],
  ])("on a connection that does not exist makes startup fail: %s", async (name, problem) => {
    const store = databaseStore({ connection: name });
    // The order relative to the store's provider doesn't matter.
    for (const providers of [[DatabaseProvider], [ThrottleProvider, DatabaseProvider]]) {
      await expect(boot({ providers, connection: SQLITE, second: SQLITE, store })).rejects.toMatchObject({
        code: "E_INVALID_CONFIGURATION",
        message: `config/throttle.ts: THROTTLE.store: ${problem}`,
      });
    }
  });

  test.each([
    ["by its name", "database"],
    ["as databaseStore()", databaseStore()],
  ] as const)("in a database that the application does not have makes startup fail, %s", async (_, store) => {
    await expect(boot({ store })).rejects.toMatchObject({
      code: "E_INVALID_CONFIGURATION",
      message: expect.stringMatching(/^config\/throttle\.ts: THROTTLE\.store: .*DatabaseProvider/),
    });
  });

  test.each([
    ["nothing", () => undefined],
    ["null", () => null],
    ["a promise", async () => new MemoryStore()],
    ["an object without close", () => ({ counter: () => COUNTER })],
    ["an object without counter", () => ({ close() {} })],
    ["a function that returns one", () => memoryStore()],
  ])("as a function makes startup fail if it returns %s", async (_, store) => {
    await expect(boot({ store: store as never })).rejects.toMatchObject({
      code: "E_INVALID_CONFIGURATION",
      message:
        "config/throttle.ts: THROTTLE.store: is a function that does not return a store. Return an object with the " +
        "methods of ThrottleStore, not a promise.",
    });
  });

  test.each([
    ["nothing", () => undefined, "add, takeBack, get, delete"],
    ["a promise", async () => COUNTER, "add, takeBack, get, delete"],
    ["a counter that takes nothing back", () => ({ ...COUNTER, takeBack: undefined }), "takeBack"],
  ])("whose method counter returns %s makes startup fail", async (_, counter, missing) => {
    await expect(boot({ store: { counter: counter as never, close() {} } })).rejects.toMatchObject({
      code: "E_INVALID_CONFIGURATION",
      message: expect.stringMatching(new RegExp(`^config/throttle\\.ts: THROTTLE\\.store: .*: ${missing} missing\\.`)),
    });
  });

  test.each<[answer: unknown, said: string]>([
    [{ attempts: Number.NaN, resetInMs: 1000 }, "{ attempts: NaN, resetInMs: 1000 }"],
    [{ attempts: -1, resetInMs: 1000 }, "{ attempts: -1, resetInMs: 1000 }"],
    [{ attempts: 1.5, resetInMs: 1000 }, "{ attempts: 1.5, resetInMs: 1000 }"],
    [{ attempts: "1", resetInMs: 1000 }, "{ attempts: '1', resetInMs: 1000 }"],
    [{ attempts: 1, resetInMs: 0 }, "{ attempts: 1, resetInMs: 0 }"],
    [{ attempts: 1, resetInMs: -5 }, "{ attempts: 1, resetInMs: -5 }"],
    [{ attempts: 1, resetInMs: Number.NaN }, "{ attempts: 1, resetInMs: NaN }"],
    [{ attempts: 1, resetInMs: Number.POSITIVE_INFINITY }, "{ attempts: 1, resetInMs: Infinity }"],
    [
      { attempts: 1, resetInMs: 0, key: "login:203.0.113.7:ada@example.com", node: "limits-1.internal.example.com" },
      "{ attempts: 1, resetInMs: 0, key: 'login:203.0.113.7:ada@example.com', node: 'limits-1.internal.example.com' }",
    ],
    [{ attempts: 1, rows: [[1]] }, "{ attempts: 1, rows: [Array] }"],
    [7, "7"],
    [undefined, "undefined"],
  ])("S33 that returns %j causes a 500, and the result is logged", async (answer, said) => {
    const answers = async () => answer as never;
    const store = { counter: () => ({ ...COUNTER, add: answers, get: answers }), close() {} };
    const { application, warnings } = await boot({ store });
    const request = new Request("http://localhost/export");
    const { status } = await application.fetch(request, { address: "203.0.113.7" });
    expect(status).toBe(500);
    expect(warnings).toEqual([expect.stringContaining(`The throttle store returned ${said} from add():`)]);
    const peeked = application.container.make("throttle").peek("export", { address: "203.0.113.7" });
    await expect(peeked).rejects.toThrow(`The throttle store returned ${said} from get():`);
  });

  test("S33 that counts fewer attempts than were just added causes a refusal, because it would let every attempt pass", async () => {
    const counts = async () => ({ attempts: 0, resetInMs: 1000 });
    const store = { counter: () => ({ ...COUNTER, add: counts, get: counts }), close() {} };
    const throttle = (await boot({ store })).application.container.make("throttle");
    const keys = { address: "203.0.113.7" };
    await expect(throttle.consume("export", keys)).rejects.toMatchObject({ code: "E_INTERNAL", status: 500 });
    // `peek` adds nothing, so it doesn't need a store to count in.
    expect((await throttle.peek("export", keys)).remaining).toBe(3);
    // The last moment of a window belongs to it.
    const atTheEnd = async () => ({ attempts: 1, resetInMs: 0.5 });
    const one = { counter: () => ({ ...COUNTER, add: atTheEnd }), close() {} };
    const other = (await boot({ store: one })).application.container.make("throttle");
    expect((await other.consume("export", keys, 1)).remaining).toBe(2);
    await expect(other.consume("export", keys, 2)).rejects.toThrow("attempts must be an integer of 2 or more");
  });

  test("can be memory even if there is a database", async () => {
    for (const store of ["memory", memoryStore()] as const) {
      const connection = { driver: "sqlite", path: ":memory:" };
      const { application, warnings } = await boot({ providers: [DatabaseProvider], connection, store });
      expect([await exported(application), warnings]).toEqual([3, []]);
    }
  });

  test("of the application is used, pruned and closed", async () => {
    const calls: unknown[] = [];
    const counter: AttemptCounter = {
      add: async (key, cost) => {
        calls.push(["add", key, cost]);
        return { attempts: 3, resetInMs: 1000 };
      },
      takeBack: async () => {},
      get: async () => null,
      delete: async () => {},
    };
    const store: ThrottleStore = {
      counter: () => counter,
      prune: () => 7,
      close: () => void calls.push("close"),
    };
    for (const source of [store, () => store]) {
      const { application } = await boot({ store: source });
      expect(await exported(application)).toBe(4);
      expect(await application.prune()).toEqual({ "counts of limits": 7 });
      await application.shutdown();
      expect(calls.splice(0)).toEqual([...Array(4).fill(["add", expect.any(String), 1]), "close"]);
    }
  });

  test("of the application may have nothing to prune, and may close asynchronously", async () => {
    const events: string[] = [];
    const memory = new MemoryStore();
    const store: ThrottleStore = {
      counter: (bucket) => memory.counter(bucket),
      close: async () => {
        await new Promise((resolve) => setImmediate(resolve));
        events.push("closed");
      },
    };
    const { application } = await boot({ store });
    expect(await application.prune()).toStrictEqual({});
    await application.shutdown();
    events.push("shut down");
    expect(events).toEqual(["closed", "shut down"]);
  });
});
