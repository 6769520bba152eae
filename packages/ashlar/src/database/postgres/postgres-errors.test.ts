import { expect, test } from "vitest";
import { AshlarError } from "../../support/index.ts";
import { MIGRATE, UnknownColumnError } from "../errors.ts";
import { afterFailure, isStatementError, translatePostgresError } from "./postgres-errors.ts";

const serverError = (code: string, members: object = {}): Error =>
  Object.assign(new Error("duplicate key value violates unique constraint"), { code, severity: "ERROR", ...members });

test.each([
  ["Key (email)=(ada@example.com) already exists.", ["email"]],
  ["Key (tenant, email)=(1, a)=(b) already exists.", ["tenant", "email"]],
  ['Key ("Mixed Case", email)=(1, 2) already exists.', []],
  ['Key ("Email")=(1) already exists.', ["Email"]],
  ["Key (lower(email::text))=(ada@example.com) already exists.", []],
  ["Schlüssel »(email)=(ada@example.com)« existiert bereits.", ["email"]],
  ['Key (a"b")=(1) already exists.', []],
  ['Key ("a"b)=(1) already exists.', []],
  ["Conflict", []],
  ["", []],
  [undefined, []],
])("columns in %j", (detail, columns) => {
  const cause = serverError("23505", { detail, table: "users", constraint: "users_email_key" });
  const error = translatePostgresError(cause);
  expect(error).toMatchObject({
    code: "E_UNIQUE_VIOLATION",
    table: "users",
    constraint: "users_email_key",
    columns,
    cause,
  });
  expect(cause).not.toHaveProperty("detail");
});

test("a value in the server's message is not kept anywhere", () => {
  const error = translatePostgresError(
    Object.assign(serverError("22P02"), { message: 'invalid input: "hunter2"' }),
  ) as Error;
  expect(error).toMatchObject({ code: "E_INVALID_INPUT", status: 422 });
  expect(`${error.stack}${JSON.stringify(error)}`).not.toContain("hunter2");
  const division = Object.assign(serverError("22012"), { message: 'division by zero in "hunter2"' });
  const failure = translatePostgresError(division) as Error;
  expect(failure).toMatchObject({ code: "E_DATABASE", databaseCode: "22012" });
  expect(`${failure.stack}${(failure.cause as Error).stack}`).not.toContain("hunter2");
});

test("an unreachable server is E_DATABASE_UNAVAILABLE with the system's code", () => {
  const refused = Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:1"), { code: "ECONNREFUSED" });
  expect(translatePostgresError(refused)).toMatchObject({
    code: "E_DATABASE_UNAVAILABLE",
    status: 503,
    headers: { "retry-after": "5" },
    databaseCode: "ECONNREFUSED",
    cause: refused,
  });
  const both = new AggregateError([refused, new Error("connect ECONNREFUSED ::1:1")], "");
  expect(translatePostgresError(both)).toMatchObject({ message: "PostgreSQL: connect ECONNREFUSED 127.0.0.1:1." });
});

test("the message about a failed connection is kept, and nothing else is reported", () => {
  const said = (error: Error) => translatePostgresError(error);
  expect(said(new Error("Connection terminated unexpectedly"))).toMatchObject({
    code: "E_DATABASE_UNAVAILABLE",
    databaseCode: null,
    message: "PostgreSQL: Connection terminated unexpectedly.",
  });
  expect(said(new Error(""))).toMatchObject({ code: "E_DATABASE_UNAVAILABLE", message: "PostgreSQL: ." });
  expect(said(new AggregateError([new Error("one")], "both failed"))).toMatchObject({
    message: "PostgreSQL: both failed.",
  });
});

test.each([
  ["23502", { table: "users", column: "email" }, { code: "E_NOT_NULL_VIOLATION", table: "users", columns: ["email"] }],
  ["23503", { constraint: "posts_user_fkey" }, { code: "E_FOREIGN_KEY_VIOLATION", constraint: "posts_user_fkey" }],
  ["22P02", { column: "age" }, { code: "E_INVALID_INPUT", errors: { age: [{ rule: "database.value" }] } }],
  ["22001", {}, { code: "E_INVALID_INPUT", errors: { "": [{ rule: "database.value" }] } }],
  ["23503", {}, { code: "E_FOREIGN_KEY_VIOLATION", table: null, columns: [], constraint: null }],
])("names from the server are reported, for the code %s and %j", (code, members, expected) => {
  expect(translatePostgresError(serverError(code, members))).toMatchObject(expected);
});

test.each(["22001", "22003", "22007", "22008", "22021", "22P02", "22P03", "22P05"])(
  "a value that does not fit its column is invalid input: %s",
  (code) => {
    expect(translatePostgresError(serverError(code))).toMatchObject({ code: "E_INVALID_INPUT", status: 422 });
  },
);

