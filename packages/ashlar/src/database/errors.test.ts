import { expect, test } from "vitest";
import { AshlarError } from "../support/index.ts";
import { Database } from "./connections/database.ts";
import { DatabaseError, ForeignKeyViolationError, NotNullViolationError, UniqueViolationError } from "./errors.ts";

const CAUSE = new Error("of the driver");
const of = (table: string | null, ...columns: string[]) => ({ table, columns, constraint: "a_key", cause: CAUSE });

test("a violation has the table, the columns, the constraint and the driver's error", () => {
  for (const Violation of [UniqueViolationError, ForeignKeyViolationError, NotNullViolationError]) {
    const details = { table: "users", columns: ["email", "name"], constraint: "a_key", column: "email", cause: CAUSE };
    expect(new Violation(of("users", "email", "name"))).toMatchObject(details);
    expect(new Violation(of(null)).column).toBe(null);
  }
});

test("a violation needs nothing but the columns", () => {
  for (const Violation of [UniqueViolationError, ForeignKeyViolationError, NotNullViolationError]) {
    const error = new Violation({ columns: ["email"] });
    expect(error).toMatchObject({ table: null, columns: ["email"], constraint: null, column: "email" });
    expect(error.cause).toBe(undefined);
  }
  expect(new NotNullViolationError({ columns: ["email"] }).message).toBe("The column email must have a value.");
});

test.each([undefined, null, "email", {}, { column: "email" }, { columns: "email" }, { columns: [1] }])(
  "a violation of %j is refused with an example of what to write",
  (details) => {
    for (const Violation of [UniqueViolationError, ForeignKeyViolationError, NotNullViolationError]) {
      const made = () => new Violation(details as never);
      expect(made).toThrow(
        expect.objectContaining({
          code: "E_INTERNAL",
          message:
            `${Violation.name} was constructed without a list of columns. ` +
            `Write new ${Violation.name}({ columns: ["email"] }).`,
        }),
      );
    }
  },
);

test("a violation's error keeps the driver's error as its cause", () => {
  expect(() => new UniqueViolationError({ cause: CAUSE } as never)).toThrow(
    expect.objectContaining({ code: "E_INTERNAL", cause: CAUSE }),
  );
});

test("each code has its status", () => {
  const statuses = {
    E_ROW_NOT_FOUND: 404,
    E_DATABASE: 500,
    E_DATABASE_UNAVAILABLE: 503,
    E_UNIQUE_VIOLATION: 409,
    E_FOREIGN_KEY_VIOLATION: 409,
    E_NOT_NULL_VIOLATION: 500,
    E_INVALID_QUERY: 500,
    E_MIGRATION: 500,
  } as const;
  for (const [code, status] of Object.entries(statuses)) {
    expect(new AshlarError(code as keyof typeof statuses)).toMatchObject({ code, status });
  }
});

test("every violation has its code", () => {
  const violations = [UniqueViolationError, ForeignKeyViolationError, NotNullViolationError];
  expect(violations.map((Violation) => new Violation(of("users")).code)).toEqual([
    "E_UNIQUE_VIOLATION",
    "E_FOREIGN_KEY_VIOLATION",
    "E_NOT_NULL_VIOLATION",
  ]);
});

test("the message names the columns that are known", () => {
  expect([
    new UniqueViolationError(of("users", "email")).message,
    new UniqueViolationError(of("users", "email", "name")).message,
    new NotNullViolationError(of("users", "email")).message,
    new NotNullViolationError(of(null, "email")).message,
    new NotNullViolationError(of("users")).message,
    new ForeignKeyViolationError(of("posts"), "The sentence of the database.").message,
    new UniqueViolationError(of(null)).message,
    new NotNullViolationError(of(null)).message,
  ]).toEqual([
    "A record with the same email already exists.",
    "A record with the same email, name already exists.",
    "The column users.email must have a value.",
    "The column email must have a value.",
    "The column users must have a value.",
    "The sentence of the database.",
    "A record with this value already exists.",
    "A required column has no value.",
  ]);
});

test("any other error has the database's own code, and is E_DATABASE by default", () => {
  expect(new DatabaseError("Gone.", "42P01", CAUSE)).toMatchObject({
    code: "E_DATABASE",
    databaseCode: "42P01",
    message: "Gone.",
    cause: CAUSE,
  });
  expect(new DatabaseError("Gone.", null, undefined, "E_DATABASE_UNAVAILABLE")).toMatchObject({
    code: "E_DATABASE_UNAVAILABLE",
    databaseCode: null,
  });
});

test("an error about a missing table explains how to migrate", async () => {
  const database = new Database({ default: "main", main: { driver: "sqlite", path: ":memory:" } }, "/");
  await expect(database.kysely.selectFrom("nowhere").selectAll().execute()).rejects.toMatchObject({
    code: "E_DATABASE",
    message: expect.stringContaining(
      "nowhere. If the database has not been migrated: npx ashlar migrate. If it is a table of Ashlar's that no migration creates: npx ashlar upgrade",
    ),
  });
  await database.close();
});
