import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { onPostgres, postgres, type TestDatabase } from "../../../test/support/services.ts";
import { databaseConfiguration, type PostgresConnectionConfiguration } from "../configuration.ts";
import { Connection } from "../connection.ts";
import { Database, sql } from "../index.ts";
import { PostgresDialect } from "./postgres.ts";

test("a server that accepts, and never answers, is given up on in time", async () => {
  const server = createServer(() => {});
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const main = { driver: "postgres", port, user: "ada", acquireTimeoutMs: 20 };
  const database = new Database({ default: "main", main }, "/");
  await expect(database.connect()).rejects.toMatchObject({
    code: "E_OVERLOADED",
    status: 503,
    message: "No connection to the database was free within 20 ms.",
    cause: expect.any(Error),
  });
  await database.close();
  server.close();
});

test("a connection over which the server failed is not used for another statement", async () => {
  let connections = 0;
  const message = (letter: string, body: Buffer): Buffer => {
    const length = Buffer.alloc(4);
    length.writeInt32BE(length.length + body.length);
    return Buffer.concat([Buffer.from(letter), length, body]);
  };
  const ready = message("Z", Buffer.from("I"));
  const server = createServer((socket) => {
    connections += 1;
    let isLoggedIn = false;
    socket.on("error", () => {});
    socket.on("data", (data) => {
      const answer = isLoggedIn
        ? message("E", Buffer.from("SFATAL\0VFATAL\0C57P01\0Mterminating\0\0"))
        : message("R", Buffer.alloc(4));
      // What ends the session is not followed by the end of the connection yet.
      if (!isLoggedIn || "QP".includes(String.fromCharCode((data as Buffer)[0]!))) {
        socket.write(Buffer.concat([answer, ready]));
      }
      isLoggedIn = true;
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const main = { driver: "postgres", port, user: "ada", password: "p", ssl: false };
  const database = new Database({ default: "main", main }, "/");
  for (let n = 1; n <= 3; n++) {
    await expect(database.connect()).rejects.toMatchObject({ code: "E_DATABASE_UNAVAILABLE", databaseCode: "57P01" });
    expect(connections).toBe(n);
  }
  await database.close();
  server.close();
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
  /** A connection whose migrations wait for so long for those of others. */
  const migrating = (timeoutMs: number): Connection => {
    const { connections } = databaseConfiguration({ default: "main", main: own.configuration }, "/");
    const configuration = connections.main as PostgresConnectionConfiguration;
    const other = new Connection("main", 1000, (observer) => new PostgresDialect(configuration, observer, timeoutMs));
    onTestFinished(() => other.close());
    return other;
  };

  test("a caller that gets no connection of the pool in time is told so", async () => {
    const small = another({ poolSize: 1, acquireTimeoutMs: 5000 });
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    await small.connection().reserved(async () => {
      const refused = small.connect().catch((error: unknown) => error);
      await nextTurn();
      vi.advanceTimersByTime(5000);
      expect(await refused).toMatchObject({
        code: "E_OVERLOADED",
        status: 503,
        message: "No connection to the database was free within 5000 ms.",
      });
    });
    await small.connect();
  });

  test("a statement that the server refuses costs no connection", async () => {
    const single = another({ poolSize: 1 });
    const server = async () => (await sql`select pg_backend_pid() as pid`.execute(single.kysely)).rows;
    const before = await server();
    await expect(sql`select nothing`.execute(single.kysely)).rejects.toMatchObject({ code: "E_DATABASE" });
    const inside = single.transaction(() => sql`select nothing`.execute(single.kysely));
    await expect(inside).rejects.toMatchObject({ code: "E_DATABASE" });
    expect(await server()).toEqual(before);
  });

  test("a finder's statement that the server refuses is an error, and not a row that there is not", async () => {
    await expect(database.connection().first("select nothing where 1 = $1", 1)).rejects.toMatchObject({
      code: "E_DATABASE",
      databaseCode: "42703",
    });
  });

  test("a finder's statement gives the first row, and several statements in one text the rows of the last", async () => {
    const text = "select n from (values (7), (8), (9)) v (n) where n > $1 order by n";
    expect(await database.connection().first(text, 7)).toEqual({ n: 8 });
    expect(await database.connection().first(text, 9)).toBeUndefined();
    expect((await run("select 1 as n; select 2 as n; select 3 as n")).rows).toEqual([{ n: 3 }]);
  });

  test("Kysely is told which tables there are", async () => {
    await run("create table told (n integer)");
    expect((await database.kysely.introspection.getTables()).map(({ name }) => name)).toContain("told");
    await run("drop table told");
  });

  test("every kind of statement that changes rows says how many, and no other does", async () => {
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
      await expect(migrating(0).withMigrationLock(async () => {})).rejects.toMatchObject({ code: "E_MIGRATION" });
      await run(`select pg_advisory_unlock(${key})`);
    });
    expect(await migrating(0).withMigrationLock(async () => "free")).toBe("free");
  });

  test("migrations that wait ask for the lock now and then, and wait no longer than is said", async () => {
    const waiting = migrating(200);
    let asked = 0;
    waiting.onQuery(({ sql: text }) => {
      if (text.includes("pg_try_advisory_lock")) asked += 1;
    });
    await database.connection().withMigrationLock(async () => {
      await expect(waiting.withMigrationLock(async () => {})).rejects.toMatchObject({
        code: "E_MIGRATION",
        message: expect.stringMatching(/for more than 200 ms\. It is the server's process \d+ from [\d.]+\. Migrate/),
      });
    });
    expect(asked).toBeGreaterThan(1);
    expect(asked).toBeLessThanOrEqual(5);
  });

  test("what belongs to an extension is left when everything else is dropped", async () => {
    await run("create table theirs (n integer); create domain their_number as integer");
    await run("alter extension plpgsql add table theirs; alter extension plpgsql add domain their_number");
    await run(
      "create table mine (n their_number); create domain my_number as integer; create type mood as enum ('ok')",
    );
    await database.connection().dropEverything();
    const left = await run(`select relname as name from pg_class where relnamespace = 'public'::regnamespace
      union select typname from pg_type where typnamespace = 'public'::regnamespace and typtype in ('d', 'e') order by 1`);
    await run("alter extension plpgsql drop table theirs; alter extension plpgsql drop domain their_number");
    await run("drop table theirs; drop domain their_number");
    expect(left.rows).toEqual([{ name: "their_number" }, { name: "theirs" }]);
  });

  test("closing ends every connection, can be done again, and is for good", async () => {
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
    // The server hears of it a moment later.
    const alive = `select count(*)::int as n from pg_stat_activity where pid in (${pids.join()})`;
    await expect.poll(async () => (await run(alive)).rows, { timeout: 5000 }).toEqual([{ n: 0 }]);
    await expect(other.connect()).rejects.toMatchObject({
      code: "E_DATABASE",
      message: "The connection to the database is closed.",
    });
  });
});
