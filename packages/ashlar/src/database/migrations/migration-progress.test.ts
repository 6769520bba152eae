import { expect, test } from "vitest";
import { Database, DatabaseError, sql } from "../index.ts";
import { MigrationProgress } from "./migration-progress.ts";

/** The description of the changes that a migration's function leaves behind. */
async function told(task: (database: Database) => Promise<unknown>): Promise<string> {
  const database = new Database({ default: "main", main: { driver: "sqlite", path: ":memory:" } }, "/");
  const progress = new MigrationProgress();
  const run = async (): Promise<void> => void (await task(database));
  const error: unknown = await progress.watch(database.connection(), run).catch((thrown: unknown) => thrown);
  await sql`create table later (n integer)`.execute(database.kysely);
  await database.close();
  return progress.describe(error);
}

const table = ({ kysely }: Database, name: string): Promise<void> =>
  kysely.schema.createTable(name).addColumn("n", "integer").execute();

test("the statements that change something are listed, and nothing that came later", async () => {
  const text = await told(async (database) => {
    await table(database, "a");
    await database.kysely.selectFrom("a").selectAll().execute();
    await database.transaction(() => database.kysely.insertInto("a").values({ n: 1 }).execute());
    throw new TypeError("no luck");
  });
  expect(text).toBe(' It ran: create table "a" ("n" integer); insert into "a" ("n") values (?).');
});

test("the refused statement is marked", async () => {
  const text = await told(async (database) => {
    await table(database, "a");
    await sql`
      insert into   nowhere values (1)`.execute(database.kysely);
  });
  expect(text).toBe(' It ran: create table "a" ("n" integer). This failed: insert into nowhere values (1).');
});

test.each([
  ["E_DATABASE_UNAVAILABLE", ", but may have run"],
  ["E_DATABASE_FULL", ""],
] as const)("a statement that failed with %s is reported%s", async (code, outcome) => {
  const text = await told(async (database) => {
    await table(database, "a");
    throw new DatabaseError("It failed.", null, undefined, code);
  });
  expect(text).toBe(` This failed${outcome}: create table "a" ("n" integer).`);
});

test("a statement that was retried and then abandoned is reported as failed", async () => {
  const database = new Database({ default: "main", main: { driver: "sqlite", path: ":memory:" } }, "/");
  const progress = new MigrationProgress();
  const busy = new DatabaseError("It is locked.", null, undefined, "E_DATABASE_BUSY");
  await progress
    .watch(database.connection(), async () => {
      await table(database, "a");
      for (const name of ["b", "c"]) {
        await table(database, name);
        if (name === "b") progress.again();
      }
      throw new Error("Given up.", { cause: busy });
    })
    .catch(() => {});
  await database.close();
  const text = ' It ran: create table "a" ("n" integer). This failed: create table "c" ("n" integer).';
  expect(progress.describe(new Error("Given up.", { cause: busy }))).toBe(text);
});

test("long statements are cut off, and without statements, nothing is reported", async () => {
  expect(await told(async () => {})).toBe("");
  const text = await told(({ kysely }) => sql.raw(`create table long (${"x".repeat(300)})`).execute(kysely));
  expect(text).toBe(` It ran: create table long (${"x".repeat(181)}….`);
  expect(text.length).toBeLessThan(220);
});

test("if the function succeeded and what follows fails, all of its statements were run", async () => {
  const database = new Database({ default: "main", main: { driver: "sqlite", path: ":memory:" } }, "/");
  const progress = new MigrationProgress();
  await progress.watch(database.connection(), () => table(database, "a"));
  const error = await sql`insert into nowhere values (1)`.execute(database.kysely).catch((thrown: unknown) => thrown);
  expect(progress.describe(error)).toBe(' It ran: create table "a" ("n" integer).');
  await database.close();
});
