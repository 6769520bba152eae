import { CamelCasePlugin, sql } from "kysely";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Database } from "../connections/database.ts";

/** Thrown to roll back a transaction. */
const NO = new Error("no");

let database: Database;

beforeEach(async () => {
  database = new Database({ default: "main", main: { driver: "sqlite", path: ":memory:" } }, "/");
  await sql`create table notes (id integer primary key, long_text text)`.execute(database.kysely);
});
afterEach(() => database.close());

const texts = async (): Promise<unknown[]> =>
  (await database.kysely.selectFrom("notes").select("long_text").execute()).map((row) => row.long_text);

test("a plugin applies outside and inside a transaction, but only to the Kysely it was added to", async () => {
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

test("methods that change only the type still take part in the transaction", async () => {
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
    throw NO;
  });
  await expect(attempt).rejects.toBe(NO);
  expect(await texts()).toEqual([]);
});

test("Kysely's transaction inside one is nested, and fails on its own", async () => {
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

test("a nested transaction on the outer one's Kysely is refused by Kysely", async () => {
  await database.transaction(async (trx) => {
    expect(() => trx.transaction()).toThrow("not supported");
  });
});

test("connection() inside a transaction is the transaction's", async () => {
  const attempt = database.transaction(async () => {
    await database.kysely.connection().execute(async (one) => {
      await one.insertInto("notes").values({ long_text: "a" }).execute();
    });
    throw NO;
  });
  await expect(attempt).rejects.toBe(NO);
  expect(await texts()).toEqual([]);
});

test("the introspection sees the tables", async () => {
  const [notes] = await database.kysely.introspection.getTables();
  expect([notes?.name, notes?.columns.map(({ name }) => name)]).toEqual(["notes", ["id", "long_text"]]);
});

test("results of Kysely's builders are returned", async () => {
  const { kysely } = database;
  expect(await kysely.connection().execute(async (one) => await one.selectFrom("notes").selectAll().execute())).toEqual(
    [],
  );
  expect(await kysely.transaction().execute(async () => "given")).toBe("given");
  expect(await kysely.withSchema("main").selectFrom("notes").selectAll().execute()).toEqual([]);
});

test("connection() keeps the state of the connection, and models' statements use it too", async () => {
  await database.kysely.connection().execute(async (one) => {
    await sql`create temporary table mine (n integer)`.execute(one);
    await one.insertInto("mine").values({ n: 1 }).execute();
    expect(await database.kysely.selectFrom("mine").select("n").execute()).toEqual([{ n: 1 }]);
  });
});

test("access and isolation can be set in either order", async () => {
  const seen: string[] = [];
  const end = database.onQuery(({ sql: text }) => seen.push(text));
  const { kysely } = database;
  await kysely
    .transaction()
    .setAccessMode("read only")
    .setIsolationLevel("serializable")
    .execute(async () => {});
  await kysely
    .transaction()
    .setIsolationLevel("serializable")
    .setAccessMode("read only")
    .execute(async () => {});
  await kysely
    .transaction()
    .setAccessMode("read write")
    .execute(async () => {});
  end();
  expect(seen).toEqual(["begin", "commit", "begin", "commit", "begin immediate", "commit"]);
  const nested = kysely.transaction().setIsolationLevel("serializable").setAccessMode("read write");
  const attempt = database.transaction(() => nested.execute(async () => {}));
  await expect(attempt).rejects.toMatchObject({ code: "E_INVALID_QUERY" });
});

test("rows cannot be streamed, and a transaction cannot be left open", async () => {
  const rows = database.kysely.selectFrom("notes").selectAll().stream();
  await expect(rows.next()).rejects.toMatchObject({
    code: "E_INVALID_QUERY",
    message: "Rows cannot be streamed. Read them in batches, with a limit.",
  });
  expect(() => database.kysely.startTransaction()).toThrow(expect.objectContaining({ code: "E_INVALID_QUERY" }));
});
