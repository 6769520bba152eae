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

const POSTGRES = { host: "127.0.0.1", port: 5432, user: "postgres", database: "test" };

const sqlite: TestEngine = {
  name: "sqlite",
  async open(settings = {}) {
    const folder = await mkdtemp(join(tmpdir(), "ashlar-database-"));
    const configuration = { driver: "sqlite", path: join(folder, "test.sqlite"), ...settings };
    return testDatabase(configuration, () => rm(folder, { recursive: true }));
  },
};

const postgres: TestEngine = {
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

let reachable: boolean | null = null;

/** Tells whether a PostgreSQL server is there for tests. */
export async function isPostgresReachable(): Promise<boolean> {
  reachable ??= await administer("select 1").then(
    () => true,
    () => false,
  );
  return reachable;
}

/**
 * Defines a suite once for each kind of database. Where the server is missing the suite is skipped, by name; with `CI`
 * set it runs all the same, and fails.
 */
export async function onEachDatabase(title: string, define: (engine: TestEngine) => void): Promise<void> {
  describe(`${title} on SQLite`, () => define(sqlite));
  const missing = !(await isPostgresReachable()) && process.env.CI === undefined;
  describe.skipIf(missing)(`${title} on PostgreSQL${missing ? " (no server at 127.0.0.1:5432)" : ""}`, () => {
    define(postgres);
  });
}
