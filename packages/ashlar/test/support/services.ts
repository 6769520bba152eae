import { existsSync } from "node:fs";
import { copyFile, mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "vitest";
import type { Application } from "../../src/boot/index.ts";
import { Database, type NamedDialect, sql } from "../../src/database/index.ts";
import { resetDatabase } from "../../src/testing/index.ts";
import { KeptDatabases } from "./kept-databases.ts";
import { administerMariadb, MARIADB, mariadbServer } from "./mariadb-databases.ts";
import { administer, POSTGRES, postgresServer } from "./postgres-databases.ts";
import { RUN_FOLDER } from "./run-processes.ts";

/** A named connection, with options that a test can read. */
type TestConnection = NamedDialect & Readonly<Record<string, unknown>>;

/** A test's own database, and how to remove it. */
export interface TestDatabase {
  readonly database: Database;
  /** The options that the database was opened with, to open a second connection. */
  readonly configuration: TestConnection;
  /** Closes and removes the database. */
  drop(): Promise<void>;
}

/** Initial contents for many tests' databases. They are created once, and then copied or restored. */
export interface Contents {
  /** Unique among all contents. */
  readonly name: string;
  readonly fill: (database: Database) => Promise<void>;
}

/**
 * Declares a test only for the databases that it is about. On others, it doesn't count as skipped, because there is
 * nothing to test.
 */
export function testWhere(isAboutThem: boolean, title: string, run: () => Promise<void>): void {
  if (isAboutThem) test(title, run);
}

/** A kind of database that the suite runs on. */
export interface TestEngine {
  readonly name: "sqlite" | "postgres" | "mariadb";
  /** Whether a transaction continues after a failed statement in it. */
  readonly continues: boolean;
  /** Whether schema changes are rolled back with their transaction. */
  readonly undoesTables: boolean;
  /**
   * Creates a database.
   *
   * @param contents its initial contents; default: none
   */
  open(settings?: Readonly<Record<string, unknown>>, contents?: Contents): Promise<TestDatabase>;
}

/** Whether contents are kept. During mutation testing, every test has to run the code that creates them. */
const IS_KEPT = process.env.ASHLAR_MUTANTS === undefined;

const runFolder = process.env[RUN_FOLDER]!;
const postgresDatabases = new KeptDatabases(postgresServer, runFolder);
const mariadbDatabases = new KeptDatabases(mariadbServer, runFolder);

/** SQLite, with its own file. */
export const sqlite: TestEngine = {
  name: "sqlite",
  continues: true,
  undoesTables: true,
  async open(settings = {}, contents) {
    const folder = await mkdtemp(join(tmpdir(), "ashlar-database-"));
    const path = join(folder, "test.sqlite");
    const own = testDatabase({ driver: "sqlite", path, ...settings }, () => rm(folder, { recursive: true }));
    if (contents !== undefined && IS_KEPT) await copyFile(await fileWith(contents), path);
    else await contents?.fill(own.database);
    return own;
  },
};

/** A SQLite file with these contents, to be copied. */
async function fileWith({ name, fill }: Contents): Promise<string> {
  const file = join(runFolder, `${name}.sqlite`);
  if (existsSync(file)) return file;
  // If several processes get here at the same time, each fills its own file, and the last one stays.
  const path = `${file}.${process.pid}`;
  const database = new Database({ default: "main", main: { driver: "sqlite", path } }, runFolder);
  await fill(database);
  await database.close();
  await rename(path, file);
  return file;
}

/** PostgreSQL, for tests that only apply to it. */
export const postgres: TestEngine = {
  name: "postgres",
  continues: false,
  undoesTables: true,
  open: (settings = {}, contents) =>
    onServer(postgresDatabases, contents, (database) => ({ driver: "postgres", ...POSTGRES, database, ...settings })),
};

/** MariaDB, for tests that only apply to it. */
export const mariadb: TestEngine = {
  name: "mariadb",
  continues: true,
  undoesTables: false,
  open: (settings = {}, contents) =>
    onServer(mariadbDatabases, contents, (database) => ({ driver: "mariadb", ...MARIADB, database, ...settings })),
};

async function onServer(
  databases: KeptDatabases,
  contents: Contents | undefined,
  connectionTo: (database: string) => TestConnection,
): Promise<TestDatabase> {
  const taken = await databases.take(contents?.name ?? "nothing");
  const own = testDatabase(connectionTo(taken.name), taken.giveBack);
  if (contents === undefined || taken.isFilled) return own;
  await contents.fill(own.database);
  if (IS_KEPT) await taken.keep();
  return own;
}

/** The schema that a database's tables are in. */
export function schemaOf({ name, configuration }: { name: TestEngine["name"]; configuration: TestConnection }): string {
  if (name === "mariadb") return String(configuration.database);
  return name === "sqlite" ? "main" : "public";
}

function testDatabase(configuration: TestConnection, remove: () => Promise<void>): TestDatabase {
  const database = new Database({ default: "main", main: configuration }, tmpdir());
  const drop = async (): Promise<void> => {
    await database.close();
    await remove();
  };
  return { database, configuration, drop };
}

/**
 * Empties an application's database that was created for tests, as `resetDatabase` does. On PostgreSQL, that writes
 * every table and index to disk again, which takes longer than most tests, so this deletes the rows instead.
 */
export async function emptyTables(application: Application): Promise<void> {
  const database = application.container.make("database");
  if (database.dialect.name !== "postgres") return await resetDatabase(application);
  await sql.raw(DELETE_ALL).execute(database.kysely);
}

/** Tables with references were created later. */
const DELETE_ALL = `
  do $$ declare name text; begin
    for name in select quote_ident(relname) from pg_class
      where relkind = 'r' and relnamespace = 'public'::regnamespace and relname <> 'migrations' order by oid desc loop
      execute 'delete from ' || name;
    end loop;
    for name in select quote_ident(sequencename) from pg_sequences where schemaname = 'public' loop
      perform setval(name, 1, false);
    end loop;
  end $$`;

/**
 * Defines a suite that needs PostgreSQL. Without a server, the suite is listed as skipped; with `CI` set, it fails.
 */
export async function onPostgres(title: string, define: () => void): Promise<void> {
  await onReachable(title, POSTGRES, administer("select 1"), define);
}

/** Defines a suite that needs MariaDB, like {@link onPostgres}. */
export async function onMariadb(title: string, define: () => void): Promise<void> {
  await onReachable(title, MARIADB, administerMariadb("select 1"), define);
}

async function onReachable(
  title: string,
  { host, port }: Readonly<Record<string, string | number>>,
  attempt: Promise<void>,
  define: () => void,
): Promise<void> {
  const isReachable = await attempt.then(
    () => true,
    () => false,
  );
  const isMissing = !isReachable && process.env.CI === undefined;
  describe.skipIf(isMissing)(isMissing ? `${title} (no server at ${host}:${port})` : title, define);
}

/** Defines a suite once for each kind of database, like {@link onPostgres} for PostgreSQL. */
export async function onEachDatabase(title: string, define: (engine: TestEngine) => void): Promise<void> {
  describe(`${title} on SQLite`, () => define(sqlite));
  await onPostgres(`${title} on PostgreSQL`, () => define(postgres));
  await onMariadb(`${title} on MariaDB`, () => define(mariadb));
}
