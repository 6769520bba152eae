import { DatabaseError } from "../errors.ts";

/** What a connection needs to know about its server. */
export interface MariadbServer {
  /** For messages. */
  readonly name: "MariaDB" | "MySQL";
  readonly isMariadb: boolean;
  /** Whether inserts and deletions can return their rows. */
  readonly hasReturning: boolean;
  /** A collation in which text compares byte by byte, trailing spaces included. */
  readonly collation: string;
}

export const MARIADB: MariadbServer = {
  name: "MariaDB",
  isMariadb: true,
  hasReturning: true,
  collation: "utf8mb4_nopad_bin",
};

export const MYSQL: MariadbServer = {
  name: "MySQL",
  isMariadb: false,
  hasReturning: false,
  collation: "utf8mb4_0900_bin",
};

/** The oldest versions that the tests and the manual cover. */
const OLDEST = { MariaDB: [10, 11], MySQL: [8, 4] } as const;

/**
 * Determines the server from the result of `select version()`: `10.11.19-MariaDB-0+deb12u1`, `8.4.3`.
 *
 * @throws `E_DATABASE` if it is too old
 */
export function serverOf(version: string): MariadbServer {
  const server = /mariadb/i.test(version) ? MARIADB : MYSQL;
  // Some proxies put 5.5.5 before MariaDB's version, for old clients.
  const numbers = /^(?:5\.5\.5-)?(\d+)\.(\d+)/.exec(version);
  const [major, minor] = [Number(numbers?.[1]), Number(numbers?.[2])];
  const [oldestMajor, oldestMinor] = OLDEST[server.name];
  // Written so that NaN (an unreadable version) counts as old.
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return server;
  const needed = `The framework needs ${server.name} ${oldestMajor}.${oldestMinor} or newer`;
  throw new DatabaseError(`${needed}, and this server is ${version}.`, null);
}

/** A session's limits, in milliseconds; `null` for no limit. */
export interface SessionLimits {
  readonly statementTimeoutMs: number | null;
}

/** How long a statement without a limit waits for a lock on a table or row, in seconds: a day. */
const DAY_S = 86_400;

/**
 * The modes that give SQL the same meaning as on SQLite and PostgreSQL: a value that doesn't fit is an error, `"x"` is
 * a name, `||` joins text, and the key 0 is stored as 0. Security: whatever the server's default is, a backslash
 * escapes the next character in a literal, because Kysely writes literals that way.
 */
const MODES = [
  "STRICT_ALL_TABLES",
  "NO_ZERO_DATE",
  "NO_ZERO_IN_DATE",
  "ERROR_FOR_DIVISION_BY_ZERO",
  "NO_ENGINE_SUBSTITUTION",
  "NO_AUTO_VALUE_ON_ZERO",
  "ANSI_QUOTES",
  "PIPES_AS_CONCAT",
];

/**
 * The most that the servers allow. Security: the servers only warn about text that they convert, and may be configured
 * to report no warnings.
 */
const MAX_WARNINGS = 65_535;

/** The most rows that a SELECT may return. This is the servers' default, and the largest value of the variable. */
const ALL_ROWS = "18446744073709551615";

/**
 * Makes changes safe, whatever the server's defaults are. Security: with other values, an acknowledged change might
 * never be committed, a row might refer to a missing one, and a SELECT might find only some of the rows.
 */
const SAFE_CHANGES = [
  "autocommit = 1",
  "completion_type = 'NO_CHAIN'",
  "default_storage_engine = InnoDB",
  "foreign_key_checks = 1",
  "unique_checks = 1",
  `sql_select_limit = ${ALL_ROWS}`,
  "sql_auto_is_null = 0",
  "sql_safe_updates = 0",
];

/** The statements that begin a session. They make committed data visible at once, times UTC, and messages English. */
export function sessionStatements(server: MariadbServer, limits: SessionLimits): string[] {
  // Only MariaDB has this mode, in which all assignments of an UPDATE see the row as it was before.
  const modes = server.isMariadb ? [...MODES, "SIMULTANEOUS_ASSIGNMENT"] : MODES;
  const variables = [
    `max_error_count = ${MAX_WARNINGS}`,
    ...SAFE_CHANGES,
    ...(server.isMariadb ? ["check_constraint_checks = 1"] : []),
  ];
  return [
    `set names utf8mb4 collate ${server.collation}`,
    `set session time_zone = '+00:00', session lc_messages = 'en_US', session sql_mode = '${modes.join()}'`,
    `set ${variables.map((variable) => `session ${variable}`).join(", ")}`,
    "set session transaction isolation level read committed",
    limitStatement(server, limits),
    // By default, MySQL may report a table's next key with a delay of up to a day.
    ...(server.isMariadb ? [] : ["set session information_schema_stats_expiry = 0"]),
  ];
}

/**
 * The statement that sets the server's own limits. MySQL has time limits only for SELECTs; other statements are limited
 * by its lock timeouts and by the client's deadline.
 */
export function limitStatement(server: MariadbServer, { statementTimeoutMs }: SessionLimits): string {
  const seconds = statementTimeoutMs === null ? DAY_S : Math.ceil(statementTimeoutMs / 1000);
  const limit = server.isMariadb
    ? `max_statement_time = ${(statementTimeoutMs ?? 0) / 1000}`
    : `max_execution_time = ${statementTimeoutMs ?? 0}`;
  return `set session ${limit}, session lock_wait_timeout = ${seconds}, session innodb_lock_wait_timeout = ${seconds}`;
}
