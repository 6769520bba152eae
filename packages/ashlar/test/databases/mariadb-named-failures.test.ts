import { cpSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Connection, createConnection } from "mysql2/promise";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { Database, mariadb, sql } from "../../src/database/index.ts";
import { type OwnMariadb, startMariadb, withOwnMariadb } from "../support/own-mariadb.ts";
import { get, named, refusal, type Shop, shop } from "../support/refusing-shop.ts";
import { makeDisk, withSmallDisk } from "../support/small-disk.ts";

/** How many connections a server accepts, the administrator's included. */
const CONNECTIONS = 10;

/** Runs statements as the server's administrator. */
async function asRoot<T>({ port }: OwnMariadb, use: (client: Connection) => Promise<T>): Promise<T> {
  const client = await createConnection({ host: "127.0.0.1", port, user: "root", database: "shop" });
  return await use(client).finally(() => client.end());
}

/** An application with only the privileges that it needs. The administrator can write even to a read-only server. */
const onServer = ({ port }: OwnMariadb, settings: object = {}): Promise<Shop> =>
  shop({ driver: "mariadb", host: "127.0.0.1", port, user: "shop", database: "shop", ...settings });

/** Makes the server check privileges, which it starts without. */
const checkRights = (client: Connection): Promise<unknown> => client.query("flush privileges");

async function prepare(server: OwnMariadb, table: string): Promise<void> {
  await asRoot(server, async (client) => {
    await checkRights(client);
    await client.query("create user shop");
    await client.query("grant all on shop.* to shop");
    await client.query(table);
  });
}

withOwnMariadb("MariaDB", () => {
  let server: OwnMariadb;
  beforeAll(async () => {
    server = await startMariadb(async () => [`--max-connections=${CONNECTIONS}`, "--extra-max-connections=1"]);
    await prepare(server, "create table notes (text longtext)");
  });
  afterAll(() => server?.remove());

  test("that has become read-only is E_DATABASE_READ_ONLY, while reads continue, and accepts changes once it is writable", async () => {
    const refused = await onServer(server, { poolSize: 1 });
    await asRoot(server, (client) => client.query("set global read_only = 1"));
    expect(await refusal(refused, "/write")).toEqual(named("E_DATABASE_READ_ONLY"));
    expect(await get(refused, "/read")).toBe(200);
    await asRoot(server, (client) => client.query("set global read_only = 0"));
    expect(await get(refused, "/write")).toBe(200);
  });

  test("that refuses a session before it has begun holds no connection for it", async () => {
    await asRoot(server, async (root) => {
      await root.query("create user counted with max_queries_per_hour 2");
      onTestFinished(() => asRoot(server, async (client) => void (await client.query("drop user counted"))));
      const main = mariadb({ host: "127.0.0.1", port: server.port, user: "counted" });
      const database = new Database({ default: "main", main }, server.folder);
      onTestFinished(() => database.close());
      await expect(database.connect()).rejects.toMatchObject({ code: "E_OVERLOADED", databaseCode: "1226" });
      const left = "select 1 from information_schema.processlist where user = 'counted'";
      await expect.poll(async () => (await root.query(left))[0]).toEqual([]);
    });
  });

  test("without a free connection is E_OVERLOADED", async () => {
    const refused = await onServer(server, { poolSize: 1 });
    const connection = refused.application.container.make("database").connection();
    const { rows } = await sql<{ id: number }>`select connection_id() as id`.execute(connection.kysely);
    const held: Connection[] = [];
    onTestFinished(async () => {
      for (const client of held) await client.end();
    });
    await asRoot(server, async (root) => {
      await root.query(`kill ${rows[0]!.id}`);
      // All connections are taken, including the application's, which it could otherwise use again.
      await expect
        .poll(async () => {
          const options = { host: "127.0.0.1", port: server.port, user: "shop" };
          const client = await createConnection(options).catch(() => null);
          if (client !== null) held.push(client);
          return [held.length, connection.dialect.usage?.().open];
        })
        .toEqual([CONNECTIONS - 1, 0]);
      expect(await refusal(refused, "/read")).toEqual(named("E_OVERLOADED"));
    });
    for (const client of held.splice(0)) await client.end();
    await expect.poll(() => get(refused, "/read")).toBe(200);
  });

  test("whose row is locked by another transaction is E_DATABASE_BUSY", async () => {
    const refused = await onServer(server, { statementTimeoutMs: 60_000 });
    const database = refused.application.container.make("database");
    await asRoot(server, async (client) => {
      await client.query("insert into notes values ('held')");
      await client.query("begin");
      await client.query("select * from notes for update");
      const locking = database.transaction(() => sql`select * from notes for update nowait`.execute(database.kysely));
      await expect(locking).rejects.toMatchObject({ code: "E_DATABASE_BUSY", databaseCode: "1205", status: 503 });
      await client.query("rollback");
    });
  });

  test("that was killed is E_DATABASE_UNAVAILABLE, and works again once it is back", async () => {
    const refused = await onServer(server);
    await server.kill();
    expect(await refusal(refused, "/write")).toEqual(named("E_DATABASE_UNAVAILABLE"));
    await server.start();
    await asRoot(server, checkRights);
    expect(await get(refused, "/write")).toBe(200);
  });
});

