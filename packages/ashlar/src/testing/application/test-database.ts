import { type Application, Provider, type ProviderClass } from "../../boot/index.ts";
import {
  Database,
  DatabaseProvider,
  type DialectSource,
  Migrations,
  sqlite,
  type TestDatabase,
} from "../../database/index.ts";
import { AshlarError, isPlainObject } from "../../support/index.ts";

/** The connections of a test application, instead of its own. */
export interface TestDatabases {
  /** What `config/database.ts` would export as `DATABASES`. */
  readonly databases: Readonly<Record<string, unknown>>;
  /** Removes the databases that were created for them. */
  remove(): Promise<void>;
}

const MEMORY = sqlite({ path: ":memory:" });
const MIGRATIONS_TABLE = "migrations";

/** The databases that were created for tests and may be emptied. */
const own = new WeakSet<Database>();

/**
 * Creates connections with the same names as the application's, none of which leads to its own databases: each is a SQLite
 * database in memory, except that the default one may be created on a server.
 *
 * @param databases `DATABASES` of the application; `undefined` if it has no such file
 * @param server the connection whose server a new database is created on; `null` for none
 */
export async function testDatabases(databases: unknown, server: DialectSource | null): Promise<TestDatabases> {
  const { default: chosen = "main", ...connections } = isPlainObject(databases) ? databases : {};
  const names = new Set([...Object.keys(connections), String(chosen)]);
  const replaced: Record<string, unknown> = Object.fromEntries([...names].map((name) => [name, MEMORY]));
  replaced.default = chosen;
  if (server === null) return { databases: replaced, remove: async () => {} };
  const made = await createOn(server);
  replaced[String(chosen)] = made.dialect;
  return { databases: replaced, remove: made.remove };
}

async function createOn(server: DialectSource): Promise<TestDatabase> {
  const database = new Database({ default: "database", database: server }, process.cwd());
  try {
    return await database.dialect.maintenance.createTestDatabase();
  } finally {
    await database.close();
  }
}

/**
 * Wraps the database provider for tests: its tables exist before the other providers boot, and its database is removed
 * after it has closed.
 *
 * @param migrations the folder of the migrations; `null` if the application has no folder
 */
export function withTestDatabase(
  providers: readonly ProviderClass[],
  migrations: string | null,
  remove: () => Promise<void>,
): readonly ProviderClass[] {
  class Removal extends Provider {
    override shutdown(): Promise<void> {
      return remove();
    }
  }
  class Migration extends Provider {
    override async boot(): Promise<void> {
      const database = this.application.container.make("database");
      own.add(database);
      if (migrations !== null) await new Migrations(database, migrations).up();
    }
  }
  return providers.flatMap((provider) => {
    const isDatabase = provider === DatabaseProvider || provider.prototype instanceof DatabaseProvider;
    return isDatabase ? [Removal, provider, Migration] : [provider];
  });
}

/**
 * Empties every table, so that a test does not see data of earlier ones: `beforeEach(() => resetDatabase(application))`.
 * Background jobs and event listeners are waited for first, since they may still write. Rows inserted by migrations are deleted too.
 *
 * @throws `E_INVALID_CONFIGURATION` if the database was not created for tests: it is neither in memory nor created by
 *   `createTestApplication`
 */
export async function resetDatabase(application: Application): Promise<void> {
  const database = application.container.make("database");
  checkOwn(database);
  await settle(application);
  await database.connection().maintenance.emptyTables([MIGRATIONS_TABLE]);
}

function checkOwn(database: Database): void {
  if (database.dialect.isInMemory || own.has(database)) return;
  throw new AshlarError(
    "E_INVALID_CONFIGURATION",
    "Only a database that was created for tests is emptied. Create the application with createTestApplication(), or set DATABASE_PATH to :memory:.",
  );
}

/**
 * Waits until no background job and no event listener of an application is at work, including those that others have
 * started in the meantime.
 *
 * @param also something else to wait for that may start some, such as the sending of mails
 */
export async function settle(application: Application, also = async (): Promise<void> => {}): Promise<void> {
  const { background, container } = application;
  const events = container.has("events") ? container.make("events") : null;
  do {
    await background.settled();
    await events?.settled();
    await also();
  } while (background.pending > 0 || (events?.pending ?? 0) > 0);
}
