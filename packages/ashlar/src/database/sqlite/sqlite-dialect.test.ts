import { execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setImmediate as nextTurn } from "node:timers/promises";
import { sql } from "kysely";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { Database } from "../connections/database.ts";
import type { DialectSetup } from "../dialect/dialect.ts";
import { sqlite } from "./sqlite.ts";
import { SqliteMigrationLock } from "./sqlite-migration-lock.ts";

let folder: string;
let database: Database;

const open = (settings: object = {}): Database =>
  new Database({ default: "main", main: { driver: "sqlite", path: "data/app.sqlite", ...settings } }, folder);

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "ashlar-sqlite-"));
  database = open();
});
afterEach(async () => {
  await database.close();
  await rm(folder, { recursive: true });
});

const rows = async (text: string, on = database): Promise<unknown[]> => (await sql.raw(text).execute(on.kysely)).rows;

test("the file and its folder are created when the database is first used", async () => {
  expect(existsSync(join(folder, "data"))).toBe(false);
  await database.connect();
  expect(existsSync(join(folder, "data/app.sqlite"))).toBe(true);
});

test.skipIf(process.platform === "win32")("S63 only the owner can read the file and those beside it", async () => {
  const before = process.umask(0o022);
  try {
    await rows("create table t (n integer)");
    await database.connection().maintenance.withMigrationLock(async () => {});
  } finally {
    process.umask(before);
  }
  const modes = (await readdir(join(folder, "data"))).sort().map(async (name) => {
    return [name, ((await stat(join(folder, "data", name))).mode & 0o777).toString(8)];
  });
  expect(await Promise.all(modes)).toEqual([
    ["app.sqlite", "600"],
    ["app.sqlite-migrations", "600"],
    ["app.sqlite-shm", "600"],
    ["app.sqlite-wal", "600"],
  ]);
});

test.skipIf(process.platform === "win32")("S63 an existing file keeps the mode that it was given", async () => {
  await writeFile(join(folder, "shared.sqlite"), "");
  await chmod(join(folder, "shared.sqlite"), 0o640);
  const shared = open({ path: "shared.sqlite" });
  await rows("create table t (n integer)", shared);
  expect((await stat(join(folder, "shared.sqlite"))).mode & 0o777).toBe(0o640);
  await shared.close();
});

test("a file that cannot be opened is reported", async () => {
  const blocked = open({ path: "/dev/null/app.sqlite" });
  await expect(blocked.connect()).rejects.toMatchObject({
    code: "E_DATABASE",
    message: expect.stringMatching(
      /^The SQLite file \/dev\/null\/app.sqlite cannot be opened: E\w+: .* '\/dev\/null'\.$/,
    ),
  });
});

test("the statistics of the query planner are kept when all tables are emptied, and the counts of keys are not", async () => {
  await rows("create table t (id integer primary key autoincrement, n integer)");
  await rows("create index t_n on t (n)");
  await rows("insert into t (n) values (1)");
  await rows("analyze");
  await database.connection().maintenance.emptyTables([]);
  expect(await rows("select tbl from sqlite_stat1")).toEqual([{ tbl: "t" }]);
  await rows("insert into t (n) values (1)");
  expect(await rows("select id from t")).toEqual([{ id: 1 }]);
});

test("closing moves the log into the file and removes it", async () => {
  await rows("create table t (n integer)");
  await database.connection().rows("select n from t", []);
  expect(existsSync(join(folder, "data/app.sqlite-wal"))).toBe(true);
  await database.close();
  expect(await readdir(join(folder, "data"))).toEqual(["app.sqlite"]);
});

test("a path that is a directory is reported", async () => {
  const wrong = open({ path: "." });
  const message = `The SQLite file ${folder} cannot be opened: it is a directory. Correct the path in config/database.ts.`;
  await expect(wrong.connect()).rejects.toMatchObject({ code: "E_DATABASE", message });
});

