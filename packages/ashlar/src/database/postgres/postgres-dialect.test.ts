import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { CompiledQuery } from "kysely";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { postgresMessage } from "../../../test/support/postgres-message.ts";
import { onPostgres, postgres, type TestDatabase } from "../../../test/support/services.ts";
import { sleeps } from "../../../test/support/sleeps.ts";
import { Connection } from "../connections/connection.ts";
import type { PhysicalConnection } from "../dialect/executor.ts";
import { Database, sql } from "../index.ts";
import { PostgresDialect } from "./postgres-dialect.ts";
import { readPostgresSettings } from "./postgres-settings.ts";

/** Advances the fake timers by this much, and returns the pending task's error. */
async function failureAfter(ms: number, begun: Promise<unknown>): Promise<unknown> {
  let failure: unknown = "none";
  begun.catch((error: unknown) => {
    failure = error;
  });
  await nextTurn();
  vi.advanceTimersByTime(ms);
  for (let turn = 0; turn < 10; turn++) await nextTurn();
  return failure;
}

function stopTimers(): void {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
}

test("a server that accepts connections but never responds causes a timeout", async () => {
  const sockets: Socket[] = [];
  const server = createServer((socket) => sockets.push(socket));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const main = { driver: "postgres", port, user: "ada", acquireTimeoutMs: 20 };
  const database = new Database({ default: "main", main }, "/");
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await database.close();
    server.close();
  });
  stopTimers();
  const accepted = once(server, "connection");
  const connecting = database.connect();
  await accepted;
  expect(await failureAfter(20, connecting)).toMatchObject({
    code: "E_DATABASE_UNAVAILABLE",
    status: 503,
    message:
      "The database server did not respond within 20 ms. " +
      "Start the server, or correct its address in config/database.ts: DATABASES.main.",
    cause: expect.any(Error),
  });
});

test("tables are empty once the call has ended", async () => {
  const dialect = new PostgresDialect(readPostgresSettings({}, { where: "main" }), {
    where: "main",
    root: ".",
    observer: { notify: null },
  });
  const statements: string[] = [];
  const execute = async ({ sql: text }: CompiledQuery) => {
    await nextTurn();
    statements.push(text);
    return { rows: [{ table: "orders", name: "public.orders" }] };
  };
  await dialect.maintenance.emptyTables({ execute } as unknown as PhysicalConnection, []);
  expect(statements).toEqual([expect.any(String), "truncate public.orders restart identity cascade"]);
});

/** A fake server that accepts every login, and a connection to it. */
interface Server {
  readonly database: Database;
  /** The number of requested connections. */
  readonly connections: () => number;
}

