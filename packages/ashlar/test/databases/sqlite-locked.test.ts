import { DatabaseSync } from "node:sqlite";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createApplication, createLogger } from "../../src/boot/index.ts";
import { type Connection, Database, DatabaseProvider, sql } from "../../src/database/index.ts";
import { Route } from "../../src/routing/index.ts";
import { sqlite, type TestDatabase } from "../support/services.ts";

let own: TestDatabase;
/** A connection unknown to the framework; to SQLite, this is another process. */
let other: DatabaseSync;
let locked: Database;
let origin: string;
const ending: (() => unknown)[] = [];

/** Serves an application on the file, and opens the file a second time, for statements without a request. */
const serve = async (settings: object = {}): Promise<void> => {
  const main = { ...own.configuration, ...settings };
  const insert = (): Promise<unknown> =>
    sql`insert into notes values ('x')`.execute(application.container.make("database").kysely);
  const application = await createApplication({
    root: "/",
    routes: [
      Route.get("/nothing", () => "answered"),
      Route.get("/count", async () => {
        const { rows } = await sql`select count(*) as n from notes`.execute(
          application.container.make("database").kysely,
        );
        return rows[0];
      }),
      Route.get("/insert", async () => {
        await insert();
        return "written";
      }),
      Route.get("/transaction", () =>
        application.container.make("database").transaction(async () => {
          await insert();
          return "written";
        }),
      ),
    ],
    providers: [DatabaseProvider],
    config: { database: { DATABASES: { default: "main", main } } },
    environment: { APP_ENV: "test", APP_KEY: "k3Vw9qLz7Rt2Xn8Bc5Mf1Hd6Js4Pg0YaQeTuIoWi" },
    logger: createLogger({ name: "test", environment: "test", log: { level: "silent", requests: false } } as never),
  });
  ending.push(() => application.shutdown());
  ({ url: origin } = await application.listen({ port: 0, hostname: "127.0.0.1" }));
  locked = new Database({ default: "main", main }, "/");
  ending.push(() => locked.close());
  await locked.connect();
};

beforeEach(async () => {
  own = await sqlite.open();
  await sql`create table notes (text text)`.execute(own.database.kysely);
  other = new DatabaseSync(String(own.configuration.path), { timeout: 0 });
});
afterEach(async () => {
  other.close();
  for (const end of ending.splice(0).reverse()) await end();
  await own.drop();
});

const get = async (path: string): Promise<[number, string]> => {
  const response = await fetch(new URL(path, origin), { headers: { accept: "application/json" } });
  return [response.status, await response.text()];
};
const insert = (text: string): Promise<unknown> => sql`insert into notes values (${text})`.execute(locked.kysely);
const texts = (): unknown[] =>
  other
    .prepare("select text from notes order by rowid")
    .all()
    .map(({ text }) => text);

test.each(["/insert", "/transaction"])(
  "while another process writes, %s waits and everything else is handled",
  async (path) => {
    await serve();
    other.exec("begin immediate");
    const order: string[] = [];
    const writing = get(path).then((answer) => {
      order.push("written");
      return answer;
    });
    for (let n = 0; n < 5; n++) expect(await get("/nothing")).toEqual([200, "answered"]);
    expect((await get("/nowhere"))[0]).toBe(404);
    expect(await get("/count")).toEqual([200, '{"n":0}']);
    order.push("others answered");
    other.exec("insert into notes values ('first'); commit");
    expect(await writing).toEqual([200, "written"]);
    expect(order).toEqual(["others answered", "written"]);
    expect(texts()).toEqual(["first", "x"]);
  },
);

test.each(["/insert", "/transaction"])("an operation that never gets the file is a 503: %s", async (path) => {
  await serve({ busyTimeoutMs: 30 });
  other.exec("begin immediate");
  expect(await get(path)).toMatchObject([503, expect.stringContaining("E_DATABASE_BUSY")]);
  other.exec("rollback");
  expect(await get(path)).toEqual([200, "written"]);
});

test("the error names the setting, and nothing is written later", async () => {
  await serve({ busyTimeoutMs: 30 });
  other.exec("begin immediate");
  const message = `The SQLite file ${own.configuration.path} was locked by another process for all of 30 ms. Keep its transactions short, or set busyTimeoutMs in config/database.ts.`;
  const cause = expect.objectContaining({ errcode: 5 });
  const expected = { code: "E_DATABASE_BUSY", databaseCode: "5", status: 503, message, cause };
  await expect(insert("a")).rejects.toMatchObject(expected);
  await expect(locked.transaction(() => insert("b"))).rejects.toMatchObject(expected);
  other.exec("rollback");
  await insert("c");
  expect(texts()).toEqual(["c"]);
});

