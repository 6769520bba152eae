import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { endsTransaction, isEndOfSession, translateMariadbError, violatedIndex } from "./mariadb-errors.ts";

/** An error as `mysql2` reports it. */
const reported = (errno: number, sqlMessage: string, code = "ER_SOMETHING"): Error =>
  Object.assign(new Error(sqlMessage), { errno, code, sqlMessage, sqlState: "HY000", sql: "insert … hunter2" });

const translated = (errno: number, message: string) =>
  translateMariadbError(reported(errno, message), "MySQL", { table: "users" });

test.each([
  ["MariaDB", "Duplicate entry 'hunter2' for key 'users_email'"],
  ["MySQL", "Duplicate entry 'hunter2' for key 'users.users_email'"],
  ["a value that looks like the end of the message", "Duplicate entry 'x' for key 'y' for key 'users.users_email'"],
])("a duplicate value is reported with its index, as %s writes it", (_, message) => {
  expect(violatedIndex(reported(1062, message))).toBe("users_email");
  expect(translated(1062, message)).toMatchObject({
    code: "E_UNIQUE_VIOLATION",
    table: "users",
    constraint: "users_email",
  });
});

test.each([
  ["Column 'email' cannot be null", 1048],
  ["Field 'email' doesn't have a default value", 1364],
])("%s", (message, errno) => {
  expect(translated(errno, message)).toMatchObject({
    code: "E_NOT_NULL_VIOLATION",
    table: "users",
    columns: ["email"],
  });
});

test("a broken reference is reported with its table, columns and name", () => {
  const message =
    "Cannot add or update a child row: a foreign key constraint fails (`shop`.`notes`, CONSTRAINT `notes_ibfk_1` FOREIGN KEY (`tenant`, `row_id`) REFERENCES `rows` (`tenant`, `id`))";
  expect(translated(1452, message)).toMatchObject({
    code: "E_FOREIGN_KEY_VIOLATION",
    table: "notes",
    columns: ["tenant", "row_id"],
    constraint: "notes_ibfk_1",
  });
  expect(translated(1217, "Cannot delete or update a parent row")).toMatchObject({ code: "E_FOREIGN_KEY_VIOLATION" });
});

test.each([
  [1406, "Data too long for column 'name' at row 1", "name"],
  [1366, "Incorrect integer value: 'hunter2' for column `shop`.`users`.`age` at row 1", "age"],
  [1292, "Incorrect datetime value: 'for column 'x' at row 1' for column 'at' at row 2", "at"],
  [1292, "Truncated incorrect DOUBLE value: 'hunter2'", ""],
])("%i: a value that doesn't fit is input, with its column", (errno, message, column) => {
  const error = translated(errno, message);
  expect(error).toMatchObject({ code: "E_INVALID_INPUT", status: 422 });
  expect(Object.keys((error as unknown as { errors: object }).errors)).toEqual([column]);
});

test("an unknown column is reported with its own name and its table's", () => {
  expect(translated(1054, "Unknown column 't.colour' in 'SET'")).toMatchObject({ names: ["t", "colour"] });
});