withOwnMariadb("MariaDB whose tables may not grow any further", () => {
  test("is E_DATABASE_FULL, while reads continue", async () => {
    // A size limit instead of a small disk, because the server itself may exit if the disk is full.
    const server = await startMariadb(async () => [
      "--innodb-file-per-table=0",
      "--innodb-data-file-path=ibdata1:12M:autoextend:max:20M",
    ]);
    onTestFinished(() => server.remove());
    await prepare(server, "create table notes (text longtext)");
    const full = await onServer(server);
    let stored = 0;
    while ((await get(full, "/fill")) === 200) stored++;
    expect(stored).toBeGreaterThan(0);
    // The next statement can use the space that the refused one had taken.
    await expect.poll(() => refusal(full, "/fill")).toEqual(named("E_DATABASE_FULL"));
    expect(await get(full, "/read")).toBe(200);
  });
});

withSmallDisk("a disk", () => {
  withOwnMariadb("MariaDB on a disk", () => {
    test("that is full refuses what writes, or ends, and is used again once there is space", async () => {
      const disk = makeDisk(160_000);
      onTestFinished(() => disk.remove());
      const data = join(disk.folder, "data");
      const server = await startMariadb(async (folder) => {
        cpSync(join(folder, "data"), data, { recursive: true });
        return [`--datadir=${data}`];
      });
      onTestFinished(() => server.remove());
      await prepare(server, "create table notes (text longtext)");
      const full = await onServer(server);
      expect(await get(full, "/fill")).toBe(200);
      const other = join(disk.folder, "other");
      const fillDisk = () => {
        for (let size = 1 << 26; size >= 4096; size /= 2) {
          try {
            writeFileSync(other, Buffer.alloc(size), { flag: "a" });
          } catch {
            // As much as fits is written.
          }
        }
      };
      fillDisk();
      while ((await get(full, "/fill")) === 200) fillDisk();
      await expect
        .poll(() => refusal(full, "/fill"))
        .toBeOneOf([named("E_DATABASE_FULL"), named("E_DATABASE_UNAVAILABLE")]);
      rmSync(other);
      // The watching process restarts a server that has ended.
      if (!(await isThere(server))) {
        await server.start();
        await asRoot(server, checkRights);
      }
      await expect.poll(() => get(full, "/fill")).toBe(200);
    });
  });
});

async function isThere(server: OwnMariadb): Promise<boolean> {
  return await asRoot(server, (client) => client.ping()).then(
    () => true,
    () => false,
  );
}
