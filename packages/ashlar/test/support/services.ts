import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { describe } from "vitest";
import { Database, type DialectName } from "../../src/database/index.ts";

/** A database of a test's own, and the way to be rid of it. */
export interface TestDatabase {
  readonly database: Database;
  /** What the database was opened with, for a second connection to the same. */
  readonly configuration: Readonly<Record<string, unknown>>;
  /** Closes and removes the database. */
  drop(): Promise<void>;
}

/** A kind of database the same suite runs on. */
export interface TestEngine {
  readonly name: DialectName;
  /** Makes an empty database. */
  open(settings?: Readonly<Record<string, unknown>>): Promise<TestDatabase>;
}

/** The server that tests make their databases on; elsewhere than here by the variables that `psql` knows too. */
const POSTGRES = {
  host: process.env.PGHOST ?? "127.0.0.1",
  port: Number(process.env.PGPORT ?? 5432),
  user: process.env.PGUSER ?? "postgres",
  database: process.env.PGDATABASE ?? "test",
  ...(process.env.PGPASSWORD !== undefined && { password: process.env.PGPASSWORD }),
};

/** SQLite, on a file of its own. */
export const sqlite: TestEngine = {
  name: "sqlite",
  async open(settings = {}) {
    const folder = await mkdtemp(join(tmpdir(), "ashlar-database-"));
    const configuration = { driver: "sqlite", path: join(folder, "test.sqlite"), ...settings };
    return testDatabase(configuration, () => rm(folder, { recursive: true }));
  },
};

/** PostgreSQL, for what is true of it alone. */
export const postgres: TestEngine = {
  name: "postgres",
  async open(settings = {}) {
    const name = `ashlar_test_${randomBytes(6).toString("hex")}`;
    await administer(`create database ${name}`);
    const configuration = { driver: "postgres", ...POSTGRES, database: name, ...settings };
    return testDatabase(configuration, () => administer(`drop database ${name} with (force)`));
  },
};

function testDatabase(configuration: Readonly<Record<string, unknown>>, remove: () => Promise<void>): TestDatabase {
  const database = new Database({ default: "main", main: configuration }, tmpdir());
  const drop = async (): Promise<void> => {
    await database.close();
    await remove();
  };
  return { database, configuration, drop };
}

async function administer(statement: string): Promise<void> {
  const client = new pg.Client(POSTGRES);
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

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