test.each([
  ["08006", "E_DATABASE_UNAVAILABLE"],
  ["08P01", "E_DATABASE_UNAVAILABLE"],
  ["53100", "E_DATABASE_FULL"],
  ["53200", "E_DATABASE_UNAVAILABLE"],
  ["53300", "E_OVERLOADED"],
  ["25006", "E_DATABASE_READ_ONLY"],
  ["40001", "E_DATABASE_CONFLICT"],
  ["40P01", "E_DATABASE_CONFLICT"],
  ["40002", "E_DATABASE"],
  ["55P03", "E_DATABASE_BUSY"],
  ["58030", "E_DATABASE_UNAVAILABLE"],
  ["XX000", "E_DATABASE"],
  ["XX001", "E_DATABASE_DAMAGED"],
  ["XX002", "E_DATABASE_DAMAGED"],
  ["57P03", "E_DATABASE_UNAVAILABLE"],
  ["57014", "E_DATABASE_UNAVAILABLE"],
  ["57P01", "E_DATABASE_UNAVAILABLE"],
  ["25P03", "E_DATABASE_UNAVAILABLE"],
  ["25P04", "E_DATABASE_UNAVAILABLE"],
  ["25P02", "E_DATABASE"],
  ["42501", "E_DATABASE"],
  ["42P08", "E_DATABASE"],
  ["XX000", "E_DATABASE"],
])("the code %s is %s: temporary problems are distinguished from permanent ones", (code, expected) => {
  const cause = serverError(code);
  expect(translatePostgresError(cause)).toMatchObject({
    code: expected,
    databaseCode: code,
    cause,
    message: `PostgreSQL: ${cause.message} (SQLSTATE ${code}).`,
  });
});

test.each([
  ['column "colour" of relation "users" does not exist', ["colour", "users"]],
  ["Spalte »colour« existiert nicht", ["colour"]],
  ["column users.colour does not exist", []],
])("an unknown column is reported with the names that the message quotes: %s", (said, names) => {
  const cause = Object.assign(serverError("42703"), { message: said });
  const error = translatePostgresError(cause);
  expect(error).toBeInstanceOf(UnknownColumnError);
  const message = `PostgreSQL: ${said} (SQLSTATE 42703).`;
  expect(error).toMatchObject({ code: "E_DATABASE", databaseCode: "42703", names, cause, message });
});

test("a missing table is reported with a remedy", () => {
  const cause = serverError("42P01");
  expect(translatePostgresError(cause)).toMatchObject({
    code: "E_DATABASE",
    message: `PostgreSQL: ${cause.message} (SQLSTATE 42P01).${MIGRATE}`,
  });
});

test.each([
  ["3D000", "E_DATABASE", " Create it, with createdb for example, or correct its name in DATABASES.main."],
  ["28P01", "E_DATABASE", " Correct the user or the password in DATABASES.main."],
  ["53300", "E_OVERLOADED", ""],
])("a connection that the server refuses with %s is reported with a remedy", (databaseCode, code, remedy) => {
  const cause = serverError(databaseCode, { severity: "FATAL" });
  const message = `PostgreSQL: ${cause.message} (SQLSTATE ${databaseCode}).`;
  expect(translatePostgresError(cause, "DATABASES.main")).toMatchObject({ code, message: `${message}${remedy}` });
  expect(translatePostgresError(cause)).toMatchObject({ code, message });
});

test.each([
  ["23505", "ERROR", true],
  ["23505", "FEHLER", true],
  ["57014", "ERROR", true],
  ["53100", "ERROR", true],
  ["42P08", "ERROR", true],
  ["XX000", "FATAL", false],
  ["57P01", "ВАЖНО", false],
  ["08P01", "ERROR", false],
  ["25P02", "ERROR", true],
  ["25P03", "ВАЖНО", false],
  ["25P04", "ВАЖНО", false],
])("after %s (%s) the connection is still usable: %s", (code, severity, expected) => {
  expect(isStatementError(serverError(code, { severity }))).toBe(expected);
});

test("after an error that is not the server's, the connection is no longer usable", () => {
  expect(isStatementError(new Error("Connection terminated unexpectedly"))).toBe(false);
});

test("an error of the framework stays unchanged", () => {
  const error = new AshlarError("E_OVERLOADED");
  expect(translatePostgresError(error)).toBe(error);
});

test.each([
  [{ routine: "int4div" }, "SQLSTATE 22012 in int4div"],
  [{}, "SQLSTATE 22012 in the server"],
])("of an error that may quote a value, only the code and the routine are kept: %j", (members, message) => {
  expect(translatePostgresError(serverError("22012", members))).toMatchObject({
    code: "E_DATABASE",
    databaseCode: "22012",
    message: "PostgreSQL: a value does not fit its column or function (SQLSTATE 22012).",
    cause: expect.objectContaining({ message }),
  });
});

test.each([
  [null, "It failed. "],
  [new AshlarError("E_OVERLOADED", "No turn."), "It failed (E_OVERLOADED: No turn.). "],
])("after a failure the earlier error is reported, if it is known: %s", (failure, beginning) => {
  expect(afterFailure(failure, "It failed")).toMatchObject({
    code: "E_DATABASE",
    databaseCode: "25P02",
    message: `${beginning}Put a statement that may fail into a nested transaction: await database.transaction(() => user.save())`,
  });
});
