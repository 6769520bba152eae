import { resolve } from "node:path";
import {
  ConfigurationError,
  isPlainObject,
  nearest,
  settingsOf,
  suggestion,
  unknownSetting,
} from "../support/index.ts";

/** A connection to a SQLite file. */
export interface SqliteConnectionConfiguration {
  readonly driver: "sqlite";
  /**
   * The file's absolute path, or `:memory:`. A file that is made can be read by its owner only.
   *
   * Security: a file that is there keeps its mode. To close one that others can read: `chmod 600` it, its `-wal` and its
   * `-shm`.
   */
  readonly path: string;
  /**
   * How long a statement waits for another process to unlock the file, in milliseconds; `E_OVERLOADED` (503) follows.
   * Requests that don't need the file to be free are answered meanwhile.
   */
  readonly busyTimeoutMs: number;
  /** How long a write or a transaction waits for its turn after the transactions of this process, in milliseconds. */
  readonly acquireTimeoutMs: number;
}

/** A connection to a PostgreSQL server. */
export interface PostgresConnectionConfiguration {
  readonly driver: "postgres";
  /** The server and the database as one address; the other parts are not set where this is. */
  readonly url: string | null;
  readonly host: string;
  readonly port: number;
  readonly user: string | null;
  readonly password: string | null;
  readonly database: string | null;
  /** Whether to encrypt; the server's certificate is verified then. */
  readonly ssl: boolean;
  /** How many connections there are at most. */
  readonly poolSize: number;
  /** When the server breaks a statement off, in milliseconds; `null` for never. */
  readonly statementTimeoutMs: number | null;
  /** How long a query waits for a free connection, in milliseconds. */
  readonly acquireTimeoutMs: number;
}

/** One connection of `DATABASES`, checked and complete. */
export type ConnectionConfiguration = SqliteConnectionConfiguration | PostgresConnectionConfiguration;

/** `DATABASES` of `config/database.ts`, checked and complete. */
export interface DatabaseConfiguration {
  /** The name of the connection that is used where none is named. */
  readonly default: string;
  readonly connections: Readonly<Record<string, ConnectionConfiguration>>;
}

const FILE = "config/database.ts: DATABASES";
const SETTINGS = ["default"];
const DRIVERS = ["sqlite", "postgres"] as const;
const SQLITE_KEYS = ["driver", "path", "busyTimeoutMs", "acquireTimeoutMs"];
const POSTGRES_ADDRESS_KEYS = ["host", "port", "user", "password", "database", "ssl"];
const POSTGRES_KEYS = ["driver", "url", ...POSTGRES_ADDRESS_KEYS, "poolSize", "statementTimeoutMs", "acquireTimeoutMs"];

/**
 * Checks `DATABASES`, fills in what is left out, and freezes it. `null`, `undefined` and `""` count as left out.
 *
 * @param databases what `config/database.ts` exports as `DATABASES`
 * @param root the application's root, which a relative path of a SQLite file begins at
 * @throws `E_INVALID_CONFIGURATION`
 */
export function databaseConfiguration(databases: unknown, root: string): DatabaseConfiguration {
  if (!isPlainObject(databases)) {
    throw new ConfigurationError(
      FILE,
      "is missing or no object.",
      'Write: { default: "sqlite", sqlite: { driver: "sqlite", path: "database/app.sqlite" } }.',
    );
  }
  const { default: chosen, ...entries } = databases;
  const names = Object.keys(entries);
  if (typeof chosen !== "string" || !names.includes(chosen)) {
    const problem = typeof chosen === "string" ? `names no connection: "${chosen}".` : "is not set.";
    throw new ConfigurationError(
      `${FILE}.default`,
      problem,
      suggestion(typeof chosen === "string" ? chosen : "", names) || "Add a connection.",
    );
  }
  const connections = Object.fromEntries(
    names.map((name) => [name, connectionConfiguration(name, entries[name], root)]),
  );
  return Object.freeze({ default: chosen, connections: Object.freeze(connections) });
}

