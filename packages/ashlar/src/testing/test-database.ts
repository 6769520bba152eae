import { randomBytes } from "node:crypto";
import { type Application, Provider, type ProviderClass } from "../boot/index.ts";
import { Database, DatabaseProvider, Migrations, sql } from "../database/index.ts";
import { AshlarError, isPlainObject } from "../support/index.ts";

/** The connections of an application of tests, in the place of its own. */
export interface TestDatabases {
  /** What `config/database.ts` would export as `DATABASES`. */
  readonly databases: Readonly<Record<string, unknown>>;
  /** Removes what was made for them. */
  remove(): Promise<void>;
}

const MEMORY = { driver: "sqlite", path: ":memory:" };
const MIGRATIONS_TABLE = "migrations";

/** The databases that were made for tests, and that may be emptied. */
const own = new WeakSet<Database>();

/**
 * Connections of the same names as an application has, of which none leads to a database of its own: each is a SQLite
 * database in memory, except that the default one may be on a PostgreSQL server.
 *
 * @param databases `DATABASES` of the application; nothing where it has no file of them
 * @param server the server's connection, on which a new database is made; `null` for none
 */
export async function testDatabases(
  databases: unknown,
  server: Readonly<Record<string, unknown>> | null,
): Promise<TestDatabases> {
  const { default: chosen = "main", ...connections } = isPlainObject(databases) ? databases : {};
  const names = new Set([...Object.keys(connections), String(chosen)]);
  const replaced: Record<string, unknown> = Object.fromEntries([...names].map((name) => [name, MEMORY]));
  replaced.default = chosen;
  if (server === null) return { databases: replaced, remove: async () => {} };
  const name = `ashlar_test_${randomBytes(8).toString("hex")}`;
  await administer(server, `create database ${name}`);
  replaced[String(chosen)] = onServer(server, name);
  return { databases: replaced, remove: () => administer(server, `drop database if exists ${name} with (force)`) };
}

/**
 * Puts what tests need around the provider of the database: its tables are there before the other providers boot, and
 * what was made for it is removed after it has closed.
 *
 * @param migrations the folder of the migrations; `null` where the application has no folder
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
 * Empties every table, so that a test begins with none of what the ones before it left: `beforeEach(() =>
 * resetDatabase(application))`. Rows that migrations inserted go too.
 *
 * @throws `E_INVALID_CONFIGURATION` where the database was not made for tests: it is neither in memory nor one of
 * `createTestApplication`
 */
export async function resetDatabase(application: Application): Promise<void> {
  const database = application.container.make("database");
  checkOwn(database);
  if (database.dialect === "sqlite") await emptySqlite(database);
  else await emptyPostgres(database);
}

function checkOwn(database: Database): void {
  const { default: name, connections } = database.configuration;
  const connection = connections[name]!;
  const isInMemory = connection.driver === "sqlite" && connection.path === ":memory:";
  if (isInMemory || own.has(database)) return;
  throw new AshlarError(
    "E_INVALID_CONFIGURATION",
    "Only a database that was made for tests is emptied. Make the application with createTestApplication(), or set DATABASE_PATH to :memory:.",
  );
}

async function emptySqlite(database: Database): Promise<void> {
  const { kysely } = database;
  const run = (statement: string) => sql.raw<{ readonly name: string }>(statement).execute(kysely);
  await database.connection().reserved(async () => {
    const { rows } = await run(
      `select name from sqlite_schema where type = 'table' and sql not like 'create virtual %' and name <> '${MIGRATIONS_TABLE}'`,
    );
    const names = rows
      .map(({ name }) => name)
      .filter((name) => !name.startsWith("sqlite_") || name === "sqlite_sequence");
    // Rows go in any order; whoever refers to whom, all of them go.
    await run("pragma foreign_keys = off");
    try {
      for (const name of names) await run(`delete from "${name.replaceAll('"', '""')}"`);
    } finally {
      await run("pragma foreign_keys = on");
    }
  });
}

async function emptyPostgres({ kysely }: Database): Promise<void> {
  const tables = await kysely.introspection.getTables();
  const names = tables
    .filter(({ name, isView }) => !isView && name !== MIGRATIONS_TABLE)
    .map(({ name, schema }) => sql.table(schema === undefined ? name : `${schema}.${name}`));
  if (names.length > 0) await sql`truncate ${sql.join(names)} restart identity cascade`.execute(kysely);
}

async function administer(server: Readonly<Record<string, unknown>>, statement: string): Promise<void> {
  const database = new Database({ default: "server", server }, "/");
  try {
    await sql.raw(statement).execute(database.kysely);
  } finally {
    await database.close();
  }
}

function onServer(server: Readonly<Record<string, unknown>>, name: string): Readonly<Record<string, unknown>> {
  if (typeof server.url !== "string") return { ...server, database: name };
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  return { ...server, url: url.href };
}
