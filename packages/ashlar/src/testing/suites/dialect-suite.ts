import { Database, type DialectSource, type TestDatabase } from "../../database/index.ts";
import { AshlarError, type MaybePromise } from "../../support/index.ts";
import { atOnce, createRows, insert, MANY, names, ROWS } from "./dialect/dialect-test.ts";
import { MAINTENANCE } from "./dialect/maintenance.ts";
import { STATEMENTS } from "./dialect/statements.ts";
import { TRANSACTIONS } from "./dialect/transactions.ts";
import { VALUES } from "./dialect/values.ts";
import { WRITES } from "./dialect/writes.ts";
import { assertEachFails, type SuiteTest } from "./suite-test.ts";

/** The options for a test's dialect. */
export interface DialectSuiteOptions {
  /** How long the dialect lets callers wait for a connection, in milliseconds. */
  readonly acquireTimeoutMs: number;
}

/** Options of {@link dialectSuite}. */
export interface DialectSuiteSettings {
  /** Creates a dialect whose database cannot be reached; default: the test that needs one is skipped. */
  readonly unreachable?: () => MaybePromise<DialectSource>;
}

/** Long enough for any machine. Tests of the limit itself use {@link SHORT_MS}. */
const LONG_MS = 30_000;
const SHORT_MS = 200;

/**
 * Tests the contract of `Dialect`.
 *
 * ```ts
 * import { test } from "node:test";
 *
 * const suite = dialectSuite(({ acquireTimeoutMs }) => ({
 *   dialect: sqlite({ path: ":memory:", acquireTimeoutMs }),
 *   remove: async () => {},
 * }));
 * for (const { title, run } of suite) test(title, run);
 * ```
 *
 * @param make creates an empty database, and a dialect that connects to it with at most 30 connections; called once for
 *   each test, which removes it
 */
export function dialectSuite(
  make: (options: DialectSuiteOptions) => MaybePromise<TestDatabase>,
  { unreachable }: DialectSuiteSettings = {},
): readonly SuiteTest[] {
  const always = [...TRANSACTIONS, ...STATEMENTS, ...WRITES, ...VALUES, ...MAINTENANCE].map(
    ({ title, isImpatient = false, run }) => ({
      title,
      async run() {
        const made = await make({ acquireTimeoutMs: isImpatient ? SHORT_MS : LONG_MS });
        const database = new Database({ default: "suite", suite: made.dialect }, process.cwd());
        try {
          if (isImpatient) await connectAll(database);
          await createRows(database);
          await run(database, made.dialect);
        } finally {
          await database.close();
          await made.remove();
        }
      },
    }),
  );
  if (unreachable === undefined) return always;
  const title = "each call to a database that cannot be reached fails, and none looks like an empty database";
  return [...always, { title, run: () => failuresThrow(unreachable) }];
}

/**
 * Opens all connections of a dialect with a short time limit. Connecting may have the same limit, which a busy machine
 * may exceed, so such failures are ignored until all connections are open.
 */
async function connectAll(database: Database): Promise<void> {
  const endsAt = performance.now() + LONG_MS;
  for (;;) {
    const results = await atOnce(MANY, () => database.transaction(async () => {}));
    const failures = results.flatMap((result) => (result.status === "rejected" ? [result.reason as unknown] : []));
    const unreachable = failures.find(
      (error) => error instanceof AshlarError && error.code === "E_DATABASE_UNAVAILABLE",
    );
    if (unreachable === undefined) return;
    if (performance.now() >= endsAt) throw unreachable;
  }
}

async function failuresThrow(unreachable: () => MaybePromise<DialectSource>): Promise<void> {
  const database = new Database({ default: "suite", suite: await unreachable() }, process.cwd());
  const connection = database.connection();
  try {
    await assertEachFails({
      connect: () => database.connect(),
      select: () => names(database),
      first: () => connection.first("select 1 where 1 = ?", 1),
      insert: () => insert(database, "a"),
      transaction: () => database.transaction(async () => []),
      columnNames: () => connection.rows(database.dialect.maintenance.columnNames, [ROWS]),
      lockMigrations: () => connection.maintenance.withMigrationLock(() => names(database)),
      emptyTables: () => connection.maintenance.emptyTables([]),
      dropEverything: () => connection.maintenance.dropEverything(),
    });
  } finally {
    await database.close();
  }
}
