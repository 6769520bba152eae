import { CamelCasePlugin, sql } from "kysely";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Database } from "./database.ts";

let database: Database;

beforeEach(async () => {
  database = new Database({ default: "main", main: { driver: "sqlite", path: ":memory:" } }, "/");
  await sql`create table notes (id integer primary key, long_text text)`.execute(database.kysely);
});
afterEach(() => database.close());

const texts = async (): Promise<unknown[]> =>
  (await database.kysely.selectFrom("notes").select("long_text").execute()).map((row) => row.long_text);

test("a plugin works on queries outside and inside of a transaction, and only where it was added", async () => {
  const camel = database.kysely.withPlugin(new CamelCasePlugin());
  await camel.insertInto("notes").values({ longText: "a" }).execute();
  await camel.transaction().execute(async (trx) => {
    await trx.insertInto("notes").values({ longText: "b" }).execute();
    expect(await trx.selectFrom("notes").select("longText").execute()).toEqual([{ longText: "a" }, { longText: "b" }]);
  });
  expect(await texts()).toEqual(["a", "b"]);
  expect(await camel.withoutPlugins().selectFrom("notes").select("long_text").limit(1).execute()).toEqual([
    { long_text: "a" },
  ]);
});

test("what only changes the type takes part in the transaction like the rest", async () => {
  const { kysely } = database;
  const attempt = database.transaction(async () => {
    await kysely
      .$extendTables<{ notes: { long_text: string } }>()
      .insertInto("notes")
      .values({ long_text: "a" })
      .execute();
    await kysely.$pickTables<"notes">().insertInto("notes").values({ long_text: "b" }).execute();
    await kysely.$omitTables<"other">().insertInto("notes").values({ long_text: "c" }).execute();
    await kysely
      .withTables<{ notes: { long_text: string } }>()
      .insertInto("notes")
      .values({ long_text: "d" })
      .execute();
    await kysely.withSchema("main").insertInto("notes").values({ long_text: "e" }).execute();
    expect(await texts()).toEqual(["a", "b", "c", "d", "e"]);
    throw new Error("no");
  });
  await expect(attempt).rejects.toThrow("no");
  expect(await texts()).toEqual([]);
});

test("Kysely's transaction inside of one is nested, and fails alone", async () => {
  await database.transaction(async () => {
    await database.kysely.insertInto("notes").values({ long_text: "outer" }).execute();
    const inner = database.kysely.transaction().execute(async (trx) => {
      await trx.insertInto("notes").values({ long_text: "inner" }).execute();
      throw new Error("inner");
    });
    await expect(inner).rejects.toThrow("inner");
  });
  expect(await texts()).toEqual(["outer"]);
});

test("a nested transaction with the Kysely of the outer one would not be one, and Kysely says so", async () => {
  await database.transaction(async (trx) => {
    expect(() => trx.transaction()).toThrow("not supported");
  });
});

test("connection() inside of a transaction is the transaction's", async () => {
  const attempt = database.transaction(async () => {
    await database.kysely.connection().execute(async (one) => {
      await one.insertInto("notes").values({ long_text: "a" }).execute();
    });
    throw new Error("no");
  });
  await expect(attempt).rejects.toThrow("no");
  expect(await texts()).toEqual([]);
});

test("the introspection sees the tables", async () => {
  const [notes] = await database.kysely.introspection.getTables();
  expect([notes?.name, notes?.columns.map(({ name }) => name)]).toEqual(["notes", ["id", "long_text"]]);
});