// Root has every permission, so another user connects.
describe.skipIf(process.getuid?.() !== 0)("a missing permission is reported", () => {
  const NOBODY = 65_534;
  const UNNAMED = 54_321;

  test.each([
    ["for the file", NOBODY, "data/app.sqlite", 0o600, 0o777],
    ["for its folder, in which the log is created", NOBODY, "data", 0o666, 0o755],
    ["to a user without a name, as containers have them", UNNAMED, "data/app.sqlite", 0o600, 0o777],
  ])("%s", async (_, uid, place, mode, folderMode) => {
    await database.connect();
    await database.close();
    await chmod(folder, 0o755);
    await chmod(join(folder, "data"), folderMode);
    await chmod(join(folder, "data/app.sqlite"), mode);
    const script = `
      import { Database } from ${JSON.stringify(new URL("../connections/database.ts", import.meta.url))};
      const database = new Database({ default: "main", main: { driver: "sqlite", path: "data/app.sqlite" } }, ${JSON.stringify(folder)});
      await database.connect().catch(({ code, message }) => console.log(code, message));
    `;
    const options = { encoding: "utf8", cwd: "/", uid, gid: uid } as const;
    const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", script], options);
    const user = uid === NOBODY ? execFileSync("id", ["-un", String(NOBODY)], { encoding: "utf8" }).trim() : uid;
    expect(stdout + stderr).toBe(
      `E_DATABASE The SQLite file ${folder}/data/app.sqlite cannot be opened: ` +
        `${user} has no permission to read and write ${join(folder, place)}. ` +
        `Run the application as the owner, or change it: chown -R ${user} "${folder}/data"\n`,
    );
  });
});

test("a write-ahead log, foreign keys, NORMAL, overwritten deletions, and no busy timeout of SQLite's own", async () => {
  const values = [];
  for (const name of ["journal_mode", "foreign_keys", "busy_timeout", "synchronous", "secure_delete"]) {
    values.push(Object.values((await rows(`pragma ${name}`))[0] as object)[0]);
  }
  expect(values).toEqual(["wal", 1, 0, 1, 1]);
});

test("S70 deleted content cannot be found in the file", async () => {
  const path = join(folder, "data/app.sqlite");
  await rows("create table t (text text)");
  for (let count = 0; count < 200; count++) await rows(`insert into t values ('${count} grace@example.com')`);
  await rows("pragma wal_checkpoint(truncate)");
  expect(await readFile(path, "latin1")).toContain("grace@example.com");
  await rows("delete from t");
  await rows("pragma wal_checkpoint(truncate)");
  expect(await readFile(path, "latin1")).not.toContain("grace@example.com");
});

test("a test database waits for as long as the database that it stands for", async () => {
  const setup: DialectSetup = { where: "main", root: folder, observer: { notify: null } };
  const dialect = sqlite({ path: "app.sqlite", acquireTimeoutMs: 1234 })(setup);
  const standIn = (await dialect.maintenance.createTestDatabase()).dialect(setup);
  expect([standIn.isInMemory, standIn.transactions.acquireTimeoutMs]).toEqual([true, 1234]);
  await Promise.all([dialect.close(), standIn.close()]);
});

test("it works in memory too, including transactions, and creates no file", async () => {
  onTestFinished(() => rm(":memory:", { force: true }));
  const memory = open({ path: ":memory:" });
  await rows("create table t (n integer)", memory);
  await memory.transaction(() => rows("insert into t values (1)", memory));
  const attempt = memory.transaction(async () => {
    await rows("insert into t values (2)", memory);
    throw new Error("no");
  });
  await expect(attempt).rejects.toThrow("no");
  expect(await rows("select n from t", memory)).toEqual([{ n: 1 }]);
  await memory.close();
  expect(existsSync(":memory:")).toBe(false);
});

test("integers are stored as integers, even in a text column", async () => {
  await rows("create table t (a text, b, c real)");
  await database.kysely.insertInto("t").values({ a: 1, b: 2, c: 3 }).execute();
  expect(await rows("select a, typeof(b) as b, typeof(c) as c from t")).toEqual([{ a: "1", b: "integer", c: "real" }]);
});

test("booleans, times, bytes, fractions and large numbers are bound with their own types", async () => {
  const time = new Date("2026-01-31T12:00:00.123Z");
  const { rows: bound } =
    await sql`select ${true} as yes, ${false} as no, ${time} as time, ${new Uint8Array([1, 2])} as bytes,
    ${1.5} as fraction, ${9007199254740993n} as large, ${-0} as zero, ${1e300} as huge, ${null} as empty`.execute(
      database.kysely,
    );
  expect(bound).toEqual([
    {
      yes: 1,
      no: 0,
      time: "2026-01-31T12:00:00.123Z",
      bytes: new Uint8Array([1, 2]),
      fraction: 1.5,
      large: 9007199254740993n,
      zero: 0,
      huge: 1e300,
      empty: null,
    },
  ]);
});

test.each([[{}], [[]], [[1]], [undefined], [Number.NaN], [Number.POSITIVE_INFINITY], [new Date(Number.NaN)]])(
  "%s is refused, because the driver would store null",
  async (value) => {
    await expect(sql`select ${value}`.execute(database.kysely)).rejects.toMatchObject({ code: "E_INVALID_QUERY" });
  },
);