function connectionConfiguration(name: string, value: unknown, root: string): ConnectionConfiguration {
  const where = `${FILE}.${name}`;
  if (!isPlainObject(value)) {
    // What is not a connection was meant for the one setting beside them.
    if (nearest(name, SETTINGS).length > 0) throw unknownSetting(where, name, SETTINGS);
    throw new ConfigurationError(where, "is not an object.", 'Write: { driver: "sqlite", … }.');
  }
  const driver = DRIVERS.find((known) => known === value.driver);
  if (driver === undefined) {
    const problem = typeof value.driver === "string" ? `is not a known driver: "${value.driver}".` : "is not set.";
    throw new ConfigurationError(`${where}.driver`, problem, suggestion(String(value.driver), DRIVERS));
  }
  const read = reader(where, value, driver === "sqlite" ? SQLITE_KEYS : POSTGRES_KEYS);
  return Object.freeze(driver === "sqlite" ? sqlite(where, read, root) : postgres(where, read));
}

function sqlite(where: string, read: Reader, root: string): SqliteConnectionConfiguration {
  const path = read.text("path");
  if (path === null) throw new ConfigurationError(`${where}.path`, "is not set.", 'Set it to "database/app.sqlite".');
  return {
    driver: "sqlite",
    path: path === ":memory:" ? path : resolve(root, path),
    busyTimeoutMs: read.integer("busyTimeoutMs", 0, 600_000) ?? 5000,
    acquireTimeoutMs: read.integer("acquireTimeoutMs", 1, 600_000) ?? 10_000,
  };
}

function postgres(where: string, read: Reader): PostgresConnectionConfiguration {
  const url = read.text("url");
  if (url !== null) checkPostgresUrl(`${where}.url`, url);
  const surplus = url === null ? undefined : POSTGRES_ADDRESS_KEYS.find((key) => read.has(key));
  if (surplus !== undefined) {
    throw new ConfigurationError(`${where}.${surplus}`, "is set together with url.", "Leave out one of the two.");
  }
  return {
    driver: "postgres",
    url,
    host: read.text("host") ?? "127.0.0.1",
    port: read.integer("port", 1, 65_535) ?? 5432,
    user: read.text("user"),
    password: read.text("password"),
    database: read.text("database"),
    ssl: read.boolean("ssl") ?? false,
    poolSize: read.integer("poolSize", 1, 10_000) ?? 10,
    statementTimeoutMs: read.integer("statementTimeoutMs", 1, 86_400_000),
    acquireTimeoutMs: read.integer("acquireTimeoutMs", 1, 600_000) ?? 10_000,
  };
}

/** The address itself stays out of the message: it holds a password. */
function checkPostgresUrl(where: string, url: string): void {
  const protocol = URL.parse(url)?.protocol;
  if (protocol === "postgres:" || protocol === "postgresql:") return;
  throw new ConfigurationError(
    where,
    "is not the address of a PostgreSQL database.",
    "Write: postgres://user:password@host:5432/database.",
  );
}

interface Reader {
  has(key: string): boolean;
  text(key: string): string | null;
  boolean(key: string): boolean | null;
  /** A whole number in a range; text of digits counts, because environment variables are text. */
  integer(key: string, least: number, most: number): number | null;
}

function reader(where: string, values: Readonly<Record<string, unknown>>, known: readonly string[]): Reader {
  settingsOf(values, where, known);
  const has = (key: string): boolean => values[key] !== undefined && values[key] !== null && values[key] !== "";
  return {
    has,
    text(key) {
      const value = values[key];
      if (!has(key)) return null;
      if (typeof value === "string") return value;
      throw new ConfigurationError(`${where}.${key}`, "is not text.", "Put it in quotes.");
    },
    boolean(key) {
      const value = values[key];
      if (!has(key)) return null;
      if (value === true || value === "true") return true;
      if (value === false || value === "false") return false;
      throw new ConfigurationError(`${where}.${key}`, "is neither true nor false.", "Set it to true or false.");
    },
    integer(key, least, most) {
      const value = values[key];
      if (!has(key)) return null;
      const number = typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : value;
      if (Number.isSafeInteger(number) && (number as number) >= least && (number as number) <= most)
        return number as number;
      throw new ConfigurationError(
        `${where}.${key}`,
        `is not a whole number from ${least} to ${most}.`,
        "Correct it, or leave it out.",
      );
    },
  };
}
