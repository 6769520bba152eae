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

/** The connections that a test application uses instead of its own. */
export interface TestDatabases {
  /** The value for `DATABASES`, as `config/database.ts` would export it. */
  readonly databases: Readonly<Record<string, unknown>>;
  /** Removes the databases that were created for them. */
  remove(): Promise<void>;
}

const MEMORY = sqlite({ path: ":memory:" });
const MIGRATIONS_TABLE = "migrations";

/** The databases that were created for tests and may be emptied. */
const own = new WeakSet<Database>();

/**
 * Creates connections with the same names as the application's, none of which leads to its own databases. Each is a
 * SQLite database in memory, except that the default database may be created on a server.
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
 * Wraps the database provider for tests. The tables exist before the other providers boot, and the database is removed
 * after it has been closed.
 *
 * @param migrations the migrations' folder; `null` if the application has none
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
 * Empties every table, to remove the data of earlier tests: `beforeEach(() => resetDatabase(application))`. It first
 * waits for background jobs and event listeners, because they may still write. Rows inserted by migrations are deleted
 * too.
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
 * Waits for all background jobs and event listeners of an application, including those that start in the meantime.
 *
 * @param also waits for other work that may start more of them, such as sending mails
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