test.each([[2n ** 63n], [-(2n ** 63n) - 1n], ["a\0b"], ["\ud800"]])(
  "%s is refused as input, because no column of any database can hold it",
  async (value) => {
    await expect(sql`select ${value}`.execute(database.kysely)).rejects.toMatchObject({ code: "E_INVALID_INPUT" });
  },
);

test("the largest and the smallest integer are bound unchanged", async () => {
  const { rows: bound } = await sql`select ${2n ** 63n - 1n} as most, ${-(2n ** 63n)} as least`.execute(
    database.kysely,
  );
  expect(bound).toEqual([{ most: 2n ** 63n - 1n, least: -(2n ** 63n) }]);
});

test("Kysely's introspection lists the existing tables", async () => {
  await rows("create table t (n integer)");
  expect((await database.kysely.introspection.getTables()).map(({ name }) => name)).toEqual(["t"]);
});

test("S67 migrations wait for those of another connection to end", async () => {
  const order: string[] = [];
  await database.connect();
  const other = new SqliteMigrationLock(join(folder, "data/app.sqlite"));
  await other.acquire();
  const waiting = database.connection().maintenance.withMigrationLock(async () => order.push("second"));
  for (let turn = 0; turn < 10; turn++) await nextTurn();
  order.push("first");
  other.release();
  await waiting;
  expect(order).toEqual(["first", "second"]);
});

test("rows without broken references are not a violation", async () => {
  await rows("create table parents (id integer primary key)");
  await rows("create table children (parent_id integer references parents (id))");
  const connection = database.connection();
  await connection.maintenance.rebuilding(async () => {
    await rows("insert into children values (1)");
    await rows("insert into parents values (1)");
    await connection.maintenance.checkForeignKeys();
  });
  expect(await rows("select * from children")).toEqual([{ parent_id: 1 }]);
});

test("a statement that writes and returns large integers runs once", async () => {
  await rows("create table t (id integer primary key, n integer)");
  const insert = database.kysely.insertInto("t").values({ n: 9007199254740993n }).returningAll();
  expect(await insert.execute()).toEqual([{ id: 1, n: 9007199254740993n }]);
  expect(await insert.execute()).toEqual([{ id: 2, n: 9007199254740993n }]);
  expect(await rows("insert into t (n) select 9007199254740993 returning *")).toEqual([
    { id: 3, n: 9007199254740993n },
  ]);
  expect(await rows("select count(*) as n from t")).toEqual([{ n: 3 }]);
});

test("a finder's statement returns large integers unchanged, the first time and every other", async () => {
  await rows("create table t (id integer primary key, n integer)");
  await rows("insert into t values (7, 9007199254740993)");
  const find = async () => await database.connection().first("select id, n from t where id = ?", 7);
  const row = { id: 7, n: 9007199254740993n };
  const asked: string[] = [];
  database.connection().onQuery(({ sql: text }) => asked.push(text));
  expect([await find(), await find(), await find()]).toEqual([row, row, row]);
  expect(asked).toHaveLength(3);
});

test("a finder's statement finds nothing for an integer that no column can hold", async () => {
  await rows("create table t (id integer primary key)");
  expect(await database.connection().first("select id from t where id = ?", 2n ** 64n)).toBeUndefined();
});

test("a finder's statement stops reading after the first row", async () => {
  await rows("create table t (n integer)");
  await rows("insert into t values (-7), (-9223372036854775808)");
  const first = await database.connection().first("select abs(n) as n from t where n < ?", 0);
  expect(first).toEqual({ n: 7 });
  await expect(rows("select abs(n) as n from t")).rejects.toMatchObject({ code: "E_DATABASE" });
});

test("the most recently used statements are kept prepared, 500 of them", async () => {
  const prepare = vi.spyOn(DatabaseSync.prototype, "prepare");
  onTestFinished(() => prepare.mockRestore());
  const connection = database.connection();
  const run = async (from: number, to: number): Promise<number> => {
    await connection.reserved(async () => {
      for (let n = from; n <= to; n++) await connection.rows(`select ${n}`, []);
    });
    return prepare.mock.calls.filter(([text]) => text.startsWith("select")).length;
  };
  expect(await run(1, 500)).toBe(500);
  expect(await run(1, 500)).toBe(500);
  expect(await run(501, 501)).toBe(501);
  expect(await run(2, 500)).toBe(501);
  expect(await run(1, 1)).toBe(502);
});

