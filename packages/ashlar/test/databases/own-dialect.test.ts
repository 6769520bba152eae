import { tmpdir } from "node:os";
import { describe, expect, onTestFinished, test } from "vitest";
import { connectionSource, Database } from "../../src/database/index.ts";
import {
  type Dialect,
  type DialectSource,
  returningWrites,
  sql,
  sqlite,
  type Writes,
} from "../../src/public/database.ts";
import { dialectSuite, type SuiteTest } from "../../src/public/testing.ts";
import { oneConnection } from "../support/one-connection-dialect.ts";
import { onPostgres, postgres } from "../support/services.ts";

const remove = async (): Promise<void> => {};

describe("an application's own dialect keeps the promises", () => {
  const suite = dialectSuite(({ acquireTimeoutMs }) => ({
    dialect: oneConnection(":memory:", acquireTimeoutMs),
    remove,
  }));
  for (const { title, run } of suite) test(title, run);
});

/** The titles of the suite's tests that fail when something is wrong with SQLite. */
function found(change: (dialect: Dialect) => Changes): Promise<readonly string[]> {
  const suite = dialectSuite((options) => ({
    dialect: changed(sqlite({ path: ":memory:", ...options }), change),
    remove,
  }));
  return failed(suite);
}

async function failed(suite: readonly SuiteTest[]): Promise<readonly string[]> {
  const outcomes = await Promise.all(
    suite.map(async ({ title, run }) => ({
      title,
      failed: await run().then(
        () => false,
        () => true,
      ),
    })),
  );
  return outcomes.filter(({ failed }) => failed).map(({ title }) => title);
}

/** Replaces members of a dialect and of its contracts. */
interface Changes extends Partial<Omit<Dialect, "values" | "transactions" | "maintenance">> {
  readonly values?: Partial<Dialect["values"]>;
  readonly transactions?: Partial<Dialect["transactions"]>;
  readonly maintenance?: Partial<Dialect["maintenance"]>;
}

function changed(source: DialectSource, change: (dialect: Dialect) => Changes): DialectSource {
  return (setup) => {
    const dialect = source(setup);
    const { values = {}, transactions = {}, maintenance = {}, ...changes } = change(dialect);
    return replaced(dialect, {
      ...changes,
      values: replaced(dialect.values, values),
      transactions: replaced(dialect.transactions, transactions),
      maintenance: replaced(dialect.maintenance, maintenance),
    });
  };
}

