// The databases that grow: how to create and fill each, query its plans, and drop it.
import { readFileSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { Database, mariadb, postgres, type Row, sql, sqlite } from "ashlar/database";
import { FOLDER } from "../fixtures.ts";

/** A connection's entry in `DATABASES`, without functions, so that a server can get it as an environment variable. */
export type ConnectionSettings = { readonly driver: string } & Readonly<Record<string, string | number>>;

/** A kind of database. Its expressions are SQL. */
export interface Engine {
  readonly name: string;
  readonly driver: "sqlite" | "postgres" | "mariadb";
  /** Returns the server's version. */
  readonly version: string;
  /** A table whose column `n` holds all numbers of a range. */
  numbers(from: number, to: number): string;
  /** Random text, different in each row, for the last 40 characters of a digest. */
  readonly randomText: string;
  /** A time the given number of days from now. */
  time(days: number): string;
  /** Settings that make a connection fast at inserting into large indexes. */
  readonly prepare: readonly string[];
  /** The maintenance after a database is filled, which its server would soon do by itself. */
  readonly settle: readonly string[];
  /** The size of the current database, in bytes. */
  readonly bytes: string;
  /** The plan of a statement with a value for its parameter. */
  plan(database: Database, statement: string, value: string): Promise<string>;
  /** The threads or processes that work for a database; none if it runs inside the application's server. */
  backends(database: string): Promise<readonly number[]>;
}

const PREFIX = "ashlar_growth_";

const postgresUrl = (name: string): string => {
  const { PGHOST = "127.0.0.1", PGPORT = "5432", PGUSER = "postgres", PGPASSWORD = "" } = process.env;
  return `postgres://${PGUSER}:${PGPASSWORD}@${PGHOST}:${PGPORT}/${name}`;
};
const mariadbUrl = (name: string): string => {
  const { MYSQL_HOST = "127.0.0.1", MYSQL_TCP_PORT = "3306", MYSQL_PWD = "" } = process.env;
  return `mariadb://root:${MYSQL_PWD}@${MYSQL_HOST}:${MYSQL_TCP_PORT}/${name}`;
};

const single = (source: ConstructorParameters<typeof Database>[0]): Database =>
  new Database({ default: "main", main: source }, import.meta.dirname);

/** Runs a function on the server's own database. */
async function administered<Result>({ driver }: Pick<Engine, "driver">, work: (database: Database) => Promise<Result>) {
  const isPostgres = driver === "postgres";
  const database = single(
    isPostgres ? postgres({ url: postgresUrl("postgres") }) : mariadb({ url: mariadbUrl("mysql") }),
  );
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

async function rows(database: Database, statement: string): Promise<readonly Row[]> {
  return (await sql.raw<Row>(statement).execute(database.kysely)).rows;
}

const quotedValue = (value: string): string => `'${value.replaceAll("'", "''")}'`;

const SQLITE: Omit<Engine, "version"> = {
  name: "SQLite",
  driver: "sqlite",
  numbers: (from, to) =>
    `(with recursive numbers(n) as (select ${from} union all select n + 1 from numbers where n < ${to}) select n from numbers) as numbers`,
  randomText: "hex(randomblob(20))",
  time: (days) => `strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '${days} days')`,
  bytes: "(select page_count * page_size from pragma_page_count(), pragma_page_size())",
  prepare: ["pragma cache_size = -400000"],
  settle: ["pragma wal_checkpoint(truncate)"],
  async plan(database, statement, value) {
    const filled = statement.replace("?", quotedValue(value));
    return (await rows(database, `explain query plan ${filled}`)).map(({ detail }) => String(detail)).join("\n");
  },
  backends: async () => [],
};

const POSTGRES: Omit<Engine, "version"> = {
  name: "PostgreSQL",
  driver: "postgres",
  numbers: (from, to) => `generate_series(${from}, ${to}) as numbers(n)`,
  randomText: "left(md5(random()::text) || md5(random()::text), 40)",
  time: (days) => `now() + interval '${days} days'`,
  bytes: "pg_database_size(current_database())",
  prepare: [],
  settle: ["vacuum analyze users", "vacuum analyze logins"],
  async plan(database, statement, value) {
    const filled = statement.replace("$1", quotedValue(value));
    return (await rows(database, `explain (costs off) ${filled}`)).map((row) => String(row["QUERY PLAN"])).join("\n");
  },
  backends: (name) =>
    administered(POSTGRES, async (database) => {
      const found = await rows(database, `select pid from pg_stat_activity where datname = '${name}'`);
      return found.map(({ pid }) => Number(pid));
    }),
};

const MARIADB: Omit<Engine, "version"> = {
  name: "MariaDB",
  driver: "mariadb",
  numbers: (from, to) => `(select seq as n from seq_${from}_to_${to}) as numbers`,
  randomText: "sha1(rand())",
  time: (days) => `utc_timestamp(3) + interval ${days} day`,
  bytes: "(select sum(data_length + index_length) from information_schema.tables where table_schema = database())",
  // The rows are all different, and are written to indexes in order.
  prepare: ["set unique_checks = 0", "set foreign_key_checks = 0"],
  settle: ["analyze table users", "analyze table logins"],
  async plan(database, statement, value) {
    const filled = statement.replace("?", quotedValue(value));
    const lines = await rows(database, `explain ${filled}`);
    return lines
      .map((line) => `${line.table}: ${line.type}, key ${line.key}, rows ${line.rows}, ${line.Extra || "-"}`)
      .join("\n");
  },
  backends: (name) =>
    administered(MARIADB, async (database) => {
      const found = await rows(database, `select tid from information_schema.processlist where db = '${name}'`);
      return found.map((row) => Number(row.tid ?? row.TID));
    }),
};

/** The engines by their names in `DATABASES`. */
export const ENGINES: Readonly<Record<string, Omit<Engine, "version">>> = {
  sqlite: SQLITE,
  postgres: POSTGRES,
  mariadb: MARIADB,
};

/** Asks the server, or SQLite itself, for its version. */
export async function withVersion(engine: Omit<Engine, "version">): Promise<Engine> {
  const version = async (database: Database, expression: string): Promise<string> =>
    /[\d.]+\d/.exec(String((await rows(database, `select ${expression} as version`))[0]!.version))![0];
  if (engine.driver !== "sqlite") {
    return { ...engine, version: await administered(engine, (database) => version(database, "version()")) };
  }
  const database = single(sqlite({ path: ":memory:" }));
  try {
    return { ...engine, version: await version(database, "sqlite_version()") };
  } finally {
    await database.close();
  }
}

/** A database of the benchmark. */
export interface Grown {
  readonly engine: Engine;
  readonly name: string;
  /** The number of its users, and of its logins. */
  readonly size: number;
  readonly settings: ConnectionSettings;
}

/** Creates an empty database. */
export async function createDatabase(engine: Engine, size: number): Promise<Grown> {
  const name = `${PREFIX}${size}`;
  await dropDatabase(engine, size);
  if (engine.driver === "sqlite") {
    await mkdir(FOLDER, { recursive: true });
    return { engine, name, size, settings: { driver: "sqlite", path: fileOf(size) } };
  }
  await administered(engine, (database) => rows(database, `create database ${name}`));
  const url = engine.driver === "postgres" ? postgresUrl(name) : mariadbUrl(name);
  return { engine, name, size, settings: { driver: engine.driver, url } };
}

/** Drops a database of the benchmark, including one left over from an earlier run. */
export async function dropDatabase(engine: Pick<Engine, "driver">, size: number): Promise<void> {
  const name = `${PREFIX}${size}`;
  if (engine.driver === "sqlite") {
    for (const end of ["", "-wal", "-shm", "-migrations"]) await rm(`${fileOf(size)}${end}`, { force: true });
    return;
  }
  const force = engine.driver === "postgres" ? " with (force)" : "";
  await administered(engine, (database) => rows(database, `drop database if exists ${name}${force}`));
}

const fileOf = (size: number): string => join(FOLDER, `${PREFIX}${size}.sqlite`);

/** Opens a database of the benchmark for statements that may take a long time. */
export async function opened<Result>(
  { settings }: Grown,
  work: (database: Database) => Promise<Result>,
): Promise<Result> {
  const limits = settings.driver === "sqlite" ? {} : { statementTimeoutMs: 0 };
  const database = single({ ...settings, ...limits } as never);
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

/** The bytes that a database takes on the disk. */
export function bytesOf(grown: Grown): Promise<number> {
  return opened(grown, async (database) => {
    return Number((await rows(database, `select ${grown.engine.bytes} as bytes`))[0]!.bytes);
  });
}

/** The CPU time that a database's server has used for it so far, in microseconds; 0 if it runs inside the application. */
export async function databaseCpuTime({ engine, name }: Grown): Promise<number> {
  const backends = await engine.backends(name);
  const nanoseconds = backends.map((id) => Number(readFileSync(`/proc/${id}/schedstat`, "utf8").split(" ")[0]));
  return nanoseconds.reduce((sum, one) => sum + one, 0) / 1000;
}
