import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { MARIADB } from "../../../test/support/mariadb-databases.ts";
import { mariadb, onMariadb } from "../../../test/support/services.ts";
import { type Database, sql } from "../index.ts";

const idOf = async (database: Database): Promise<number> =>
  (await sql<{ id: number }>`select connection_id() as id`.execute(database.kysely)).rows[0]!.id;

await onMariadb("connections to MariaDB", () => {
  const open = async (settings: object) => {
    const own = await mariadb.open({ ...settings });
    onTestFinished(() => own.drop());
    return own.database;
  };

  test("beyond maxWaiting, a caller is refused at once, and those who wait get their turn", async () => {
    const database = await open({ poolSize: 1, maxWaiting: 2 });
    const gate = Promise.withResolvers<void>();
    const held = database.connection().reserved(() => gate.promise);
    await nextTurn();
    const waiting = [idOf(database), idOf(database)];
    await nextTurn();
    await expect(idOf(database)).rejects.toMatchObject({
      code: "E_OVERLOADED",
      status: 503,
      message: "All connections to the database are in use, and 2 callers are waiting for one.",
    });
    await expect(database.transaction(() => {})).rejects.toMatchObject({ code: "E_OVERLOADED" });
    gate.resolve();
    await Promise.all([held, ...waiting]);
    expect(await idOf(database)).toEqual(expect.any(Number));
  });

  test("that the server has ended are not counted as open", async () => {
    const [database, admin] = [await open({ poolSize: 1 }), await open({ poolSize: 1 })];
    const id = await idOf(database);
    expect(database.usage()).toEqual({ main: { limit: 1, open: 1, used: 0, waiting: 0 } });
    await sql.raw(`kill ${id}`).execute(admin.kysely);
    await expect.poll(() => database.usage()).toEqual({ main: { limit: 1, open: 0, used: 0, waiting: 0 } });
    expect(await idOf(database)).not.toBe(id);
    expect(database.usage()).toEqual({ main: { limit: 1, open: 1, used: 0, waiting: 0 } });
  });

  test("that can't be opened are no longer counted", async () => {
    const database = await open({ user: "nobody_here", password: "wrong" });
    await expect(database.connect()).rejects.toMatchObject({ code: "E_DATABASE" });
    expect(database.usage()).toEqual({ main: { limit: 10, open: 0, used: 0, waiting: 0 } });
  });

  test("are refused to waiting callers when the database is closed", async () => {
    const database = await open({ poolSize: 1 });
    const gate = Promise.withResolvers<void>();
    const held = database.connection().reserved(() => gate.promise);
    await nextTurn();
    const waiting = expect(idOf(database)).rejects.toMatchObject({
      code: "E_DATABASE",
      message: "The connection to the database is closed.",
    });
    await nextTurn();
    const closed = database.close();
    gate.resolve();
    await Promise.all([held, waiting, closed]);
  });

  const KILL = `
    import { createConnection } from "mysql2/promise";
    const [server, id] = JSON.parse(process.argv[1]);
    const client = await createConnection(server);
    await client.query("kill " + id);
    const gone = "select 1 from information_schema.processlist where id = " + id;
    while ((await client.query(gone))[0].length > 0);
    await client.end();`;

  /** Fakes only the clock that measures idle time, and the given timers. */
  const moveClock = (...others: readonly ("setTimeout" | "clearTimeout")[]): void => {
    vi.useFakeTimers({ toFake: ["performance", ...others] });
    onTestFinished(() => void vi.useRealTimers());
  };

  test("that the server ended while this process was busy cost no statement", async () => {
    moveClock();
    const database = await open({ poolSize: 1 });
    const id = await idOf(database);
    vi.advanceTimersByTime(1000);
    const { status } = spawnSync(process.execPath, [
      ...["--input-type=module", "--eval", KILL, "--", JSON.stringify([MARIADB, id])],
    ]);
    expect(status).toBe(0);
    expect(await idOf(database)).not.toBe(id);
  });

  test("that were unused for half a minute have to respond first, and others don't", async () => {
    moveClock();
    const database = await open({ poolSize: 1 });
    const pings = async (): Promise<number> => {
      const { rows } = await sql<{ Value: string }>`show session status like 'Com_admin_commands'`.execute(
        database.kysely,
      );
      return Number(rows[0]!.Value);
    };
    const before = await pings();
    for (const [idleMs, expected] of [
      [29_999, 0],
      [29_999, 0],
      [30_000, 1],
      [0, 1],
    ] as const) {
      vi.advanceTimersByTime(idleMs);
      expect((await pings()) - before).toBe(expected);
    }
  });

  test("that don't respond after half a minute are replaced", async () => {
    // A firewall that forgets the first connection, and drops its packets.
    const firewall = createServer((client) => {
      const server = connect(MARIADB.port, MARIADB.host);
      const isFirst = ++connections === 1;
      client.on("data", (data) => (isFirst && hasForgotten ? wasAsked.resolve() : server.write(data)));
      server.on("data", (data) => client.write(data));
      for (const [one, other] of [
        [client, server],
        [server, client],
      ] as const) {
        one.on("error", () => {}).on("close", () => other.destroy());
      }
    }).listen(0, "127.0.0.1");
    await once(firewall, "listening");
    onTestFinished(() => void firewall.close());
    const wasAsked = Promise.withResolvers<void>();
    let hasForgotten = false;
    let connections = 0;
    const database = await open({ poolSize: 1, host: "127.0.0.1", port: (firewall.address() as AddressInfo).port });
    moveClock("setTimeout", "clearTimeout");
    const id = await idOf(database);
    vi.advanceTimersByTime(30_000);
    hasForgotten = true;
    const next = idOf(database);
    await wasAsked.promise;
    await vi.advanceTimersByTimeAsync(1000);
    expect(await next).not.toBe(id);
  });
});
