import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { createIndexConcurrently, Database, dryRun, migrationRisks, sql } from "../../src/database/index.ts";
import { MigrationFolder } from "../support/migration-folder.ts";
import { mariadb, onMariadb, onPostgres, postgres, sqlite, type TestDatabase } from "../support/services.ts";

let own: TestDatabase;
let database: Database;

/** How many rows the tables have: enough to tell that a statement reads them. */
const ROWS = 500;

const execute = (text: string) => sql.raw(text).execute(database.kysely);

async function fill(): Promise<void> {
  await execute(
    "create table users (id integer not null primary key, name varchar(100), note varchar(100), unique (name))",
  );
  await execute(
    "create table orders (id integer not null primary key, user_id integer, total integer, note varchar(100))",
  );
  for (const table of ["users", "orders"]) {
    const column = table === "users" ? "name" : "note";
    for (let from = 0; from < ROWS; from += 100) {
      const values = Array.from({ length: 100 }, (_, n) => `(${from + n}, 'row ${from + n}')`);
      await execute(`insert into ${table} (id, ${column}) values ${values.join(", ")}`);
    }
  }
}

/** The warnings about a migration with these statements. */
async function risksOf(statements: readonly string[], transaction = true) {
  const text = `
    import { sql } from "${import.meta.resolve("../../src/database/index.ts")}";
    export const transaction = ${transaction};
    export async function up(database) {
      for (const text of ${JSON.stringify(statements)}) await sql.raw(text).execute(database);
    }`;
  const folder = new MigrationFolder(database, { "2026_01_01_000000_change": text });
  onTestFinished(folder.remove);
  const run = await dryRun(database.dialect, { name: "change", path: `${folder.path}/2026_01_01_000000_change.ts` });
  expect(run.error).toBe(null);
  return migrationRisks(database.dialect, [run]);
}

const LOCKS = /^(?!.*It fails:).*\bwaits?\b/;
const isSaidToLock = async (statements: readonly string[], transaction?: boolean) =>
  (await risksOf(statements, transaction)).some(({ problem }) => LOCKS.test(problem));

afterEach(() => own.drop());