test("a row whose key no number can hold is stored once, and later statements on the connection report it correctly", async () => {
  await rows("create table t (id integer primary key, n integer)");
  const key = 9007199254740993n;
  const plain = await database.kysely.insertInto("t").values({ id: key, n: 1 }).executeTakeFirst();
  const returned = await database.transaction(async () => {
    await database.kysely.updateTable("t").set({ n: 2 }).execute();
    return await database.kysely.insertInto("t").values({ n: 3 }).returning("id").execute();
  });
  expect([plain.insertId, returned]).toEqual([key, [{ id: key + 1n }]]);
  expect(await rows("select id, n from t order by id")).toEqual([
    { id: key, n: 2 },
    { id: key + 1n, n: 3 },
  ]);
});

test("a second statement in one text is refused instead of ignored", async () => {
  await expect(rows("create table a (n); create table b (n)")).rejects.toMatchObject({ code: "E_INVALID_QUERY" });
  await rows("create table a (n); ");
  expect(await rows("select name from sqlite_schema")).toEqual([{ name: "a" }]);
});

test("insertId and the number of rows are reported", async () => {
  await rows("create table t (id integer primary key, n integer)");
  const inserted = await database.kysely
    .insertInto("t")
    .values([{ n: 1 }, { n: 2 }])
    .executeTakeFirst();
  const updated = await database.kysely.updateTable("t").set({ n: 3 }).executeTakeFirst();
  const deleted = await database.kysely.deleteFrom("t").where("id", "=", 1).executeTakeFirst();
  expect(await rows("insert into t (n) values (4)")).toEqual([]);
  expect([
    inserted.insertId,
    inserted.numInsertedOrUpdatedRows,
    updated.numUpdatedRows,
    deleted.numDeletedRows,
  ]).toEqual([2n, 2n, 2n, 1n]);
});

test("a transaction takes the write lock at its beginning; a read-only one does not", async () => {
  await rows("create table t (n integer)");
  const impatient = open({ busyTimeoutMs: 0 });
  await database.transaction(async () => {
    await expect(impatient.transaction(async () => 1)).rejects.toMatchObject({ code: "E_DATABASE_BUSY", status: 503 });
    expect(await impatient.transaction(() => rows("select n from t", impatient), { readOnly: true })).toEqual([]);
    const byKysely = impatient.kysely.transaction().setAccessMode("read only").setIsolationLevel("serializable");
    expect(await byKysely.execute((trx) => trx.selectFrom("t").selectAll().execute())).toEqual([]);
    const writing = byKysely.setAccessMode("read write").execute(async () => 1);
    await expect(writing).rejects.toMatchObject({ code: "E_DATABASE_BUSY" });
    // Readers don't wait for a writer.
    expect(await rows("select n from t", impatient)).toEqual([]);
  });
  expect(await impatient.transaction(async () => 1)).toBe(1);
  await impatient.close();
});

test("commits of another process do not make statements fail: the busy timeout lets them wait", async () => {
  await rows("create table t (n integer)");
  const other = new DatabaseSync(join(folder, "data/app.sqlite"));
  other.exec("insert into t values (1)");
  await rows("insert into t values (2)");
  expect(other.prepare("select count(*) as n from t").get()).toEqual({ n: 2 });
  other.close();
});

test("a commit that fails rolls back, and the connection stays usable", async () => {
  await rows("create table parents (id integer primary key)");
  await rows("create table children (parent_id integer references parents (id) deferrable initially deferred)");
  const attempt = database.transaction(() => rows("insert into children values (7)"));
  await expect(attempt).rejects.toMatchObject({ code: "E_FOREIGN_KEY_VIOLATION" });
  expect(await rows("select * from children")).toEqual([]);
  await database.transaction(() => rows("insert into parents values (1)"));
  expect(await rows("select * from parents")).toEqual([{ id: 1 }]);
});

test("a transaction that SQLite itself has rolled back ends with the error that caused it", async () => {
  await rows("create table t (n integer unique)");
  await rows("insert into t values (1)");
  const asked: string[] = [];
  const end = database.onQuery(({ sql: text }) => asked.push(text));
  const attempt = database.transaction(async () => {
    await rows("insert into t values (2)");
    await rows("insert or rollback into t values (1)");
  });
  await expect(attempt).rejects.toMatchObject({ code: "E_UNIQUE_VIOLATION" });
  end();
  // No rollback is sent, because the transaction has already been rolled back.
  expect(asked).toEqual(["begin immediate", "insert into t values (2)", "insert or rollback into t values (1)"]);
  expect(await rows("select n from t")).toEqual([{ n: 1 }]);
});