test("writes of one process keep their order while they wait", async () => {
  await serve();
  const asked: string[] = [];
  locked.onQuery(({ sql: text }) => asked.push(text));
  other.exec("begin immediate");
  const writes = ["a", "b", "c"].map((text) => insert(text));
  const last = locked.transaction(() => insert("d"));
  await get("/nothing");
  other.exec("rollback");
  await Promise.all([...writes, last]);
  expect(texts()).toEqual(["a", "b", "c", "d"]);
  // However often they were retried.
  expect(asked).toHaveLength(6);
});

test("a delayed insert returns its row, or its error", async () => {
  await serve();
  await sql`create unique index texts on notes (text)`.execute(own.database.kysely);
  const connection = locked.connection();
  const first = (text: string) => connection.first("insert into notes values (?) returning text", text);
  other.exec("begin immediate; insert into notes values ('taken')");
  const waiting = connection.reserved(async () => [await first("free"), await insert("taken").catch((error) => error)]);
  await get("/nothing");
  expect(texts()).toEqual(["taken"]);
  other.exec("commit");
  expect(await waiting).toEqual([{ text: "free" }, expect.objectContaining({ code: "E_UNIQUE_VIOLATION" })]);
  other.exec("begin immediate; insert into notes values ('late')");
  const refused = insert("late");
  other.exec("commit");
  await expect(refused).rejects.toMatchObject({ code: "E_UNIQUE_VIOLATION", column: "text" });
});

