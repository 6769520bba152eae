import { expect, test } from "vitest";
import { MARIADB, MYSQL, serverOf, sessionStatements } from "./mariadb-server.ts";

test.each([
  ["10.11.19-MariaDB-0+deb12u1", MARIADB],
  ["5.5.5-10.11.6-MariaDB-log", MARIADB],
  ["11.8.2-MariaDB", MARIADB],
  ["8.4.3", MYSQL],
  ["9.5.0-commercial", MYSQL],
])("%s is known", (version, server) => {
  expect(serverOf(version)).toBe(server);
});

test.each(["10.10.7-MariaDB", "5.5.5-10.6.1-MariaDB", "8.0.43", "5.7.44-log", "unknown"])(
  "%s is too old",
  (version) => {
    expect(() => serverOf(version)).toThrow(`or newer, and this server is ${version}.`);
  },
);

test("a session on MySQL has the same rules as one on MariaDB, by MySQL's names", () => {
  expect(sessionStatements(MYSQL, { statementTimeoutMs: 1500 })).toEqual([
    "set names utf8mb4 collate utf8mb4_0900_bin",
    "set session time_zone = '+00:00', session lc_messages = 'en_US', session sql_mode = 'STRICT_ALL_TABLES,NO_ZERO_DATE," +
      "NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION,NO_AUTO_VALUE_ON_ZERO,ANSI_QUOTES,PIPES_AS_CONCAT'",
    "set session max_error_count = 65535, session autocommit = 1, session completion_type = 'NO_CHAIN', " +
      "session default_storage_engine = InnoDB, session foreign_key_checks = 1, session unique_checks = 1, " +
      "session sql_select_limit = 18446744073709551615, session sql_auto_is_null = 0, session sql_safe_updates = 0",
    "set session transaction isolation level read committed",
    "set session max_execution_time = 1500, session lock_wait_timeout = 2, session innodb_lock_wait_timeout = 2",
    "set session information_schema_stats_expiry = 0",
  ]);
});

test("without a limit, statements of MySQL wait for locks for a day", () => {
  expect(sessionStatements(MYSQL, { statementTimeoutMs: null })).toContain(
    "set session max_execution_time = 0, session lock_wait_timeout = 86400, session innodb_lock_wait_timeout = 86400",
  );
});
