import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { AshlarError } from "../../support/index.ts";
import { MIGRATE, UnknownColumnError } from "../errors.ts";
import { translateSqliteError } from "./sqlite-errors.ts";

let database: DatabaseSync;

beforeEach(() => {
  database = new DatabaseSync(":memory:");
  database.exec(`
    create table t (id integer primary key, tenant integer not null, "odd, name" text, email text, unique (tenant, email));
    create unique index t_lower on t (lower(email));
    create table c (t_id integer references t (id) on delete restrict, n integer check (n > 0));
    create table r (n integer);
    create trigger r_refused before delete on r begin select raise(abort, 'Rows of r stay'); end;
    insert into r (rowid, n) values (1, 1);
    insert into t values (1, 1, 'x', 'a@example.com');
    insert into c values (1, 1);
  `);
});

afterEach(() => database.close());

const errorOf = (statement: string): unknown => {
  try {
    database.exec(statement);
  } catch (error) {
    return translateSqliteError(error);
  }
  throw new Error("No error came.");
};

test.each([
  ["insert into t values (1, 2, '', 'b')", "E_UNIQUE_VIOLATION", "t", ["id"], null],
  ["insert into t values (2, 1, '', 'a@example.com')", "E_UNIQUE_VIOLATION", null, [], "t_lower"],
  ["insert into r (rowid, n) values (1, 2)", "E_UNIQUE_VIOLATION", "r", ["rowid"], null],
  ["insert into t (id) values (2)", "E_NOT_NULL_VIOLATION", "t", ["tenant"], null],
  ["insert into c values (99, 1)", "E_FOREIGN_KEY_VIOLATION", null, [], null],
  ["delete from t", "E_FOREIGN_KEY_VIOLATION", null, [], null],
] as const)("%s", (statement, code, table, columns, constraint) => {
  expect(errorOf(statement)).toMatchObject({
    code,
    table,
    columns,
    constraint,
    cause: expect.objectContaining({ code: "ERR_SQLITE_ERROR" }),
  });
});

test("several columns are returned in order", () => {
  database.exec("drop index t_lower");
  expect(errorOf("insert into t values (2, 1, '', 'a@example.com')")).toMatchObject({
    code: "E_UNIQUE_VIOLATION",
    columns: ["tenant", "email"],
  });
});

test.each([
  ["insert into c values (1, -5)", "275", "CHECK constraint failed: n > 0."],
  ["delete from r", "1811", "Rows of r stay."],
  ["select * from nowhere", "1", `no such table: nowhere.${MIGRATE}`],
  ["selec", "1", 'near "selec": syntax error.'],
] as const)("%s is E_DATABASE", (statement, databaseCode, message) => {
  expect(errorOf(statement)).toMatchObject({ code: "E_DATABASE", databaseCode, message: `SQLite: ${message}` });
});

test("a column that a view needs is not an unknown column of the statement that drops it", () => {
  database.exec("alter table r add column extra; create view v as select extra from r");
  const message = "SQLite: error in view v after drop column: no such column: extra.";
  const error = errorOf("alter table r drop column extra");
  expect(error).toMatchObject({ code: "E_DATABASE", databaseCode: "1", message });
  expect(error).not.toBeInstanceOf(UnknownColumnError);
});

test("a full disk is E_DATABASE_FULL, 503 with Retry-After", () => {
  const { page_count: pages } = database.prepare("pragma page_count").get()!;
  database.exec(`pragma max_page_count = ${pages}`);
  expect(errorOf("insert into r (rowid, n) values (3, zeroblob(100000))")).toMatchObject({
    code: "E_DATABASE_FULL",
    status: 503,
    headers: { "retry-after": "5" },
    databaseCode: "13",
    message: "SQLite: database or disk is full.",
    cause: { errcode: 13 },
  });
});

test("only problems with the file mention its name", () => {
  const messageOf = (errcode: number) =>
    translateSqliteError(Object.assign(new Error("it failed"), { errcode }), false, "data/app.sqlite").message;
  for (const errcode of [7, 8, 10, 11, 13, 14, 26])
    expect(messageOf(errcode)).toBe("SQLite: it failed (data/app.sqlite).");
  for (const errcode of [1, 5, 517]) expect(messageOf(errcode)).toBe("SQLite: it failed.");
});

test.each([
  [5, "E_DATABASE_BUSY"],
  [261, "E_DATABASE_BUSY"],
  [517, "E_DATABASE_CONFLICT"],
  [6, "E_DATABASE_BUSY"],
  [7, "E_DATABASE_UNAVAILABLE"],
  [8, "E_DATABASE_READ_ONLY"],
  [1032, "E_DATABASE_READ_ONLY"],
  [10, "E_DATABASE_UNAVAILABLE"],
  [778, "E_DATABASE_UNAVAILABLE"],
  [11, "E_DATABASE_DAMAGED"],
  [13, "E_DATABASE_FULL"],
  [14, "E_DATABASE_UNAVAILABLE"],
  [26, "E_DATABASE_DAMAGED"],
  [1, "E_DATABASE"],
  [20, "E_DATABASE"],
])("the result code %i is %s", (errcode, code) => {
  const error = translateSqliteError(Object.assign(new Error("It failed"), { errcode }));
  expect(error).toMatchObject({ code, databaseCode: String(errcode) });
});

test("an error that does not come from a statement is E_DATABASE without a SQLite code", () => {
  const closed = new DatabaseSync(":memory:", { open: false });
  const error = (() => {
    try {
      return closed.exec("select 1");
    } catch (caught) {
      return caught;
    }
  })();
  expect(translateSqliteError(error)).toMatchObject({
    code: "E_DATABASE",
    databaseCode: null,
    message: "SQLite: database is not open.",
    cause: error,
  });
});

test("an error of the framework stays unchanged", () => {
  const error = new AshlarError("E_INVALID_QUERY");
  expect(translateSqliteError(error)).toBe(error);
});