test("a transaction keeps its lock while another process waits for its turn", async () => {
  await serve();
  const [started, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const first = own.database.transaction(async () => {
    await sql`insert into notes values ('one')`.execute(own.database.kysely);
    started.resolve();
    await gate.promise;
    await sql`insert into notes values ('two')`.execute(own.database.kysely);
  });
  await started.promise;
  const second = insert("three");
  await get("/nothing");
  expect(texts()).toEqual([]);
  gate.resolve();
  await Promise.all([first, second]);
  expect(texts()).toEqual(["one", "two", "three"]);
});

test("reads and writes only need a promise for a locked file", async () => {
  await serve();
  const connection = locked.connection();
  await insert("a");
  expect(connection.first("select text from notes where text = ?", "a")).toEqual({ text: "a" });
  expect(connection.rows("insert into notes values (?) returning text", ["b"])).toEqual([{ text: "b" }]);
  other.exec("begin immediate");
  const waiting = connection.rows("insert into notes values (?) returning text", ["c"]);
  expect(waiting).toBeInstanceOf(Promise);
  other.exec("rollback");
  expect(await waiting).toEqual([{ text: "c" }]);
});

/** Opens the file without a write-ahead log: then reads wait too, and so does the end of a transaction. */
async function openWithoutLog(): Promise<Connection> {
  await own.database.close();
  locked = new Database({ default: "main", main: own.configuration }, "/");
  ending.push(() => locked.close());
  const connection = locked.connection();
  await locked.connect();
  expect(await connection.rows("pragma journal_mode = delete", [])).toEqual([{ journal_mode: "delete" }]);
  return connection;
}

/** Locks the file completely, so that it can't even be opened. That is only possible without a write-ahead log. */
async function lockUnopened(settings: object = {}): Promise<Database> {
  await openWithoutLog();
  await locked.close();
  locked = new Database({ default: "main", main: { ...own.configuration, ...settings } }, "/");
  ending.push(() => locked.close());
  other.exec("begin exclusive");
  return locked;
}

test.each([
  ["the boot", () => locked.connect().then(() => [])],
  ["a read", () => locked.connection().rows("select text from notes", [])],
  ["a finder", async () => (await locked.connection().first("select 1 where 1 = ?", 2)) ?? []],
  ["a write", () => insert("a").then(() => [])],
  ["a transaction", () => locked.transaction(() => [])],
] as const)("while another process has locked the file, opening it for %s stops nothing else", async (_, begin) => {
  await lockUnopened();
  const order: string[] = [];
  const opened = Promise.resolve(begin()).then((result) => {
    order.push("opened");
    return result;
  });
  for (let turn = 0; turn < 20; turn++) await nextTurn();
  order.push("others had their turns");
  other.exec("commit");
  expect(await opened).toEqual([]);
  expect(order).toEqual(["others had their turns", "opened"]);
});

test("a file that stays locked while it is opened is E_DATABASE_BUSY", async () => {
  await lockUnopened({ busyTimeoutMs: 0 });
  for (const attempt of [() => locked.connect(), () => insert("a"), () => locked.transaction(() => {})]) {
    await expect(attempt()).rejects.toMatchObject({ code: "E_DATABASE_BUSY", databaseCode: "5" });
  }
});

test("the wait for its turn counts toward a caller's wait for the file", async () => {
  await serve({ busyTimeoutMs: 10_000 });
  other.exec("begin immediate");
  const clock = vi.spyOn(performance, "now");
  const begun = performance.now();
  const gate = Promise.withResolvers<void>();
  const first = locked.connection().reserved(() => gate.promise);
  const second = insert("late");
  await nextTurn();
  // The second one gets its turn just before its time is up.
  clock.mockImplementation(() => begun + 9_999);
  gate.resolve();
  await first;
  await nextTurn();
  clock.mockImplementation(() => begun + 10_100);
  await expect(second).rejects.toMatchObject({ code: "E_DATABASE_BUSY" });
  clock.mockRestore();
});

test("beyond maxWaiting, a write is refused at once, and reads continue", async () => {
  await serve({ maxWaiting: 2 });
  other.exec("begin immediate");
  const waiting = [insert("a"), insert("b"), insert("c")];
  await expect(insert("d")).rejects.toMatchObject({
    code: "E_OVERLOADED",
    message: "Transactions are using the connection to the database, and 2 more are waiting for it.",
  });
  expect(await get("/count")).toEqual([200, '{"n":0}']);
  other.exec("rollback");
  await Promise.all(waiting);
  expect(texts()).toEqual(["a", "b", "c"]);
});

test("a commit that waits for readers is awaited", async () => {
  await openWithoutLog();
  const order: string[] = [];
  other.exec("begin; select * from notes");
  other.prepare("select * from notes").all();
  const transaction = locked.transaction(() => insert("a")).then(() => order.push("committed"));
  for (let turn = 0; turn < 20; turn++) await nextTurn();
  order.push("read");
  other.exec("commit");
  await transaction;
  expect(order).toEqual(["read", "committed"]);
  expect(texts()).toEqual(["a"]);
});

test("tables are emptied once the file can be written, and foreign keys are enforced again", async () => {
  const connection = await openWithoutLog();
  await connection.rows("insert into notes values ('a')", []);
  await connection.rows("create table answers (id integer primary key, other_id integer references answers (id))", []);
  other.exec("begin; select * from notes");
  other.prepare("select * from notes").all();
  const emptying = connection.maintenance.emptyTables([]).then(async () => {
    expect(texts()).toEqual([]);
    expect(await connection.rows("pragma foreign_keys", [])).toEqual([{ foreign_keys: 1 }]);
  });
  for (let turn = 0; turn < 20; turn++) await nextTurn();
  other.exec("commit");
  await emptying;
});

test("foreign keys are checked, tables are emptied, and everything is dropped, once the file can be read", async () => {
  const connection = await openWithoutLog();
  await connection.rows("create table answers (id integer primary key, other_id integer references answers (id))", []);
  await connection.maintenance.rebuilding(async () => {
    other.exec("begin exclusive");
    const checking = connection.maintenance.checkForeignKeys();
    other.exec("commit");
    await checking;
  });
  other.exec("begin exclusive");
  const emptying = connection.maintenance.emptyTables([]);
  await nextTurn();
  other.exec("commit");
  await emptying;
  other.exec("begin exclusive");
  const dropping = connection.maintenance.dropEverything();
  await nextTurn();
  other.exec("commit");
  await dropping;
  expect(other.prepare("select * from sqlite_schema").all()).toEqual([]);
});

test("a read that waited for another process returns its rows, including those of a temporary table, or its error", async () => {
  const connection = await openWithoutLog();
  await connection.rows("create temporary table mine (n integer)", []);
  await connection.rows("insert into mine values (7)", []);
  other.exec("begin exclusive; insert into notes values ('x')");
  const reading = Promise.allSettled([
    connection.rows("select text from notes", []),
    connection.first("select text from notes where text = ?", "x"),
    connection.rows("select n from mine", []),
    connection.first("select n from mine where n = ?", 7),
    connection.rows("select wrong from notes", []),
    connection.first("select wrong from notes where text = ?", "x"),
  ]);
  other.exec("commit");
  expect(await reading).toEqual([
    { status: "fulfilled", value: [{ text: "x" }] },
    { status: "fulfilled", value: { text: "x" } },
    { status: "fulfilled", value: [{ n: 7 }] },
    { status: "fulfilled", value: { n: 7 } },
    { status: "rejected", reason: expect.objectContaining({ code: "E_DATABASE" }) },
    { status: "rejected", reason: expect.objectContaining({ code: "E_DATABASE" }) },
  ]);
});
