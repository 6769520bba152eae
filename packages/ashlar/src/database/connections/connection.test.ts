import { setImmediate as nextTurn } from "node:timers/promises";
import { sql } from "kysely";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { setClock } from "../../support/index.ts";
import { primaryKey } from "../dialect/columns.ts";
import { Model } from "../models/model.ts";
import { Database } from "./database.ts";

class Note extends Model {
  static override timestamps = false;
  declare id: number;
  declare text: string;
}

/** Thrown to roll back a transaction. */
const NO = new Error("no");

let database: Database;

beforeEach(async () => {
  // The last of a thousand transactions waits for all the others.
  const memory = { driver: "sqlite", path: ":memory:", acquireTimeoutMs: 600_000 };
  database = new Database({ default: "a", a: memory, b: memory }, "/");
  for (const name of ["a", "b"]) {
    const { kysely } = database.connection(name);
    await kysely.schema.createTable("notes").$call(primaryKey(kysely)).addColumn("text", "varchar(255)").execute();
  }
  Note.useDatabase(database);
});
afterEach(async () => {
  setClock(null);
  await database.close();
});

test("queries outside of a transaction go directly to the database, however many there are", async () => {
  const notes = await Promise.all(Array.from({ length: 500 }, (_, n) => Note.create({ text: `${n}` })));
  expect(new Set(notes.map(({ id }) => id)).size).toBe(500);
});

test("a transaction on one connection does not affect the other", async () => {
  const [a, b] = [database.connection("a"), database.connection("b")];
  const attempt = a.transaction(async () => {
    expect([a.inTransaction, b.inTransaction]).toEqual([true, false]);
    await a.kysely.insertInto("notes").values({ text: "a" }).execute();
    await b.kysely.insertInto("notes").values({ text: "b" }).execute();
    throw NO;
  });
  await expect(attempt).rejects.toBe(NO);
  const texts = async (on: typeof a) =>
    (await on.kysely.selectFrom("notes").select("text").execute()).map(({ text }) => text);
  expect([await texts(a), await texts(b)]).toEqual([[], ["b"]]);
});

test("S24 a thousand interleaved transactions each see only their own rows", async () => {
  let strangers = 0;
  await Promise.all(
    Array.from({ length: 1000 }, async (_, n) => {
      const attempt = database.transaction(async () => {
        await Note.create({ text: `${n}` });
        if (n % 3 === 0) await nextTurn();
        else await Promise.resolve();
        const seen = await Note.all();
        strangers += seen.filter(({ text }) => text !== `${n}`).length;
        throw new Error("rolled back");
      });
      await expect(attempt).rejects.toThrow("rolled back");
    }),
  );
  expect(strangers).toBe(0);
  expect(await Note.rows().count()).toBe(0);
});

test("each statement is reported to a listener, without its values, until the listener is removed", async () => {
  const seen: unknown[] = [];
  const end = database.onQuery((query) => seen.push(query));
  await Note.findBy("text", "s3cret");
  await database.connection("b").kysely.selectFrom("notes").select("id").where("text", "=", "s3cret").execute();
  await database.transaction(() => Note.find(1));
  end();
  await Note.find(1);
  expect(seen).toEqual([
    { connection: "a", sql: 'select * from "notes" where "text" = ? limit 1' },
    { connection: "b", sql: 'select "id" from "notes" where "text" = ?' },
    { connection: "a", sql: "begin immediate" },
    { connection: "a", sql: 'select * from "notes" where "id" = ? limit 1' },
    { connection: "a", sql: "commit" },
  ]);
});

test("one of two listeners can be removed", async () => {
  const counts = [0, 0];
  const ends = [0, 1].map((n) => database.onQuery(() => counts[n]!++));
  await Note.find(1);
  ends[0]!();
  await Note.find(1);
  ends[1]!();
  await Note.find(1);
  expect(counts).toEqual([1, 2]);
});

test("finding a row takes one statement and creates no more promises than necessary", async () => {
  const { id } = await Note.create({ text: "a" });
  const order: string[] = [];
  const found = Note.find(id).then(() => order.push("found"));
  await Promise.resolve().then(() => order.push("turn 1"));
  await found;
  expect(order).toEqual(["found", "turn 1"]);
});

test("a transaction's own Kysely is bound to it, even if the context is lost", async () => {
  const { promise: handed, resolve: hand } = Promise.withResolvers<() => Promise<unknown>>();
  const outside = handed.then((use) => use());
  const attempt = database.transaction(async (trx) => {
    hand(() => trx.insertInto("notes").values({ text: "by trx" }).execute());
    await outside;
    throw NO;
  });
  await expect(attempt).rejects.toBe(NO);
  expect(await Note.rows().count()).toBe(0);
});