function replaced<T extends object>(original: T, changes: Partial<T>): T {
  return new Proxy(original, {
    get(target, name) {
      const value: unknown = Reflect.get(Object.hasOwn(changes, name) ? changes : target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

function writing(changes: Partial<Writes>): Changes {
  return { transactions: { writes: { ...returningWrites, ...changes } } };
}

/** Deletes with a limit like `returningWrites`, or without one of its two conditions. */
function deletingSelected(has: { readonly where: boolean; readonly checksAgain: boolean }): Changes {
  return writing({
    delete(kysely, { limit, ...plan }) {
      if (limit === undefined) return returningWrites.delete(kysely, plan);
      const { table, where, key } = plan;
      const any = kysely.selectFrom(table).select(key).limit(sql.lit(limit));
      const selected = sql<boolean>`${sql.ref(key)} in (${has.where ? any.where(where) : any})`;
      const both = sql<boolean>`${where} and ${selected}`;
      return returningWrites.delete(kysely, { ...plan, where: has.checksAgain ? both : selected });
    },
  });
}

test("a dialect that only wraps another passes the suite", async () => {
  expect(await found(() => ({}))).toEqual([]);
});

test.each<[string, (dialect: Dialect) => Changes, string]>([
  [
    "rolls back instead of committing",
    ({ transactions }) => ({ transactions: { commit: (connection) => transactions.rollback(connection, null) } }),
    "a transaction stores everything if it returns, and nothing if it throws",
  ],
  [
    "commits instead of rolling back",
    ({ transactions }) => ({ transactions: { rollback: (connection) => transactions.commit(connection) } }),
    "a transaction stores everything if it returns, and nothing if it throws",
  ],
  [
    "keeps what was written since a savepoint",
    ({ transactions }) => ({
      transactions: {
        rollback: (connection, name) => (name === null ? transactions.rollback(connection, null) : undefined),
      },
    }),
    "a nested transaction can fail on its own",
  ],
  [
    "lends one connection to several callers",
    ({ transactions }) => ({
      transactions: {
        async reserve() {
          const { connection, release } = await transactions.reserve();
          release(false);
          return { connection, release() {} };
        },
      },
    }),
    "rows that are locked against changes are read by one transaction at a time",
  ],
  [
    "runs other statements in an open transaction",
    (dialect) => {
      let own: Awaited<ReturnType<Dialect["transactions"]["reserve"]>>["connection"];
      return {
        transactions: {
          async reserve() {
            const reservation = await dialect.transactions.reserve();
            own = reservation.connection;
            return reservation;
          },
        },
        shared: {
          execute: (query) => (own ?? dialect.shared).execute(query),
          first: (text, value) => (own ?? dialect.shared).first(text, value),
        },
      };
    },
    "a transaction's changes are not visible outside of it before the commit",
  ],
  [
    "says that failed statements end transactions",
    () => ({ transactions: { failureEndsTransaction: true } }),
    "a commit after a failed statement stores everything else, or throws and stores nothing",
  ],
  [
    "includes values in errors",
    (dialect) => ({
      shared: {
        async execute(query) {
          try {
            return await dialect.shared.execute(query);
          } catch (error) {
            throw Object.assign(error as Error, { parameters: query.parameters });
          }
        },
        first: (text, value) => dialect.shared.first(text, value),
      },
    }),
    "no error contains a value of a row",
  ],
  [
    "ignores that a transaction only reads",
    ({ transactions }) => ({
      transactions: { begin: (connection, options) => transactions.begin(connection, { ...options, readOnly: false }) },
    }),
    "a read-only transaction can read and refuses writes, and later transactions can write",
  ],
  [
    "takes every later transaction for one that only reads",
    ({ transactions }) => {
      let readOnly = false;
      return {
        transactions: {
          begin(connection, options) {
            readOnly ||= options.readOnly === true;
            return transactions.begin(connection, { ...options, readOnly });
          },
        },
      };
    },
    "a read-only transaction can read and refuses writes, and later transactions can write",
  ],
  [
    "checks no foreign keys",
    () => ({ maintenance: { checkForeignKeys() {} } }),
    "tables can be rebuilt, and foreign keys hold again afterwards",
  ],
  [
    "knows one column of each table",
    ({ maintenance }) => ({ maintenance: { columnNames: `${maintenance.columnNames} limit 1` } }),
    "a table's columns are returned, or none if it does not exist",
  ],
  [
    "leaves foreign keys off",
    () => ({ maintenance: { resumeForeignKeys() {} } }),
    "tables can be rebuilt, and foreign keys hold again afterwards",
  ],
  [
    "counts only the rows that an update changes",
    (dialect) => ({
      shared: {
        async execute(query) {
          const result = await dialect.shared.execute(query);
          return query.sql.startsWith("update") ? { ...result, numAffectedRows: 0n } : result;
        },
        first: (text, value) => dialect.shared.first(text, value),
      },
    }),
    "an update counts all matching rows, even those that already have the new values",
  ],
  [
    "stores a row whatever its condition",
    () => writing({ insert: (kysely, { onlyIf: _, ...query }) => returningWrites.insert(kysely, query) }),
    "a conditional insert stores a row only if its condition holds",
  ],
  [
    "changes a row whatever the condition",
    () => writing({ upsert: (kysely, { changeIf: _, ...query }) => returningWrites.upsert(kysely, query) }),
    "one of many concurrent conditional upserts stores or changes the row",
  ],
  [
    "upserts whatever the condition",
    () => writing({ upsert: (kysely, { onlyIf: _, ...query }) => returningWrites.upsert(kysely, query) }),
    "a conditional upsert neither stores nor changes a row if its condition doesn't hold",
  ],
  [
    "upserts in two steps",
    () =>
      writing({
        upsert(kysely, query) {
          const [upsert, insert] = [returningWrites.upsert(kysely, query), returningWrites.insert(kysely, query)];
          return async (scope, values) => {
            const { rows } = await scope.execute(kysely.selectFrom(query.table).selectAll().compile());
            return rows.length === 0 ? insert(scope, values) : upsert(scope, values);
          };
        },
      }),
    "each of many concurrent upserts gets its own count",
  ],
  [
    "deletes more than it should",
    () => writing({ delete: (kysely, { limit: _, ...query }) => returningWrites.delete(kysely, query) }),
    "a deletion with a limit deletes no more rows than that, and returns them",
  ],
  [
    "deletes from the first rows, whether they match or not",
    () => deletingSelected({ where: false, checksAgain: true }),
    "a deletion with a limit deletes no more rows than that, and returns them",
  ],
  [
    "says that new tables are not rolled back",
    () => ({ maintenance: { schemaIsTransactional: false } }),
    "a new table is rolled back with its transaction, or remains, as the dialect declares",
  ],
  [
    "says that its file is in memory, or the other way around",
    ({ isInMemory }) => ({ isInMemory: !isInMemory }),
    "stored data survives reopening the database, unless the dialect is in memory",
  ],
  [
    "says that JSON is parsed",
    () => ({ values: { parsesJson: true } }),
    "JSON comes back parsed or as text, as the dialect declares",
  ],
  [
    "stores only short texts",
    ({ values }) => ({
      values: { columnTypes: { ...values.columnTypes, longText: sql`text check (length(text) < 65536)` } },
    }),
    "a column for long text holds a million bytes",
  ],
  [
    "stores another text than it is given",
    (dialect) => ({
      shared: {
        execute: (query) =>
          dialect.shared.execute({
            ...query,
            parameters: query.parameters.map((one) => (typeof one === "string" ? one.toWellFormed() : one)),
          }),
        first: (text, value) => dialect.shared.first(text, value),
      },
    }),
    "text that can't be stored exactly is refused",
  ],
  [
    "empties nothing",
    () => ({ maintenance: { emptyTables() {} } }),
    "all tables are emptied despite foreign keys, and keys count from 1 again",
  ],
  [
    "drops nothing",
    () => ({ maintenance: { dropEverything() {} } }),
    "everything is dropped, including views and referenced tables",
  ],
  [
    "gives tests its own database",
    (dialect) => ({ maintenance: { createTestDatabase: async () => ({ dialect: () => dialect, remove }) } }),
    "a test database is empty, and separate from the original",
  ],
  [
    "cannot be closed",
    () => ({ async close() {} }),
    "a dialect can connect in advance, and refuses statements once it is closed",
  ],
])("the suite finds a dialect that %s", async (_, change, title) => {
  expect(await found(change)).toContain(title);
});

await onPostgres("on a database that runs transactions side by side", () => {
  const SIDE_BY_SIDE = "concurrent serializable transactions store what they would store one after the other";
  const KEEPS =
    "a deletion with a limit waits for a pending change of a row, and keeps the row if it no longer matches";

  /** The tests with one of these titles that fail when something is wrong with PostgreSQL. */
  const foundSideBySide = (
    change: (dialect: Dialect) => Changes,
    titles: readonly string[],
  ): Promise<readonly string[]> => {
    const suite = dialectSuite(async (options) => {
      const { database, configuration, drop } = await postgres.open({ ...options });
      await database.close();
      return { dialect: changed(connectionSource("main", configuration), change), remove: drop };
    });
    return failed(suite.filter(({ title }) => titles.includes(title)));
  };

  test.each<[string, (dialect: Dialect) => Changes, string[]]>([
    [
      "that ignores the isolation level",
      ({ transactions }) => ({
        transactions: { begin: (connection, { isolation: _, ...options }) => transactions.begin(connection, options) },
      }),
      [SIDE_BY_SIDE],
    ],
    [
      "that deletes the rows it has selected, even if they have changed since",
      () => deletingSelected({ where: true, checksAgain: false }),
      [KEEPS],
    ],
    ["only if there is something wrong with it", () => ({}), []],
  ])("the suite finds a dialect %s", async (_, change, titles) => {
    expect(await foundSideBySide(change, [SIDE_BY_SIDE, KEEPS])).toEqual(titles);
  });
});

test("a dialect learns of a connection whose transaction could not be rolled back, and of no other", async () => {
  const [no, released] = [new Error("no"), [] as boolean[]];
  let failing: "nothing" | "transaction" | "savepoint" = "nothing";
  const source = changed(sqlite({ path: ":memory:" }), ({ transactions }) => ({
    transactions: {
      async reserve() {
        const { connection, release } = await transactions.reserve();
        return {
          connection,
          release(broken) {
            released.push(broken);
            release(broken);
          },
        };
      },
      async rollback(connection, savepoint) {
        await transactions.rollback(connection, savepoint);
        if (failing === (savepoint === null ? "transaction" : "savepoint")) throw new Error("The connection is lost.");
      },
    },
  }));
  const database = new Database({ default: "main", main: source }, "/");
  onTestFinished(() => database.close());
  const fail = () => Promise.reject(no);
  await database.transaction(() => database.transaction(async () => {}));
  await expect(database.transaction(fail)).rejects.toBe(no);
  await database.transaction(() => expect(database.transaction(fail)).rejects.toBe(no));
  await expect(database.connection().reserved(fail)).rejects.toBe(no);
  expect(released.splice(0)).toEqual([false, false, false, false]);
  failing = "transaction";
  await expect(database.transaction(fail)).rejects.toBe(no);
  // The connection stays reserved for the surrounding code.
  const around = () => expect(database.transaction(fail)).rejects.toBe(no);
  await database.connection().reserved(around);
  failing = "savepoint";
  await database.transaction(around);
  await database.transaction(() => database.transaction(around));
  expect(released.splice(0)).toEqual([true, true, true, true]);
  await database.transaction(async () => {});
  expect(released).toEqual([false]);
});

test("the suite notices a dialect whose unreachable database looks empty", async () => {
  const run = (change: (dialect: Dialect) => Changes) => {
    const make = () => ({ dialect: sqlite({ path: ":memory:" }), remove });
    const unreachable = () => changed(sqlite({ path: tmpdir() }), change);
    return dialectSuite(make, { unreachable }).at(-1)!.run();
  };
  await run(() => ({}));
  await expect(run(() => ({ async connect() {} }))).rejects.toThrow("connect resolved");
  const shared = { execute: () => ({ rows: [] }), first: () => undefined };
  await expect(run(() => ({ shared }))).rejects.toThrow("select resolved");
});
