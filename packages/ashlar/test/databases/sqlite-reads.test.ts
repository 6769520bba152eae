import { AsyncResource } from "node:async_hooks";
import { readFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { Database, Model, primaryKey, sql } from "../../src/database/index.ts";
import { sqlite, type TestDatabase } from "../support/services.ts";

class Note extends Model {
  static override timestamps = false;
  declare id: number;
  declare text: string;
}

let own: TestDatabase;
let database: Database;

beforeEach(async () => {
  // The last of 200 transactions waits for all the others.
  own = await sqlite.open({ acquireTimeoutMs: 600_000 });
  database = own.database;
  Note.useDatabase(database);
  const table = database.kysely.schema.createTable("notes").$call(primaryKey(database.kysely));
  await table.addColumn("text", "text").execute();
  await Note.create({ text: "committed" });
});
afterEach(() => own.drop());

const run = (text: string) => sql.raw<Record<string, unknown>>(text).execute(database.kysely);

/** Every way in which an application reads, each returning the stored texts. */
const READS: readonly (readonly [string, () => Promise<unknown>])[] = [
  ["find", async () => [(await Note.find(1))?.text]],
  ["findBy", async () => [(await Note.findBy("text", "uncommitted"))?.text ?? "committed"]],
  ["a query of models", async () => (await Note.where("id", ">", 0).get()).map(({ text }) => text)],
  ["all", async () => (await Note.all()).map(({ text }) => text)],
  ["Kysely", async () => (await database.kysely.selectFrom("notes").select("text").execute()).map(({ text }) => text)],
  [
    "a common table expression of Kysely's",
    async () => {
      const query = database.kysely
        .with("n", (eb) => eb.selectFrom("notes").select("text"))
        .selectFrom("n")
        .selectAll();
      return (await query.execute()).map(({ text }) => text);
    },
  ],
  ["SQL", async () => (await run("  SELECT text from notes")).rows.map(({ text }) => text)],
  [
    "a finder's statement",
    async () => {
      const row = await database.connection().first("select text from notes where id = ?", 1);
      return [row?.text];
    },
  ],
];

describe("an open transaction", () => {
  /** Runs a function outside a transaction, while the transaction is open and has written. */
  const beside = async <T>(task: () => Promise<T>): Promise<T> => {
    const [started, done] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const transaction = database.transaction(async () => {
      await Note.create({ text: "uncommitted" });
      started.resolve();
      await done.promise;
    });
    await started.promise;
    // The transaction continues only after the task has ended, so a task that waited for it would never end.
    return await task().finally(async () => {
      done.resolve();
      await transaction;
    });
  };

  test.each(READS)("blocks no read: %s returns the committed rows in the meantime", async (_, read) => {
    expect(await beside(read)).toEqual(["committed"]);
    expect(await Note.rows().count()).toBe(2);
  });

  test("shows its own writes to reads inside it", async () => {
    await database.transaction(async () => {
      await Note.where("id", 1).update({ text: "uncommitted" });
      for (const [name, read] of READS) expect([name, await read()]).toEqual([name, ["uncommitted"]]);
    });
  });

  test("makes writes wait for their turn", async () => {
    const order: string[] = [];
    const writes = await beside(async () => {
      const begun = ["a", "b", "c"].map((text) => Note.create({ text }).then(() => order.push(text)));
      for (let turn = 0; turn < 10; turn++) await nextTurn();
      expect(order).toEqual([]);
      return begun;
    });
    await Promise.all(writes);
    expect(order).toEqual(["a", "b", "c"]);
    expect((await Note.all()).map(({ text }) => text)).toEqual(["committed", "uncommitted", "a", "b", "c"]);
  });

  test("delays statements that write and return rows, and those that need the writing connection", async () => {
    const statements = [
      "insert into notes (text) values ('x') returning id",
      "with w as (select 1) insert into notes (text) select 'y' from w returning id",
      "select last_insert_rowid() as id",
      "select changes() as n",
      "select * from pragma_foreign_keys",
    ];
    const answered: string[] = [];
    const begun = await beside(async () => {
      const started = statements.map((text) => run(text).then(({ rows }) => answered.push(JSON.stringify(rows))));
      for (let turn = 0; turn < 10; turn++) await nextTurn();
      expect(answered).toEqual([]);
      return started;
    });
    await Promise.all(begun);
    expect(answered).toEqual(['[{"id":3}]', '[{"id":4}]', '[{"id":4}]', '[{"n":1}]', '[{"foreign_keys":1}]']);
  });
});

test("a read sees the write that was awaited before it, thousands of times", async () => {
  for (let n = 0; n < 2000; n++) {
    await Note.where("id", 1).update({ text: `v${n}` });
    if ((await Note.find(1))?.text !== `v${n}`) throw new Error(`The read after write ${n} is an old one.`);
  }
  await database.transaction(() => Note.where("id", 1).update({ text: "last" }));
  expect((await Note.find(1))?.text).toBe("last");
});

test("a read sees tables and columns as they change", async () => {
  expect({ ...(await Note.find(1)) }).toEqual({ id: 1, text: "committed" });
  await run("alter table notes add column mood text default 'fine'");
  expect({ ...(await Note.find(1)) }).toEqual({ id: 1, text: "committed", mood: "fine" });
  await run("drop table notes");
  await expect(Note.find(1)).rejects.toMatchObject({ code: "E_DATABASE" });
});

test("temporary tables are found, although only the writing connection has them", async () => {
  await run("create temporary table mine (n integer)");
  await run("create temporary table notes (text text)");
  expect((await run('select * from "temp"."notes"')).rows).toEqual([]);
  expect((await run("select name from sqlite_temp_schema order by name")).rows).toEqual([
    { name: "mine" },
    { name: "notes" },
  ]);
  await run("insert into mine values (7)");
  expect((await run("select n from mine")).rows).toEqual([{ n: 7 }]);
  expect(await database.kysely.selectFrom("mine").select("n").execute()).toEqual([{ n: 7 }]);
});

test("200 concurrent transactions that each wait all succeed", async () => {
  const outcomes = await Promise.allSettled(
    Array.from({ length: 200 }, (_, n) =>
      database.transaction(async () => {
        const count = await Note.rows().count();
        await nextTurn();
        await Note.create({ text: `t${n}` });
        return count;
      }),
    ),
  );
  // Each saw the commits of all before it, and none of the others.
  const counts = outcomes.map((outcome) => (outcome.status === "fulfilled" ? outcome.value : outcome.reason));
  expect(counts).toEqual(Array.from({ length: 200 }, (_, n) => n + 1));
  expect(await Note.rows().count()).toBe(201);
});

test("a write that doesn't get its turn in time is E_OVERLOADED with a remedy, while reads continue", async () => {
  const impatient = new Database({ default: "main", main: { ...own.configuration, acquireTimeoutMs: 30 } }, "/");
  const gate = Promise.withResolvers<void>();
  const started = Promise.withResolvers<void>();
  const holder = impatient.transaction(async () => {
    started.resolve();
    await gate.promise;
  });
  await started.promise;
  const insert = () => sql`insert into notes (text) values ('late')`.execute(impatient.kysely);
  const outcomes = await Promise.allSettled([insert(), impatient.transaction(insert)]);
  expect((await sql`select count(*) as n from notes`.execute(impatient.kysely)).rows).toEqual([{ n: 1 }]);
  gate.resolve();
  await holder;
  expect(outcomes.map((outcome) => outcome.status === "rejected" && outcome.reason)).toEqual([
    expect.objectContaining({
      code: "E_OVERLOADED",
      status: 503,
      message:
        "No turn on the connection to the database came within 30 ms: transactions are using it, and 1 more are waiting for it. " +
        "Keep transactions short, or set acquireTimeoutMs in config/database.ts.",
    }),
    expect.objectContaining({
      code: "E_OVERLOADED",
      message:
        "No turn on the connection to the database came within 30 ms: transactions are using it. " +
        "Keep transactions short, or set acquireTimeoutMs in config/database.ts.",
    }),
  ]);
  await insert();
  await impatient.close();
  expect(await Note.rows().count()).toBe(2);
});

test("in memory everything is on one connection, and reads see all of it", async () => {
  const memory = new Database({ default: "main", main: { driver: "sqlite", path: ":memory:" } }, "/");
  await sql`create table notes (text text)`.execute(memory.kysely);
  const gate = Promise.withResolvers<void>();
  const transaction = memory.transaction(async () => {
    await sql`insert into notes values ('a')`.execute(memory.kysely);
    await gate.promise;
  });
  const asked: string[] = [];
  memory.onQuery(({ sql }) => asked.push(sql));
  const read = memory.kysely.selectFrom("notes").select("text").execute();
  gate.resolve();
  expect(await read).toEqual([{ text: "a" }]);
  // Only once, because the database would be a new, empty one otherwise.
  expect(asked.filter((text) => text.startsWith("select"))).toHaveLength(1);
  await transaction;
  await memory.close();
});

test("closing leaves a single intact file, without a write-ahead log next to it", async () => {
  await Note.create({ text: "b" });
  await Note.find(1);
  await database.close();
  const path = String(own.configuration.path);
  expect((await readdir(dirname(path))).filter((name) => name.startsWith(basename(path)))).toEqual([basename(path)]);
  const file = new DatabaseSync(path, { readOnly: true });
  expect(file.prepare("select count(*) as n from notes").get()).toEqual({ n: 2 });
  expect(file.prepare("pragma integrity_check").get()).toEqual({ integrity_check: "ok" });
  file.close();
  await expect(Note.find(1)).rejects.toMatchObject({ code: "E_DATABASE" });
});

test("a statement that writes and returns a row runs on the writing connection, although it was issued as a read", async () => {
  const impatient = new Database({ default: "main", main: { ...own.configuration, busyTimeoutMs: 0 } }, "/");
  onTestFinished(() => impatient.close());
  const write = async () =>
    await impatient.connection().first("insert into notes (text) values (?) returning text", "by first");
  let begun: Promise<unknown> | null = null;
  const outside = new AsyncResource("outside");
  await impatient.transaction(async () => {
    await sql`insert into notes (text) values ('before it')`.execute(impatient.kysely);
    // After the transaction, which has the file, not immediately.
    begun = outside.runInAsyncScope(write);
    await nextTurn();
  });
  expect(await begun).toEqual({ text: "by first" });
  expect((await Note.all()).map(({ text }) => text)).toEqual(["committed", "before it", "by first"]);
  // Only the writing connection knows its latest key.
  const latest = sql`select last_insert_rowid() as id`.execute(impatient.kysely);
  expect((await latest).rows).toEqual([{ id: 3 }]);
});

test("a statement that writes and selects is reported only once", async () => {
  const asked: string[] = [];
  database.onQuery(({ sql: text }) => asked.push(text));
  await run("insert into notes (text) select 'selected'");
  expect(asked).toEqual(["insert into notes (text) select 'selected'"]);
});

test("an invalid read is refused immediately, even during a transaction", async () => {
  const [started, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const holder = database.transaction(async () => {
    started.resolve();
    await gate.promise;
  });
  await started.promise;
  let isOver = false;
  const refused = Promise.allSettled([
    run("select nothing from notes"),
    sql`select ${undefined}`.execute(database.kysely),
  ]);
  void refused.finally(() => {
    isOver = true;
  });
  for (let turn = 0; turn < 10; turn++) await nextTurn();
  const wasAtOnce = isOver;
  gate.resolve();
  await holder;
  expect(wasAtOnce).toBe(true);
  expect((await refused).map((outcome) => outcome.status === "rejected" && outcome.reason.code)).toEqual([
    "E_DATABASE",
    "E_INVALID_QUERY",
  ]);
});

test.skipIf(process.platform !== "linux")("pages that were read once are not read from the file again", async () => {
  const PAGES = 2000;
  const text = "x".repeat(3000);
  await database.transaction(async () => {
    for (let index = 0; index < PAGES; index++) await Note.create({ text });
  });
  await run("pragma wal_checkpoint(truncate)");
  /** How often this thread has asked the system to read something. */
  const reads = (): number => Number(/^syscr: (\d+)$/m.exec(readFileSync("/proc/thread-self/io", "utf8"))![1]);
  const readAll = async (): Promise<number> => {
    const before = reads();
    for (let id = 1; id <= PAGES; id++) await database.connection().first("select text from notes where id = ?", id);
    return reads() - before;
  };
  const first = await readAll();
  expect(first).toBeGreaterThan(PAGES);
  expect(await readAll()).toBeLessThan(first / 2);
});