test("a transaction's own Kysely cannot be used after its end", async () => {
  let kept: (() => Promise<unknown>) | null = null;
  await database.transaction(async (trx) => {
    kept = () => sql`select 1`.execute(trx);
    await kept();
  });
  await expect(kept!()).rejects.toMatchObject({ code: "E_DATABASE", message: expect.stringContaining("has ended") });
});

test("a database's kind is its default connection's", () => {
  expect(database.dialect.name).toBe("sqlite");
});

test("an unknown connection causes an error that lists the existing ones", () => {
  expect(() => database.connection("c")).toThrow(expect.objectContaining({ code: "E_DATABASE" }));
  expect(() => database.connection("__proto__")).toThrow(expect.objectContaining({ code: "E_DATABASE" }));
});

test("Kysely does not close the database", async () => {
  await database.kysely.destroy();
  expect(await Note.rows().count()).toBe(0);
});

test("a statement left running by a reserved connection's function continues outside of it", async () => {
  const gate = Promise.withResolvers<void>();
  let left: Promise<unknown> = Promise.resolve();
  await database.connection().reserved(() => {
    left = gate.promise.then(() => Note.create({ text: "left" }));
  });
  gate.resolve();
  await left;
  expect(await Note.rows().count()).toBe(1);
});

test.each([
  ["commits", "commit"],
  ["rolls back", "rollback"],
])("a nested transaction that was not awaited ends before the one around it %s", async (_, last) => {
  const seen: string[] = [];
  const end = database.onQuery(({ sql }) => seen.push(sql.replace(/ into .*/, "")));
  const attempt = database.transaction(async () => {
    void database.transaction(async () => {
      await nextTurn();
      await Note.create({ text: "inner" });
    });
    if (last === "rollback") throw NO;
  });
  await attempt.catch((error: unknown) => expect(error).toBe(NO));
  end();
  const nested = ["begin immediate", "savepoint nested_2", "insert", "release savepoint nested_2"];
  expect(seen.filter((statement) => !statement.startsWith("select"))).toEqual([...nested, last]);
});

test("a transaction waits longer than one turn for a nested one that was not awaited", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const gate = Promise.withResolvers<void>();
  const outer = database.transaction(() => {
    void database.transaction(async () => {
      await gate.promise;
      await Note.create({ text: "inner" });
    });
  });
  // Until the outer transaction waits only for this one.
  for (let turn = 0; turn < 5; turn++) await nextTurn();
  vi.advanceTimersByTime(60_000);
  gate.resolve();
  await outer;
  expect(await Note.rows().count()).toBe(1);
});

test("a closed connection does not begin to rebuild tables", async () => {
  await database.close();
  const rebuilt: string[] = [];
  const attempt = database.connection().maintenance.rebuilding(async () => void rebuilt.push("a"));
  await expect(attempt).rejects.toMatchObject({ code: "E_DATABASE" });
  expect(rebuilt).toEqual([]);
});

test("S68 outside of a transaction, even on a reserved connection, there is nothing to undo", async () => {
  const connection = database.connection();
  const logs = [connection.rollbackLog, await connection.reserved(() => connection.rollbackLog)];
  expect(logs).toEqual([null, null]);
  expect(await connection.transaction(() => connection.rollbackLog)).not.toBe(null);
});

test("a compiled statement returns its rows, inside a transaction too", async () => {
  const connection = database.connection();
  expect(await connection.rows("select ? as n", [1])).toEqual([{ n: 1 }]);
  const inside = await connection.transaction(async () => {
    await Note.create({ text: "a" });
    return await connection.rows("select text from notes where text = ?", ["a"]);
  });
  expect(inside).toEqual([{ text: "a" }]);
});

test("an outer transaction can request an isolation level, but a nested one cannot", async () => {
  const nested = database.transaction(() => database.transaction(() => 1, { isolation: "serializable" }));
  await expect(nested).rejects.toMatchObject({ code: "E_INVALID_QUERY" });
  const around = database.transaction(() => database.transaction(() => 1), { isolation: "serializable" });
  expect(await around).toBe(1);
});

test("migrations are not locked inside a transaction", async () => {
  const attempt = database.transaction(() => database.connection().maintenance.withMigrationLock(async () => 1));
  await expect(attempt).rejects.toMatchObject({ code: "E_MIGRATION" });
});

test("SQLite returns JSON as text", () => {
  expect(database.connection().dialect.values.parsesJson).toBe(false);
});