describe("failures have names", () => {
  test.each([
    ["a deadlock", 1213, "E_DATABASE_CONFLICT"],
    ["a row that has changed since the transaction began", 1020, "E_DATABASE_CONFLICT"],
    ["a lock that took too long", 1205, "E_DATABASE_BUSY"],
    ["a lock that isn't waited for", 3572, "E_DATABASE_BUSY"],
    ["a statement that took too long, on MariaDB", 1969, "E_DATABASE_UNAVAILABLE"],
    ["a statement that took too long, on MySQL", 3024, "E_DATABASE_UNAVAILABLE"],
    ["no connection left", 1040, "E_OVERLOADED"],
    ["a full disk", 1021, "E_DATABASE_FULL"],
    ["a disk on which the server waits for space", 20, "E_DATABASE_FULL"],
    ["a host that is blocked", 1129, "E_DATABASE_UNAVAILABLE"],
    ["a binary log that can't be written", 1598, "E_DATABASE_UNAVAILABLE"],
    ["a full table", 1114, "E_DATABASE_FULL"],
    ["a table that is damaged", 1194, "E_DATABASE_DAMAGED"],
    ["a server that only reads", 1836, "E_DATABASE_READ_ONLY"],
    ["a node that isn't part of its cluster", 1047, "E_DATABASE_UNAVAILABLE"],
    ["a server that stops", 1053, "E_DATABASE_UNAVAILABLE"],
    ["a write in a transaction that only reads", 1792, "E_DATABASE"],
    ["an error in the SQL", 1064, "E_DATABASE"],
  ])("%s", (_, errno, code) => {
    expect(translated(errno, "a message")).toMatchObject({ code, databaseCode: String(errno) });
  });

  test.each([
    ["--read-only", "E_DATABASE_READ_ONLY"],
    ["--super-read-only", "E_DATABASE_READ_ONLY"],
    ["--secure-file-priv", "E_DATABASE"],
  ])("a server with %s refuses a statement: %s", (option, code) => {
    const message = `The server is running with the ${option} option so it cannot execute this statement`;
    expect(translated(1290, message)).toMatchObject({ code });
    expect(isEndOfSession(reported(1290, message))).toBe(code === "E_DATABASE_READ_ONLY");
  });

  test.each([
    [1030, 'Got error 28 "No space left on device" from storage engine InnoDB', "E_DATABASE_FULL"],
    [1030, "Got error 168 from storage engine", "E_DATABASE"],
    [3, `Error writing file 'binlog' (errno: 28 "No space left on device")`, "E_DATABASE_FULL"],
    [3, `Error writing file 'binlog' (Errcode: 28 "No space left on device")`, "E_DATABASE_FULL"],
    [3, `Error writing file 'binlog' (errno: 5 "Input/output error")`, "E_DATABASE"],
    [1026, `Error writing file 'binlog' (errno: 28 "No space left on device")`, "E_DATABASE_FULL"],
    [1026, `Error writing file 'binlog-28' (errno: 5 "Input/output error")`, "E_DATABASE"],
  ])("an error with the system's number in its message, %i: %s", (errno, message, code) => {
    expect(translated(errno, message)).toMatchObject({ code });
  });

  test.each([
    ["a deadlock", 1213, true],
    ["a changed row", 1020, true],
    ["a lock that took too long", 1205, false],
    ["a duplicate value", 1062, false],
  ])("after %s, the transaction has ended: %s", (_, errno, expected) => {
    expect(endsTransaction(reported(errno, "a message"))).toBe(expected);
  });

  test.each([
    ["that is stopping", reported(1053, "a message"), true],
    ["that isn't part of its cluster", reported(1047, "a message"), true],
    ["that has become read-only", reported(1836, "a message"), true],
    ["that is gone", Object.assign(new Error("gone"), { fatal: true }), true],
    ["whose connection was reset", Object.assign(new Error("reset"), { code: "ECONNRESET" }), true],
    ["that reports a deadlock", reported(1213, "a message"), false],
  ])("the connection to a server %s is abandoned: %s", (_, error, expected) => {
    expect(isEndOfSession(error)).toBe(expected);
  });
});

test("no part of an error contains a value, or the statement's text", () => {
  for (const [errno, message] of [
    [1062, "Duplicate entry 'hunter2' for key 'users.email'"],
    [1366, "Incorrect integer value: 'hunter2' for column 'age' at row 1"],
    [1690, "BIGINT value is out of range in '(hunter2 + 1)'"],
    [1105, "hunter2"],
  ] as const) {
    const shown = inspect(translated(errno, message), { depth: 20, showHidden: true });
    expect(shown).not.toContain("hunter2");
  }
});

test("MariaDB's own errors have its names, not those that the driver knows from MySQL", () => {
  const error = reported(4161, "Unknown data type: 'jsonb'", "ER_INSTALL_COMPONENT_SET_UNUSED_VALUE");
  expect(translateMariadbError(error, "MariaDB").message).toBe("MariaDB: Unknown data type: 'jsonb' (4161).");
  const other = reported(4162, "hunter2", "ER_SOMETHING_OF_MYSQL");
  expect(translateMariadbError(other, "MariaDB").message).toBe("MariaDB: an error (4162).");
  expect(translateMariadbError(other, "MySQL").message).toBe("MySQL: ER_SOMETHING_OF_MYSQL (4162).");
});

test("a connection error says what to do, with its location in the configuration", () => {
  const where = "config/database.ts: DATABASES.main";
  const of = (error: Error) => translateMariadbError(error, "MariaDB", { where });
  expect(
    of(Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:3306"), { code: "ECONNREFUSED", fatal: true })),
  ).toMatchObject({
    code: "E_DATABASE_UNAVAILABLE",
    databaseCode: "ECONNREFUSED",
    message: `MariaDB: connect ECONNREFUSED 127.0.0.1:3306. Start the server, or correct its address in ${where}.`,
  });
  expect(of(reported(1045, "Access denied for user 'u'@'h' (using password: YES)")).message).toContain(
    `Correct the user or the password in ${where}.`,
  );
  expect(of(reported(1049, "Unknown database 'shop'")).message).toContain(`correct its name in ${where}.`);
});