test.each([
  ["parent_id integer references parents (id))", 5, ["row 1", "row 2", "row 3", "row 4", "row 5"], ""],
  ["parent_id integer references parents (id))", 7, ["row 1", "row 2", "row 3", "row 4", "row 5"], "; and 2 more"],
  ["parent_id integer primary key references parents (id)) without rowid", 1, ["a row"], ""],
])("broken references are reported, for the first five rows: %s, %s times", async (columns, count, named, more) => {
  await rows("create table parents (id integer primary key)");
  await rows(`create table children (${columns}`);
  const connection = database.connection();
  const attempt = connection.maintenance.rebuilding(async () => {
    for (let n = 1; n <= count; n++) await rows(`insert into children values (${n})`);
    await connection.maintenance.checkForeignKeys();
  });
  const told = named.map((row) => `${row} of "children" refers to a row of "parents" that does not exist`).join("; ");
  await expect(attempt).rejects.toMatchObject({
    code: "E_FOREIGN_KEY_VIOLATION",
    table: "children",
    columns: [],
    constraint: null,
    message: expect.stringContaining(`${told}${more}. Foreign keys are off`),
  });
});

test("everything is dropped once the file is free, in any order, and foreign keys are enforced again", async () => {
  await rows("create table parents (id integer primary key)");
  await rows("create table children (parent_id integer references parents (id) on delete restrict)");
  await rows("insert into parents values (1)");
  await rows("insert into children values (1)");
  await rows(`create table "a ""b""" (n integer)`);
  await rows("create virtual table search using fts5(body)");
  await rows(`create view "v ""w""" as select * from parents`);
  // `vacuum` puts the virtual table and the view after the tables.
  await rows("vacuum");
  const other = new DatabaseSync(join(folder, "data/app.sqlite"));
  other.exec("begin immediate");
  const dropping = database.connection().maintenance.dropEverything();
  await nextTurn();
  other.exec("rollback");
  await dropping;
  expect(other.prepare("select name from sqlite_schema").all()).toEqual([]);
  other.close();
  expect(await rows("pragma foreign_keys")).toEqual([{ foreign_keys: 1 }]);
});

test("once SQLite itself has rolled back a transaction, nothing more of it is stored, even if the error was caught", async () => {
  await rows("create table t (n integer unique)");
  await rows("insert into t values (1)");
  const lose = (): Promise<unknown> => rows("insert or rollback into t values (1)").catch(() => undefined);
  const gone = { code: "E_DATABASE", cause: expect.objectContaining({ code: "E_UNIQUE_VIOLATION" }) };
  const goingOn = database.transaction(async () => {
    await lose();
    const first = async () => await database.connection().first("insert into t values (?) returning n", 7);
    await expect(first()).rejects.toMatchObject(gone);
    await rows("insert into t values (2)");
  });
  await expect(goingOn).rejects.toMatchObject(gone);
  await expect(database.transaction(lose)).rejects.toMatchObject(gone);
  const around = database.transaction(async () => {
    await database.transaction(() => rows("insert or rollback into t values (1)")).catch(() => undefined);
    expect(await rows("insert into t values (3)").catch(({ code }) => code)).toBe("E_DATABASE");
    await database.transaction(() => rows("insert into t values (4)")).catch(() => undefined);
  });
  await expect(around).rejects.toMatchObject({ code: "E_DATABASE" });
  expect(await rows("select n from t")).toEqual([{ n: 1 }]);
  await database.transaction(() => rows("insert into t values (5)"));
  await rows("insert into t values (6)");
  expect(await rows("select n from t")).toEqual([{ n: 1 }, { n: 5 }, { n: 6 }]);
});

test("a closed database stays closed, and closing it twice is not an error", async () => {
  await database.connect();
  await database.connect();
  await database.close();
  await database.close();
  expect(await readdir(join(folder, "data"))).toEqual(["app.sqlite"]);
  const closed = { code: "E_DATABASE", message: "The connection to the database is closed." };
  await expect(rows("select 1")).rejects.toMatchObject(closed);
  await expect(database.connect()).rejects.toMatchObject(closed);
});

test("closing waits for a transaction, however long it takes", async () => {
  const hurried = open({ acquireTimeoutMs: 5000 });
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const [started, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const order: string[] = [];
  const transaction = hurried.transaction(async () => {
    started.resolve();
    await gate.promise;
    await rows("create table t (n integer)", hurried);
    order.push("done");
  });
  await started.promise;
  const closing = hurried.close().then(() => order.push("closed"));
  vi.advanceTimersByTime(5001);
  await nextTurn();
  gate.resolve();
  await Promise.all([transaction, closing]);
  expect(order).toEqual(["done", "closed"]);
});
