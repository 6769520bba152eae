import { DatabaseSync } from "node:sqlite";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Database, primaryKey, sql } from "../../src/database/index.ts";
import { sqlite, type TestDatabase } from "../support/services.ts";
import { sleeps } from "../support/sleeps.ts";

// What SQLite itself would do with the keys of a rolled back transaction: reuse them for other rows.

const NO = new Error("no");
/** How long a statement waits for the file in these tests. */
const BUSY_TIMEOUT_MS = 150;

let own: TestDatabase;
let database: Database;
/** To SQLite, this is another process. */
let other: DatabaseSync;

beforeEach(async () => {
  own = await sqlite.open({ busyTimeoutMs: BUSY_TIMEOUT_MS });
  database = own.database;
  const table = database.kysely.schema.createTable("notes").$call(primaryKey(database.kysely));
  await table.addColumn("text", "text").execute();
  other = new DatabaseSync(String(own.configuration.path), { timeout: 0 });
});
afterEach(async () => {
  other.close();
  await own.drop();
});

const run = async (text: string): Promise<unknown[]> => (await sql.raw(text).execute(database.kysely)).rows;
const add = async (table = "notes"): Promise<number> => {
  const [row] = await run(`insert into ${table} (text) values ('a') returning id`);
  return (row as { id: number }).id;
};
const rolledBack = async (task: () => Promise<unknown>): Promise<void> => {
  const attempt = database.transaction(async () => {
    await task();
    throw NO;
  });
  await expect(attempt).rejects.toBe(NO);
};
/** Calls a function once, immediately after a rollback's statement. */
const afterRollback = (act: () => void): void => {
  const end = database.onQuery(({ sql: text }) => {
    if (!text.startsWith("rollback")) return;
    end();
    queueMicrotask(act);
  });
};

test("S68 the used keys are kept in one row per table, with and without earlier rows", async () => {
  await run("create table others (id integer primary key autoincrement, text text)");
  await add("others");
  for (let n = 0; n < 3; n++) {
    await rolledBack(async () => {
      await add();
      await add();
      await add("others");
    });
  }
  expect(await run("select name, seq from sqlite_sequence order by name")).toEqual([
    { name: "notes", seq: 6 },
    { name: "others", seq: 4 },
  ]);
  expect([await add(), await add("others")]).toEqual([7, 5]);
});

test("S68 a 64-bit key is kept to the last digit", async () => {
  await rolledBack(() => run("insert into notes (id) values (9007199254740993)"));
  expect(await run("insert into notes (text) values ('a') returning id")).toEqual([{ id: 9007199254740994n }]);
});

test("S68 keys that another process has used since the rollback count too", async () => {
  await rolledBack(async () => {
    await add();
    afterRollback(() => other.exec("insert into notes (text) values ('b'), ('c'), ('d'); delete from notes"));
  });
  expect(await add()).toBe(4);
});

test("S68 no keys are kept for a table that was rolled back too, or that does not count its keys", async () => {
  await run("create table plain (id integer primary key, text text)");
  await rolledBack(async () => {
    await run("create table passing (id integer primary key autoincrement, text text)");
    await run("drop table plain");
    await run("create table plain (id integer primary key autoincrement, text text)");
    await add("passing");
    await add("plain");
  });
  expect(await run("select name from sqlite_sequence")).toEqual([]);
  expect(await add("plain")).toBe(1);
});

test("S68 a file that another process has locked is awaited", async () => {
  const events: string[] = [];
  await rolledBack(async () => {
    await add();
    afterRollback(() => {
      other.exec("begin immediate");
      void nextTurn().then(() => {
        other.exec("rollback");
        events.push("unlocked");
      });
    });
  });
  events.push("rolled back");
  expect([events, await add()]).toEqual([["unlocked", "rolled back"], 2]);
});

test("S68 with a file that stays locked, the transaction's own error is thrown, and the next statement runs", async () => {
  await add();
  await rolledBack(async () => {
    await add();
    afterRollback(() => other.exec("begin immediate"));
  });
  other.exec("rollback");
  expect(await run("select id from notes")).toEqual([{ id: 1 }]);
  expect(await add()).toBe(2);
});

test("S68 a file that stays locked is awaited only once, however many tables have used keys", async () => {
  await run("create table others (id integer primary key autoincrement, text text)");
  const slept = sleeps();
  await rolledBack(async () => {
    await add();
    await add("others");
    afterRollback(() => other.exec("begin immediate"));
  });
  other.exec("rollback");
  expect(slept.reduce((sum, ms) => sum + ms, 0)).toBeCloseTo(BUSY_TIMEOUT_MS);
});

test("S68 a rollback without used keys writes nothing, and does not wait", async () => {
  await add();
  const slept = sleeps();
  await rolledBack(async () => afterRollback(() => other.exec("begin immediate")));
  other.exec("rollback");
  expect(slept).toEqual([]);
});
