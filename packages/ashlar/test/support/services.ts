import { existsSync } from "node:fs";
import { copyFile, mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe } from "vitest";
import type { Application } from "../../src/boot/index.ts";
import { Database, type NamedDialect, sql } from "../../src/database/index.ts";
import { resetDatabase } from "../../src/testing/index.ts";
import { administer, POSTGRES, PostgresDatabases } from "./postgres-databases.ts";
import { RUN_FOLDER } from "./run-folder.ts";

/** A connection by name, with options that a test can read. */
type TestConnection = NamedDialect & Readonly<Record<string, unknown>>;

/** A database of a test's own, and the way to be rid of it. */
export interface TestDatabase {
  readonly database: Database;
  /** What the database was opened with, for a second connection to the same. */
  readonly configuration: TestConnection;
  /** Closes and removes the database. */
  drop(): Promise<void>;
}

/** What databases of many tests begin with. It is made once, and copied or restored for every other test. */
export interface Contents {
  /** Different from that of all others. */
  readonly name: string;
  readonly fill: (database: Database) => Promise<void>;
}

/** A kind of database the same suite runs on. */
export interface TestEngine {
  readonly name: "sqlite" | "postgres";
  /**
   * Makes a database.
   *
   * @param contents what it begins with; it is empty where they are left out
   */
  open(settings?: Readonly<Record<string, unknown>>, contents?: Contents): Promise<TestDatabase>;
}

/** Whether contents are kept. The tool that changes the sources is to see each test run what makes them. */
const IS_KEPT = process.env.ASHLAR_MUTANTS === undefined;

const runFolder = process.env[RUN_FOLDER]!;
const databases = new PostgresDatabases(runFolder);

/** SQLite, on a file of its own. */
export const sqlite: TestEngine = {
  name: "sqlite",
  async open(settings = {}, contents) {
    const folder = await mkdtemp(join(tmpdir(), "ashlar-database-"));
    const path = join(folder, "test.sqlite");
    const own = testDatabase({ driver: "sqlite", path, ...settings }, () => rm(folder, { recursive: true }));
    if (contents !== undefined && IS_KEPT) await copyFile(await fileWith(contents), path);
    else await contents?.fill(own.database);
    return own;
  },
};

/** A file of SQLite with these contents, to be copied. */
async function fileWith({ name, fill }: Contents): Promise<string> {
  const file = join(runFolder, `${name}.sqlite`);
  if (existsSync(file)) return file;
  // Of several processes that come here at once, each fills a file of its own; the last one's stays.
  const path = `${file}.${process.pid}`;
  const database = new Database({ default: "main", main: { driver: "sqlite", path } }, runFolder);
  await fill(database);
  await database.close();
  await rename(path, file);
  return file;
}

/** PostgreSQL, for what is true of it alone. */
export const postgres: TestEngine = {
  name: "postgres",
  async open(settings = {}, contents) {
    const taken = await databases.take(contents?.name ?? "nothing");
    const own = testDatabase({ driver: "postgres", ...POSTGRES, database: taken.name, ...settings }, taken.giveBack);
    if (contents === undefined || taken.isFilled) return own;
    await contents.fill(own.database);
    if (IS_KEPT) await taken.keep();
    return own;
  },
};

function testDatabase(configuration: TestConnection, remove: () => Promise<void>): TestDatabase {
  const database = new Database({ default: "main", main: configuration }, tmpdir());
  const drop = async (): Promise<void> => {
    await database.close();
    await remove();
  };
  return { database, configuration, drop };
}

/**
 * Empties the database of an application that was made for tests, as `resetDatabase` does. On PostgreSQL that has every
 * table and index written to the disk again, which takes longer than most tests; deleting a few rows does not.
 */
export async function emptyTables(application: Application): Promise<void> {
  const database = application.container.make("database");
  if (database.dialect.name !== "postgres") return await resetDatabase(application);
  await sql.raw(DELETE_ALL).execute(database.kysely);
}

/** What refers to a table was made after it. */
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
 * Defines a suite that needs PostgreSQL. Where the server is missing it is skipped, by name; with `CI` set it runs all
 * the same, and fails.
 */
export async function onPostgres(title: string, define: () => void): Promise<void> {
  const { host, port } = POSTGRES;
  const reachable = await administer("select 1").then(
    () => true,
    () => false,
  );
  const missing = !reachable && process.env.CI === undefined;
  describe.skipIf(missing)(missing ? `${title} (no server at ${host}:${port})` : title, define);
}

/** Defines a suite once for each kind of database, as {@link onPostgres} does for PostgreSQL. */
export async function onEachDatabase(title: string, define: (engine: TestEngine) => void): Promise<void> {
  describe(`${title} on SQLite`, () => define(sqlite));
  await onPostgres(`${title} on PostgreSQL`, () => define(postgres));
}
