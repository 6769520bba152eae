import { inspect } from "node:util";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import {
  ConstraintViolationError,
  DatabaseError,
  ForeignKeyViolationError,
  NotNullViolationError,
  primaryKey,
  reference,
  sql,
  UniqueViolationError,
} from "../../src/database/index.ts";
import { onEachDatabase, type TestDatabase, testWhere } from "../support/services.ts";

const SECRET = "s3cret-value";

await onEachDatabase("errors", (engine) => {
  let own: TestDatabase;

  beforeAll(async () => {
    own = await engine.open();
    const { schema } = own.database.kysely;
    await schema
      .createTable("teams")
      .$call(primaryKey(own.database.kysely))
      .addColumn("name", "varchar(255)", (column) => column.notNull().unique())
      .addColumn("tenant", "integer")
      .addColumn("code", "varchar(255)", (column) => column.check(sql`length(code) < 50`))
      .addUniqueConstraint("teams_tenant_code", ["tenant", "code"])
      .execute();
    await schema
      .createTable("players")
      .$call(primaryKey(own.database.kysely))
      .addColumn("team_id", reference(own.database.kysely), (column) =>
        column.references("teams.id").onDelete("restrict"),
      )
      .execute();
  });
  beforeEach(async () => {
    await own.database.kysely.deleteFrom("players").execute();
    await own.database.kysely.deleteFrom("teams").execute();
    await own.database.kysely.insertInto("teams").values({ id: 1000, name: SECRET, tenant: 1, code: SECRET }).execute();
  });
  afterAll(() => own.drop());

  const insert = (values: object): Promise<unknown> =>
    own.database.kysely
      .insertInto("teams")
      .values(values)
      .execute()
      .catch((error: unknown) => error);

  /** Everything about an error that a log could show. */
  const whole = (error: unknown): string => {
    const parts: string[] = [];
    for (let one = error; one instanceof Error; one = one.cause) {
      const own = Object.getOwnPropertyNames(one).map(
        (name) => `${name}: ${inspect(Reflect.get(one as Error, name), { depth: 10 })}`,
      );
      parts.push(...own);
    }
    return parts.join("\n");
  };

  test("a unique violation has the table and column, but not the value", async () => {
    const error = await insert({ name: SECRET, code: "other" });
    expect(error).toBeInstanceOf(UniqueViolationError);
    expect(error).toBeInstanceOf(ConstraintViolationError);
    expect(error).toMatchObject({
      code: "E_UNIQUE_VIOLATION",
      status: 409,
      table: "teams",
      columns: ["name"],
      column: "name",
      message: "A record with the same name already exists.",
    });
    expect(whole(error)).not.toContain(SECRET);
  });

  test("a unique violation of several columns has them in order", async () => {
    const error = await insert({ name: "b", tenant: 1, code: SECRET });
    expect(error).toMatchObject({
      columns: ["tenant", "code"],
      message: "A record with the same tenant, code already exists.",
    });
    expect(whole(error)).not.toContain(SECRET);
  });

  // MariaDB has no indexes on expressions.
  testWhere(engine.name !== "mariadb", "a unique violation of an expression has its index, but no column", async () => {
    const { schema } = own.database.kysely;
    await schema.createIndex("teams_lower").on("teams").expression(sql`lower(code)`).unique().execute();
    const error = await insert({ name: "b", tenant: 2, code: SECRET.toUpperCase() });
    await schema.dropIndex("teams_lower").execute();
    expect(error).toMatchObject({ code: "E_UNIQUE_VIOLATION", columns: [], column: null, constraint: "teams_lower" });
    expect((error as Error).message).toBe("A record with this value already exists.");
    expect(whole(error)).not.toContain(SECRET);
  });

  test("an existing primary key is a unique violation too", async () => {
    expect(await insert({ id: 1000, name: "b" })).toMatchObject({ code: "E_UNIQUE_VIOLATION", column: "id" });
  });

  test("a missing value has the table and column, but not the rest of the row", async () => {
    const error = await insert({ name: null, tenant: 3, code: `${SECRET}2` });
    expect(error).toBeInstanceOf(NotNullViolationError);
    expect(error).toMatchObject({
      code: "E_NOT_NULL_VIOLATION",
      table: "teams",
      column: "name",
      message: "The column teams.name must have a value.",
    });
    expect(whole(error)).not.toContain(SECRET);
  });

  test("a reference to a missing row is a violation, and so is deleting a row that is still referenced", async () => {
    const { kysely } = own.database;
    const dangling = kysely.insertInto("players").values({ team_id: 99 }).execute();
    await expect(dangling).rejects.toBeInstanceOf(ForeignKeyViolationError);
    await kysely.insertInto("players").values({ team_id: 1000 }).execute();
    const referred = kysely.deleteFrom("teams").where("id", "=", 1000).execute();
    await expect(referred).rejects.toMatchObject({ code: "E_FOREIGN_KEY_VIOLATION", status: 409 });
  });

  test("any other error is E_DATABASE with the database's own code and its cause", async () => {
    const missing = await sql`select * from nowhere`.execute(own.database.kysely).catch((error: unknown) => error);
    expect(missing).toBeInstanceOf(DatabaseError);
    expect(missing).toMatchObject({ code: "E_DATABASE", status: 500, message: expect.stringContaining("nowhere") });
    expect((missing as DatabaseError).databaseCode).toBe(
      { sqlite: "1", postgres: "42P01", mariadb: "1146" }[engine.name],
    );
    expect((missing as Error).cause).toBeInstanceOf(Error);
    const checked = await insert({ name: "b", code: SECRET.repeat(10) });
    expect(checked).toMatchObject({ code: "E_DATABASE" });
    expect(whole(checked)).not.toContain(SECRET);
  });

  test("a value that does not fit is not quoted", async () => {
    const { kysely } = own.database;
    const error = await kysely
      .insertInto("players")
      .values({ team_id: SECRET })
      .execute()
      .catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: engine.name === "sqlite" ? "E_FOREIGN_KEY_VIOLATION" : "E_INVALID_INPUT" });
    expect(whole(error)).not.toContain(SECRET);
  });

  test("undefined is refused instead of being stored as another value", async () => {
    const { kysely } = own.database;
    await expect(sql`select ${undefined}`.execute(kysely)).rejects.toMatchObject({ code: "E_INVALID_QUERY" });
    await expect(sql`select ${new Date(Number.NaN)}`.execute(kysely)).rejects.toMatchObject({
      code: "E_INVALID_QUERY",
    });
  });

  test("streaming is refused with an explanation", async () => {
    const read = async (): Promise<void> => {
      for await (const row of own.database.kysely.selectFrom("teams").selectAll().stream()) throw row;
    };
    await expect(read()).rejects.toMatchObject({ code: "E_INVALID_QUERY" });
  });

  test("after dozens of errors there are still connections", async () => {
    for (let n = 0; n < 30; n++) await insert({ name: SECRET });
    await Promise.all(Array.from({ length: 30 }, () => insert({ name: SECRET })));
    expect((await sql`select count(*) as n from teams`.execute(own.database.kysely)).rows).toEqual([{ n: 1 }]);
  });

  test("a caught error in a transaction does not silently lose the rest", async () => {
    const attempt = own.database.transaction(async () => {
      expect(await insert({ name: "kept", code: "k" })).not.toBeInstanceOf(Error);
      expect(await insert({ name: SECRET })).toBeInstanceOf(UniqueViolationError);
    });
    // PostgreSQL has aborted the transaction, and reports that at the end; the others continue.
    if (!engine.continues)
      await expect(attempt).rejects.toMatchObject({
        code: "E_DATABASE",
        databaseCode: "25P02",
        message: expect.stringContaining("(E_UNIQUE_VIOLATION: "),
      });
    else await attempt;
    const { rows } = await sql`select 1 from teams where name = 'kept'`.execute(own.database.kysely);
    expect(rows).toHaveLength(engine.continues ? 1 : 0);
  });
});
