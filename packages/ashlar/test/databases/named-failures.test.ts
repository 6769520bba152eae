import { chownSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { sql } from "../../src/database/index.ts";
import { freePort } from "../support/free-port.ts";
import { type OwnPostgres, serverUser, startPostgres, withOwnPostgres } from "../support/own-postgres.ts";
import { get, named, refusal, shop } from "../support/refusing-shop.ts";
import { makeDisk, type SmallDisk, withSmallDisk } from "../support/small-disk.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** How many connections the server accepts. */
const CONNECTIONS = 8;

const notesIn = (folder: string): string => {
  const path = join(folder, "app.sqlite");
  const file = new DatabaseSync(path);
  file.exec("pragma journal_mode = wal; create table notes (text text)");
  file.close();
  return path;
};

test("a SQLite file that another process has locked is E_DATABASE_BUSY", async () => {
  const path = notesIn(await temporaryFolder());
  const { application, lines } = await shop({ driver: "sqlite", path, busyTimeoutMs: 0 });
  const other = new DatabaseSync(path);
  onTestFinished(() => other.close());
  other.exec("begin immediate");
  expect(await refusal({ application, lines }, "/write")).toEqual(named("E_DATABASE_BUSY"));
  expect(await get({ application, lines }, "/read")).toBe(200);
  other.exec("rollback");
  expect(await get({ application, lines }, "/write")).toBe(200);
});

test("a damaged SQLite file is E_DATABASE_DAMAGED", async () => {
  const path = notesIn(await temporaryFolder());
  // The first page is intact, so the file can be opened, and the table is found.
  writeFileSync(path, Buffer.alloc(4096, 0xff), { flag: "r+" as "w" });
  const file = new DatabaseSync(path);
  expect(() => file.prepare("select * from notes").all()).toThrow("not a database");
  file.close();
  const lines: Record<string, unknown>[] = [];
  const boot = shop({ driver: "sqlite", path }, { waitSeconds: 3600, lines });
  await expect(boot).rejects.toMatchObject({ code: "E_DATABASE_DAMAGED", status: 503 });
  expect(lines, "it would say that it waits").toEqual([]);
});

withSmallDisk("SQLite on a disk", () => {
  let disk: SmallDisk;
  let path: string;
  beforeEach(() => {
    disk = makeDisk(400);
    path = notesIn(disk.folder);
    onTestFinished(() => disk.remove());
  });

  test("that is full is E_DATABASE_FULL, while reads continue and stored data stays, and new space is used", async () => {
    const other = join(disk.folder, "other");
    writeFileSync(other, Buffer.alloc(150_000));
    const full = await shop({ driver: "sqlite", path });
    let stored = 0;
    while ((await get(full, "/fill")) === 200) stored += 1;
    expect(stored).toBeGreaterThan(0);
    expect(await refusal(full, "/fill")).toEqual(named("E_DATABASE_FULL"));
    const response = await full.application.fetch(new Request("https://shop.example/read"));
    expect(await response.json()).toEqual([{ n: stored }]);
    rmSync(other);
    expect(await get(full, "/fill")).toBe(200);
  });
});

withOwnPostgres("PostgreSQL", () => {
  let server: OwnPostgres;
  beforeAll(async () => {
    server = await startPostgres(await freePort(), [
      `max_connections=${CONNECTIONS}`,
      "superuser_reserved_connections=0",
    ]);
    await server.run("create table notes (text text)");
    // The server doesn't wait for the disk, so a server that is killed soon after wouldn't have the table.
    await server.run("checkpoint");
  });
  afterAll(() => server.remove());
  const onServer = (settings: object = {}) => shop({ driver: "postgres", url: server.url, ...settings });

  test("that was killed is E_DATABASE_UNAVAILABLE, and works again once it is back", async () => {
    const refused = await onServer();
    await server.kill();
    expect(await refusal(refused, "/write")).toEqual(named("E_DATABASE_UNAVAILABLE"));
    await server.start();
    expect(await get(refused, "/write")).toBe(200);
  });

  test("that has become read-only is E_DATABASE_READ_ONLY, and each failure costs only its connection", async () => {
    const refused = await onServer({ poolSize: 1 });
    await server.run("alter system set default_transaction_read_only = on");
    await server.run("select pg_reload_conf()");
    await expect.poll(() => get(refused, "/write")).toBe(503);
    expect(await refusal(refused, "/write")).toEqual(named("E_DATABASE_READ_ONLY"));
    expect(await get(refused, "/read")).toBe(200);
    await server.run("alter system reset default_transaction_read_only");
    await server.run("select pg_reload_conf()");
    await expect.poll(() => get(refused, "/write")).toBe(200);
  });

  test("a read-only transaction refuses writes as an application error", async () => {
    const { application } = await onServer();
    const database = application.container.make("database");
    const writing = database.transaction(() => sql`insert into notes values ('x')`.execute(database.kysely), {
      readOnly: true,
    });
    await expect(writing).rejects.toMatchObject({ code: "E_DATABASE", databaseCode: "25006", status: 500 });
    await database.transaction(() => sql`insert into notes values ('x')`.execute(database.kysely));
  });

  test("without a free connection is E_OVERLOADED", async () => {
    const { application } = await onServer({ poolSize: CONNECTIONS });
    const connection = application.container.make("database").connection();
    const gate = Promise.withResolvers<void>();
    const reservations: Promise<unknown>[] = [];
    let held = 0;
    // The server may still count connections that have just ended, and refuse one of these.
    await expect
      .poll(() => {
        const reservation = connection.reserved(() => {
          held++;
          return gate.promise;
        });
        reservations.push(reservation.catch(() => null));
        return held;
      })
      .toBe(CONNECTIONS);
    const full = await onServer().catch((error: unknown) => error);
    gate.resolve();
    await Promise.all(reservations);
    expect(full).toMatchObject({ code: "E_OVERLOADED", status: 503, databaseCode: "53300" });
  });

  test("whose lock is held by another transaction is E_DATABASE_BUSY", async () => {
    const { application } = await onServer();
    const database = application.container.make("database");
    await database.transaction(async () => {
      await sql`lock table notes`.execute(database.kysely);
      const other = await shop({ driver: "postgres", url: server.url });
      const second = other.application.container.make("database");
      const locking = second.transaction(() => sql`lock table notes nowait`.execute(second.kysely));
      await expect(locking).rejects.toMatchObject({ code: "E_DATABASE_BUSY", databaseCode: "55P03" });
    });
  });
});

withSmallDisk("a disk", () => {
  withOwnPostgres("PostgreSQL on a disk", () => {
    test("that is full is E_DATABASE_FULL, while reads continue, and new space is used", async () => {
      const server = await startPostgres(await freePort());
      const disk = makeDisk(2000);
      const user = await serverUser();
      if (user !== null) chownSync(disk.folder, user.uid!, user.gid!);
      onTestFinished(async () => {
        await server.remove();
        disk.remove();
      });
      await server.run(`create tablespace small location '${disk.folder}'`);
      await server.run(
        "create table notes (text text) tablespace small; alter table notes alter text set storage external",
      );
      const other = join(disk.folder, "other");
      writeFileSync(other, Buffer.alloc(500_000));
      const full = await shop({ driver: "postgres", url: server.url });
      while ((await get(full, "/fill")) === 200);
      // The next statement can use the space that the refused one had taken.
      await expect.poll(() => refusal(full, "/fill")).toEqual(named("E_DATABASE_FULL"));
      expect(await get(full, "/read")).toBe(200);
      rmSync(other);
      await expect.poll(() => get(full, "/fill")).toBe(200);
    });
  });
});