/** Returns no rows for every statement, except those that it refuses. @param refusal the fields of the error */
async function serve(refusal: (statement: string) => string | null): Promise<Server> {
  let connections = 0;
  const ready = postgresMessage("Z", "I");
  const server = createServer((socket) => {
    connections += 1;
    let isLoggedIn = false;
    socket.on("error", () => {});
    socket.on("data", (data: Buffer) => {
      if (!isLoggedIn) {
        isLoggedIn = true;
        socket.write(Buffer.concat([postgresMessage("R", Buffer.alloc(4)), ready]));
      } else if (data.toString("latin1", 0, 1) === "Q") {
        const statement = data.toString("utf8", 5, data.length - 1);
        const fields = refusal(statement);
        const answer =
          fields === null
            ? postgresMessage("C", `${statement.split(" ")[0]!.toUpperCase()}\0`)
            : postgresMessage("E", `${fields}\0\0`);
        // The connection stays open at first, even after an error that ends the session.
        socket.write(Buffer.concat([answer, ready]));
      }
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const main = { driver: "postgres", port, user: "ada", password: "p", ssl: false };
  const database = new Database({ default: "main", main }, "/");
  onTestFinished(async () => {
    await database.close();
    server.close();
  });
  return { database, connections: () => connections };
}

const TERMINATING = "SFATAL\0VFATAL\0C57P01\0Mterminating";
const UNAVAILABLE = { code: "E_DATABASE_UNAVAILABLE", databaseCode: "57P01" };

test("a connection on which the server failed is not used for another statement", async () => {
  const { database, connections } = await serve(() => TERMINATING);
  const connection = database.connection();
  for (let n = 1; n <= 3; n++) {
    await expect(database.connect()).rejects.toMatchObject(UNAVAILABLE);
    expect(connections()).toBe(n * 2 - 1);
    await expect(connection.reserved(() => connection.rows("select 1", []))).rejects.toMatchObject(UNAVAILABLE);
    expect(connections()).toBe(n * 2);
  }
});

test("a transaction that cannot begin is an error, and its function is not called", async () => {
  const { database } = await serve((statement) => (statement === "begin" ? TERMINATING : null));
  const task = vi.fn();
  await expect(database.transaction(task)).rejects.toMatchObject(UNAVAILABLE);
  expect(task).not.toHaveBeenCalled();
});

test("a connection whose savepoint could not be rolled back is not used for another statement", async () => {
  const refusal = "SERROR\0VERROR\0C53200\0Mout of memory";
  const { database, connections } = await serve((statement) => (statement.startsWith("release") ? refusal : null));
  const no = new Error("no");
  await database.transaction(async () => {
    await expect(database.transaction(() => Promise.reject(no))).rejects.toBe(no);
  });
  expect(connections()).toBe(1);
  await database.connect();
  expect(connections()).toBe(2);
});

test("connecting sends a query, because a pooler in front of the server accepts every client", async () => {
  const asked: string[] = [];
  const { database } = await serve((statement) => {
    asked.push(statement);
    return null;
  });
  await database.connect();
  expect(asked).toEqual(["select 1"]);
});

await onPostgres("PostgreSQL", () => {
  let own: TestDatabase;
  let database: Database;

  beforeAll(async () => {
    own = await postgres.open();
    database = own.database;
  });
  afterAll(() => own.drop());

  const run = (text: string) => sql.raw<Record<string, unknown>>(text).execute(database.kysely);
  const another = (settings: object): Database => {
    const other = new Database({ default: "main", main: { ...own.configuration, ...settings } }, "/");
    onTestFinished(() => other.close());
    return other;
  };
  /** A connection whose migrations wait this long for those of other processes. */
  const migrating = (timeoutMs: number): Connection => {
    const { driver: _, ...options } = own.configuration;
    const settings = readPostgresSettings(options, { where: "main" });
    const other = new Connection(
      "main",
      (observer) => new PostgresDialect(settings, { where: "main", root: ".", observer }, timeoutMs),
    );
    onTestFinished(() => other.close());
    return other;
  };

  test("a driver that could not be loaded is loaded again by the next statement", async () => {
    const broken = new Error("Too many open files");
    vi.doMock("pg", () => Promise.reject(broken));
    onTestFinished(() => void vi.doUnmock("pg"));
    const other = another({});
    await expect(other.connect()).rejects.toMatchObject({ cause: broken });
    vi.doUnmock("pg");
    await other.connect();
  });

  test("a caller that gets no connection from the pool in time gets an error that says so", async () => {
    const small = another({ poolSize: 1, acquireTimeoutMs: 5000 });
    stopTimers();
    await small.connection().reserved(async () => {
      expect(await failureAfter(5000, small.connect())).toMatchObject({
        code: "E_OVERLOADED",
        status: 503,
        message: "No connection to the database was free within 5000 ms.",
      });
    });
    await small.connect();
  });

  test("a statement that the server refuses does not cost a connection", async () => {
    const single = another({ poolSize: 1 });
    const server = async () => (await sql`select pg_backend_pid() as pid`.execute(single.kysely)).rows;
    const before = await server();
    await expect(sql`select nothing`.execute(single.kysely)).rejects.toMatchObject({ code: "E_DATABASE" });
    const inside = single.transaction(() => sql`select nothing`.execute(single.kysely));
    await expect(inside).rejects.toMatchObject({ code: "E_DATABASE" });
    expect(await server()).toEqual(before);
  });

  test("a finder's refused statement is an error, not a missing row", async () => {
    await expect(database.connection().first("select nothing where 1 = $1", 1)).rejects.toMatchObject({
      code: "E_DATABASE",
      databaseCode: "42703",
    });
  });

  test("a finder's statement returns the first row, and several statements in one text return the rows of the last", async () => {
    const text = "select n from (values (7), (8), (9)) v (n) where n > $1 order by n";
    expect(await database.connection().first(text, 7)).toEqual({ n: 8 });
    expect(await database.connection().first(text, 9)).toBeUndefined();
    expect((await run("select 1 as n; select 2 as n; select 3 as n")).rows).toEqual([{ n: 3 }]);
  });

  test("the connection says which kind of database it is", () => {
    expect(database.dialect.name).toBe("postgres");
  });

  test("Kysely's introspection lists the existing tables", async () => {
    await run("create table told (n integer)");
    expect((await database.kysely.introspection.getTables()).map(({ name }) => name)).toContain("told");
    await run("drop table told");
  });

  test("only statements that change rows report how many", async () => {
    await run("create table counted (n integer)");
    const statements = [
      "insert into counted values (1), (2), (3)",
      "update counted set n = n + 1 where n > 1",
      "merge into counted c using (values (4), (9)) v (n) on c.n = v.n when matched then delete when not matched then insert values (v.n)",
      "delete from counted where n = 7",
      "select n from counted",
    ];
    const counts: unknown[] = [];
    for (const statement of statements) counts.push((await run(statement)).numAffectedRows);
    expect(counts).toEqual([3n, 2n, 2n, 0n, undefined]);
  });

  test("the lock of migrations is the same in every version: the bytes of a name", async () => {
    const key = `x'${Buffer.from("ashlar").toString("hex")}'::bigint`;
    await database.connection().reserved(async () => {
      await run(`select pg_advisory_lock(${key})`);
      sleeps(() => Promise.reject(new Error("It waits.")));
      await expect(migrating(0).maintenance.withMigrationLock(async () => {})).rejects.toMatchObject({
        code: "E_MIGRATION",
      });
      await run(`select pg_advisory_unlock(${key})`);
    });
    expect(await migrating(0).maintenance.withMigrationLock(async () => "free")).toBe("free");
  });

  test("the lock of migrations is released after them, although the connection stays open", async () => {
    for (let n = 0; n < 2; n++) {
      expect(await database.connection().maintenance.withMigrationLock(async () => "free")).toBe("free");
      expect(await migrating(0).maintenance.withMigrationLock(async () => "free")).toBe("free");
    }
  });

  test("migrations that wait try to get the lock 20 times a second, for ten minutes, and report who holds it", async () => {
    const waiting = another({});
    await waiting.connect();
    const order: string[] = [];
    waiting.connection().onQuery(({ sql: text }) => {
      if (text.includes("pg_try_advisory_lock")) order.push("asked");
    });
    const times = [599_950, 50];
    const slept = sleeps(async () => {
      for (let n = 0; n < 3; n++) await run("select 1");
      order.push("slept");
      return times.shift() ?? Promise.reject(new Error("It goes on to wait."));
    });
    await database.connection().maintenance.withMigrationLock(async () => {
      await expect(waiting.connection().maintenance.withMigrationLock(async () => {})).rejects.toMatchObject({
        code: "E_MIGRATION",
        message: expect.stringMatching(
          /for more than 600000 ms\. It is the server's process \d+ from [\d.]+\. Migrate/,
        ),
      });
    });
    expect(slept).toEqual([50, 50]);
    expect(order).toEqual(["asked", "slept", "asked", "slept", "asked"]);
  });

  test("migrations have no time limit, and the connection has its own again after them", async () => {
    const limit = async (of: Database) =>
      (await sql<{ limit: string }>`select current_setting('statement_timeout') as limit`.execute(of.kysely)).rows[0];
    for (const [statementTimeoutMs, normal] of [
      [1234, "1234ms"],
      [0, "0"],
    ]) {
      const other = another({ poolSize: 1, statementTimeoutMs });
      const seen = await other.connection().maintenance.withMigrationLock(() => limit(other));
      expect([seen, await limit(other)]).toEqual([{ limit: "0" }, { limit: normal }]);
    }
  });

  test("a table that the server refuses to drop is an error", async () => {
    const other = another({});
    await run("create table held (n integer)");
    await other.transaction(async () => {
      await sql`lock table held in access share mode`.execute(other.kysely);
      await database.connection().reserved(async () => {
        await run("set lock_timeout = 10");
        await expect(database.connection().maintenance.dropEverything()).rejects.toMatchObject({
          databaseCode: "55P03",
        });
        await run("reset lock_timeout");
      });
    });
    await database.connection().maintenance.dropEverything();
    await expect(run("select * from held")).rejects.toMatchObject({ databaseCode: "42P01" });
  });

  test.each([[undefined], [new Date(Number.NaN)]])(
    "%s is refused, because the driver would send something else",
    async (value) => {
      await expect(sql`select ${value}`.execute(database.kysely)).rejects.toMatchObject({ code: "E_INVALID_QUERY" });
    },
  );

  test.each([["a\0b"], ["\ud800"]])(
    "%j is refused as input, because no column of any database can hold it",
    async (value) => {
      await expect(sql`select ${value}`.execute(database.kysely)).rejects.toMatchObject({ code: "E_INVALID_INPUT" });
    },
  );

  test("closing waits for running statements", async () => {
    const other = another({});
    const gate = Promise.withResolvers<void>();
    const order: string[] = [];
    const connection = other.connection();
    const started = Promise.withResolvers<void>();
    const underWay = connection.reserved(async () => {
      started.resolve();
      await gate.promise;
      await connection.rows("select 1", []);
      order.push("done");
    });
    await started.promise;
    const closing = other.close().then(() => order.push("closed"));
    for (let turn = 0; turn < 10; turn++) await nextTurn();
    gate.resolve();
    await Promise.all([underWay, closing]);
    expect(order).toEqual(["done", "closed"]);
  });

  test("closing an unused connection is not an error", async () => {
    await another({}).close();
  });

  test("objects of an extension stay when everything else is dropped", async () => {
    await run("create table theirs (n integer); create domain their_number as integer");
    await run("alter extension plpgsql add table theirs; alter extension plpgsql add domain their_number");
    await run(
      "create table mine (n their_number); create domain my_number as integer; create type mood as enum ('ok')",
    );
    await database.connection().maintenance.dropEverything();
    const left = await run(`select relname as name from pg_class where relnamespace = 'public'::regnamespace
      union select typname from pg_type where typnamespace = 'public'::regnamespace and typtype in ('d', 'e') order by 1`);
    await run("alter extension plpgsql drop table theirs; alter extension plpgsql drop domain their_number");
    await run("drop table theirs; drop domain their_number");
    expect(left.rows).toEqual([{ name: "their_number" }, { name: "theirs" }]);
  });

  test("closing ends every connection, can be repeated, and is final", async () => {
    const other = another({ poolSize: 2 });
    const pids = await Promise.all(
      [1, 2].map(async () => {
        const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid, pg_sleep(0.02)`.execute(
          other.kysely,
        );
        return rows[0]!.pid;
      }),
    );
    await other.close();
    await other.close();
    // The server notices a moment later.
    const alive = `select count(*)::int as n from pg_stat_activity where pid in (${pids.join()})`;
    await expect.poll(async () => (await run(alive)).rows).toEqual([{ n: 0 }]);
    await expect(other.connect()).rejects.toMatchObject({
      code: "E_DATABASE",
      message: "The connection to the database is closed.",
    });
  });
});