await onPostgres("what changes lock on PostgreSQL", () => {
  beforeEach(async () => {
    own = await postgres.open({ poolSize: 4 });
    database = own.database;
    await fill();
  });

  /** Lock modes that keep other connections from writing. */
  const KEEPING_WRITES = ["ShareLock", "ShareRowExclusiveLock", "ExclusiveLock", "AccessExclusiveLock"];

  /**
   * Whether a statement blocks writes to a table for as long as it takes to read all rows. It checks the locks held at
   * the end, and whether rows were read or the table's file was rewritten.
   *
   * @param before statements of the same transaction
   */
  async function blocks(text: string, before: readonly string[] = []): Promise<boolean> {
    const undone = new Error("It is rolled back.");
    const look = `select c.relname as name, array_agg(distinct l.mode) as modes, max(pg_relation_filenode(c.oid)) as file,
        max(s.seq_tup_read + coalesce(s.idx_tup_fetch, 0)) as read
      from pg_class c join pg_stat_xact_user_tables s on s.relid = c.oid
      left join pg_locks l on l.relation = c.oid and l.pid = pg_backend_pid()
      where c.relname in ('orders', 'users') group by c.relname`;
    let result = false;
    interface Seen {
      readonly name: string;
      readonly modes: string[];
      readonly file: number;
      readonly read: string;
    }
    const seen = async () => (await execute(look)).rows as Seen[];
    const task = database.connection().transaction(async () => {
      for (const one of before) await execute(one);
      const first = new Map((await seen()).map((one) => [one.name, one]));
      await execute(text);
      result = (await seen()).some(({ name, modes, file, read }) => {
        const works = Number(read) - Number(first.get(name)!.read) >= ROWS || file !== first.get(name)!.file;
        return works && modes.some((mode) => KEEPING_WRITES.includes(mode));
      });
      throw undone;
    });
    await expect(task).rejects.toBe(undone);
    return result;
  }

  const CHECK = "alter table orders add constraint one check (note is not null) not valid";
  const REFERENCE = "alter table orders add constraint one foreign key (user_id) references users (id) not valid";

  test.each<[statement: string, before?: string[]]>([
    ["create index one on orders (note)"],
    ["create unique index one on orders (note)"],
    ["alter table orders add column paid_at timestamptz default clock_timestamp()"],
    ["alter table orders add column number serial"],
    ["alter table orders add column twice integer generated always as (total * 2) stored"],
    ["alter table orders add column code integer unique"],
    ["alter table orders add column buyer_id integer default 1 references users (id)"],
    ["alter table orders alter column total type bigint"],
    ["alter table orders alter column note set not null"],
    ["alter table orders add constraint one unique (note)"],
    ["alter table orders add constraint one foreign key (user_id) references users (id)"],
    ["alter table orders add constraint one check (total is null)"],
    ["alter table orders validate constraint one", [CHECK]],
  ])("S200 gets a warning, and locks: %s", async (statement, before = []) => {
    expect(await isSaidToLock([...before, statement])).toBe(true);
    expect(await blocks(statement, before)).toBe(true);
  });

  test.each<[statement: string]>([
    ["alter table orders add column phone varchar(40)"],
    ["alter table orders add column state varchar(40) not null default 'new'"],
    ["alter table orders add column paid_at timestamptz not null default now()"],
    ["alter table orders add column buyer_id integer references users (id)"],
    [CHECK],
    [REFERENCE],
    ["alter table orders drop column note"],
    ["alter table orders rename column note to remark"],
    ["alter table orders alter column note type text"],
    ["alter table orders alter column note drop not null"],
    ["alter table orders alter column total set default 0"],
  ])("S200 gets no warning, and doesn't lock: %s", async (statement) => {
    expect(await isSaidToLock([statement])).toBe(false);
    expect(await blocks(statement)).toBe(false);
  });

  test("S200 each change's safe way doesn't lock, and has the same result as the unsafe one", async () => {
    const required = (await risksOf(["alter table orders alter column note set not null"]))[0]!;
    const statements = required.lines.flatMap((line) => /`(.*)`/.exec(line)?.[1] ?? []);
    const [add, ...later] = statements;
    expect(await isSaidToLock([add!])).toBe(false);
    expect(await isSaidToLock(later)).toBe(false);
    expect(await blocks(add!)).toBe(false);
    await execute(add!);
    for (const one of later) {
      expect([one, await blocks(one)]).toEqual([one, false]);
      await execute(one);
    }
    await expect(execute("insert into orders (id) values (9999)")).rejects.toMatchObject({
      code: "E_NOT_NULL_VIOLATION",
    });
    const { rows } = await execute("select conname from pg_constraint where conrelid = 'orders'::regclass");
    expect(rows).toEqual([{ conname: "orders_pkey" }]);
  });

  test.each([
    "alter table orders add constraint one foreign key (user_id) references users (id) on delete cascade",
    "alter table orders add check (total is null)",
    "alter table orders add constraint \"One\" check (note <> 'it''s')",
    "alter table orders add column buyer_id integer default 1 references users (id)",
  ])("S200 the rows can be checked later, as the advice says: %s", async (unsafe) => {
    const [risk] = await risksOf([unsafe]);
    if (unsafe.includes("buyer_id")) await execute("alter table orders add column buyer_id integer default 1");
    const statements = risk!.lines.flatMap((line) => /`(.*)`/.exec(line)?.[1] ?? []);
    expect(statements.length).toBe(2);
    for (const one of statements) {
      expect([one, await isSaidToLock([one]), await blocks(one)]).toEqual([one, false, false]);
      await execute(one);
    }
    const { rows } = await execute(
      "select convalidated from pg_constraint where conrelid = 'orders'::regclass and contype <> 'p'",
    );
    expect(rows).toEqual([{ convalidated: true }]);
  });

  test("S200 a unique constraint takes over an index that was built concurrently, as the advice says", async () => {
    const [risk] = await risksOf(["alter table orders add constraint one unique (note)"]);
    const [, , build, , take] = risk!.lines;
    expect(build).toBe('await createIndexConcurrently(database, "orders", ["note"], { unique: true, name: "one" });');
    await createIndexConcurrently(database.kysely, "orders", ["note"], { unique: true, name: "one" });
    const statement = /`(.*)`/.exec(take!)![1]!;
    expect([await isSaidToLock([statement]), await blocks(statement)]).toEqual([false, false]);
    await execute(statement);
  });

  /** Runs a function while a transaction that has written to a table is still open. */
  async function whileWriting(task: () => Promise<void>): Promise<void> {
    const [begun, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const writing = database.connection().transaction(async () => {
      await execute("update orders set total = 1 where id = 1");
      begun.resolve();
      await ended.promise;
    });
    await begun.promise;
    await task().finally(() => ended.resolve());
    await writing;
  }
  /** A write that fails instead of waiting for a lock. */
  const write = () =>
    database.connection().transaction(async () => {
      await execute("set local lock_timeout = 1");
      await execute("update orders set total = 2 where id = 2");
    });
  const waiting = (what: string) =>
    expect
      .poll(
        async () =>
          (await execute(`select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '${what}%'`))
            .rows.length,
      )
      .toBe(1);

  test("S200 behind another transaction, creating an index blocks all writes, and creating it concurrently blocks none", async () => {
    let index: Promise<unknown> = Promise.resolve();
    await whileWriting(async () => {
      index = execute("create index one on orders (note)");
      await waiting("create index one");
      await expect(write()).rejects.toMatchObject({ code: "E_DATABASE_BUSY" });
    });
    await index;
    const text = `
      import { createIndexConcurrently } from "${import.meta.resolve("../../src/database/index.ts")}";
      export const transaction = false;
      export const up = (database) => createIndexConcurrently(database, "orders", ["user_id"]);`;
    const folder = new MigrationFolder(database, { "2026_01_01_000000_index": text });
    onTestFinished(folder.remove);
    await whileWriting(async () => {
      index = folder.migrations.up();
      await waiting("create index concurrently");
      await write();
    });
    await index;
    const { rows } = await execute("select indisvalid from pg_index where indexrelid = 'orders_user_id'::regclass");
    expect(rows).toEqual([{ indisvalid: true }]);
  });

  test("in a migration without a transaction, statements that change a table wait for it without a limit", async () => {
    const statement = "alter table orders add column phone text";
    expect(await risksOf([statement], false)).toMatchObject([
      { problem: expect.stringContaining("as long as it has to") },
    ]);
    // There is no lock timeout, unlike in a migration with a transaction.
    const show = (transaction: boolean) => `
      import { sql } from "${import.meta.resolve("../../src/database/index.ts")}";
      export const transaction = ${transaction};
      export async function up(database) {
        globalThis.seenTimeouts.push((await sql\`show lock_timeout\`.execute(database)).rows[0].lock_timeout);
      }`;
    const seen: string[] = [];
    Object.assign(globalThis, { seenTimeouts: seen });
    const folder = new MigrationFolder(database, {
      "2026_01_01_000000_a": show(true),
      "2026_01_01_000000_b": show(false),
    });
    onTestFinished(folder.remove);
    await folder.migrations.up();
    expect(seen).toEqual(["2s", "0"]);
  });

  test("a concurrent index in a transaction gets a warning, and fails", async () => {
    const statement = "create index concurrently one on orders (note)";
    expect(await risksOf([statement])).toMatchObject([{ problem: expect.stringMatching(/^It fails:/) }]);
    expect(await risksOf([statement], false)).toEqual([]);
    await expect(database.connection().transaction(() => execute(statement))).rejects.toMatchObject({
      code: "E_DATABASE",
    });
  });
});

await onMariadb("what changes lock on MariaDB", () => {
  beforeEach(async () => {
    own = await mariadb.open();
    database = own.database;
    await fill();
  });

  /** Whether the server can do it while others write; it is asked to refuse otherwise. */
  const isRefusedOnline = async (statement: string): Promise<boolean> =>
    await execute(`${statement}${statement.startsWith("create") ? "" : ","} lock = none`).then(
      () => false,
      (error: { databaseCode?: unknown }) => {
        // ER_ALTER_OPERATION_NOT_SUPPORTED, and the same with its reason.
        expect(["1845", "1846"]).toContain(error.databaseCode);
        return true;
      },
    );

  test.each([
    "alter table orders add column number integer not null auto_increment unique",
    "alter table orders modify column total varchar(20)",
    "alter table orders modify column note varchar(50)",
    "alter table orders add constraint one foreign key (user_id) references users (id)",
    "alter table orders drop primary key",
    "alter table orders convert to character set latin1",
    "create fulltext index one on orders (note)",
  ])("S200 gets a warning, and locks: %s", async (statement) => {
    expect(await isSaidToLock([statement])).toBe(true);
    expect(await isRefusedOnline(statement)).toBe(true);
  });

  test.each([
    "alter table orders add column phone varchar(40)",
    "alter table orders add column state varchar(40) not null default 'new'",
    "alter table orders add column paid_at datetime not null default now()",
    "alter table orders drop column note",
    "alter table orders rename column note to remark",
    "create index one on orders (note)",
    "create unique index one on orders (note)",
    "alter table orders add index one (note)",
  ])("S200 gets no warning, and doesn't lock: %s", async (statement) => {
    expect(await isSaidToLock([statement])).toBe(false);
    expect(await isRefusedOnline(statement)).toBe(false);
  });

  test("a foreign key is added the safe way", async () => {
    const [risk] = await risksOf(["alter table orders add constraint one foreign key (user_id) references users (id)"]);
    const statements = risk!.lines.map((line) => /`(.*)`/.exec(line)![1]!);
    expect(await isSaidToLock(statements)).toBe(false);
    await database.connection().reserved(async () => {
      for (const one of statements) await execute(one);
    });
    await expect(execute("insert into orders (id, user_id) values (9999, 9999)")).rejects.toMatchObject({
      code: "E_FOREIGN_KEY_VIOLATION",
    });
  });
});

describe("changes on SQLite", () => {
  beforeEach(async () => {
    own = await sqlite.open();
    database = own.database;
    await fill();
  });

  test.each([
    "alter table orders add column phone text not null",
    "alter table orders add column code integer unique",
    "alter table orders add column paid_at text default current_timestamp",
    "alter table orders alter column total type text",
    "alter table orders alter column total set not null",
    "alter table orders add constraint one foreign key (user_id) references users (id)",
  ])("get a warning, and fail: %s", async (statement) => {
    expect(await risksOf([statement])).toMatchObject([{ problem: expect.stringMatching(/^It fails/) }]);
    await expect(execute(statement)).rejects.toMatchObject({ code: "E_DATABASE" });
  });

  test.each([
    "alter table orders add column phone text",
    "alter table orders add column state text not null default 'new'",
    "alter table orders add column buyer_id integer references users (id)",
  ])("get no warning: %s", async (statement) => {
    expect(await risksOf([statement])).toEqual([]);
    await execute(statement);
  });

  test.each(["create index one on orders (note)", "alter table orders drop column total"])(
    "S200 gets a warning, and blocks all other writes: %s",
    async (statement) => {
      expect(await isSaidToLock([statement])).toBe(true);
      const other = new Database({ default: "main", main: { ...own.configuration, acquireTimeoutMs: 1 } }, "/");
      onTestFinished(() => other.close());
      await database.connection().transaction(async () => {
        await execute(statement);
        const writing = sql.raw("update orders set note = '' where id = 1").execute(other.kysely);
        await expect(writing).rejects.toMatchObject({
          code: expect.stringMatching(/^E_(?:DATABASE_BUSY|OVERLOADED)$/),
        });
        await sql.raw("select * from orders").execute(other.kysely);
      });
    },
  );
});
