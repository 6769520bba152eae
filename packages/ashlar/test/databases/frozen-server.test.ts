import { existsSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { createApplication, createLogger } from "../../src/boot/index.ts";
import { Database, DatabaseProvider, sql } from "../../src/database/index.ts";
import { Route } from "../../src/routing/index.ts";
import { generateSecret } from "../../src/security/index.ts";
import { freePort } from "../support/free-port.ts";
import { type OwnPostgres, startPostgres, withOwnPostgres } from "../support/own-postgres.ts";

/** Whether a task has finished after each of these times, with fake timers. */
async function endedAfter(times: readonly number[], begun: Promise<unknown>): Promise<boolean[]> {
  let hasEnded = false;
  const end = (): void => {
    hasEnded = true;
  };
  begun.then(end, end);
  const ends: boolean[] = [];
  for (const time of times) {
    vi.advanceTimersByTime(time);
    for (let turn = 0; turn < 50; turn++) await nextTurn();
    ends.push(hasEnded);
  }
  return ends;
}

function stopTimers(): void {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
}

withOwnPostgres("a PostgreSQL server that is frozen", () => {
  let server: OwnPostgres;

  beforeAll(async () => {
    server = await startPostgres(await freePort());
    await server.run("create table notes (text text)");
  });
  afterAll(() => server.remove());

  const connect = (settings: object = {}): Database => {
    const main = { driver: "postgres", url: server.url, ...settings };
    const database = new Database({ default: "main", main }, "/");
    onTestFinished(async () => {
      server.thaw();
      await database.close();
    });
    return database;
  };
  const backend = async (database: Database): Promise<number> =>
    (await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(database.kysely)).rows[0]!.pid;

  test("a statement ends one second after its 15-second limit, and its connection is not used again", async () => {
    const database = connect({ poolSize: 1 });
    const before = await backend(database);
    stopTimers();
    server.freeze();
    const frozen = backend(database);
    expect(await endedAfter([0, 15_999, 1], frozen)).toEqual([false, false, true]);
    await expect(frozen).rejects.toMatchObject({
      code: "E_DATABASE_UNAVAILABLE",
      message: "The database server did not respond to a statement within 16000 ms. The connection is closed.",
    });
    server.thaw();
    expect(await backend(database)).not.toBe(before);
  });

  test("a statement without a limit waits", async () => {
    const database = connect({ poolSize: 1, statementTimeoutMs: 0 });
    await database.connect();
    stopTimers();
    server.freeze();
    const frozen = backend(database);
    expect(await endedAfter([0, 86_400_000], frozen)).toEqual([false, false]);
    server.thaw();
    expect(await frozen).toEqual(expect.any(Number));
  });

  test.each(["a statement", "the commit"])(
    "%s in a transaction ends in time, the rollback does not wait again, and nothing is stored",
    async (what) => {
      const database = connect({ poolSize: 1 });
      const [asked, frozen] = [[] as string[], Promise.withResolvers<void>()];
      stopTimers();
      const transaction = database.transaction(async () => {
        await sql`insert into notes values (${what})`.execute(database.kysely);
        database.onQuery(({ sql: text }) => asked.push(text));
        server.freeze();
        frozen.resolve();
        if (what === "a statement") await sql`select 1`.execute(database.kysely);
      });
      await frozen.promise;
      expect(await endedAfter([0, 16_000], transaction)).toEqual([false, true]);
      await expect(transaction).rejects.toMatchObject({ code: "E_DATABASE_UNAVAILABLE" });
      // Nothing is sent on a connection that has failed.
      expect(asked).toEqual([what === "a statement" ? "select 1" : "commit"]);
      server.thaw();
      if (what === "a statement")
        expect((await server.run(`select * from notes where text = '${what}'`)).rows).toEqual([]);
    },
  );

  test("connecting ends in time", async () => {
    // The driver is loaded on first use.
    await connect().connect();
    const database = connect();
    stopTimers();
    server.freeze();
    const connecting = database.connect();
    expect(await endedAfter([0, 10_000], connecting)).toEqual([false, true]);
    await expect(connecting).rejects.toMatchObject({
      code: "E_DATABASE_UNAVAILABLE",
      message: expect.stringContaining("The database server did not respond within 10000 ms."),
    });
  });

  /** Ends backends, and returns once they are gone. This process hasn't read their last messages yet. */
  const endUnread = (pids: readonly number[]): void => {
    const clock = new Int32Array(new SharedArrayBuffer(4));
    for (const pid of pids) process.kill(pid, "SIGTERM");
    while (pids.some((pid) => existsSync(`/proc/${pid}`))) Atomics.wait(clock, 0, 0, 1);
  };

  test("idle connections that the server has closed in the meantime are replaced, and each statement runs once", async () => {
    await server.run("create table counted (n integer)");
    const database = connect({ poolSize: 3 });
    const insert = (n: number) => sql`insert into counted values (${n}::int)`.execute(database.kysely);
    const backends = () => Promise.all([1, 2, 3].map(() => backend(database)));
    const before = await backends();
    const later = performance.now() + 1000;
    const clock = vi.spyOn(performance, "now").mockImplementation(() => later);
    onTestFinished(() => clock.mockRestore());
    endUnread(before);
    await Promise.all([insert(1), database.transaction(() => insert(2)), insert(3)]);
    expect((await server.run("select n from counted order by n")).rows.map(({ n }) => n)).toEqual([1, 2, 3]);
    expect((await backends()).filter((one) => before.includes(one))).toEqual([]);
  });

  test("a statement that may have been sent is not sent again", async () => {
    const database = connect({ poolSize: 1 });
    const asked: string[] = [];
    // The connection counts as recently used, however long the server takes to end, so its end arrives in response to
    // the statement.
    const now = performance.now();
    const clock = vi.spyOn(performance, "now").mockImplementation(() => now);
    onTestFinished(() => clock.mockRestore());
    const pid = await backend(database);
    database.onQuery(({ sql: text }) => asked.push(text));
    endUnread([pid]);
    await expect(sql`select 1`.execute(database.kysely)).rejects.toMatchObject({ code: "E_DATABASE_UNAVAILABLE" });
    expect(asked).toEqual(["select 1"]);
    expect(await backend(database)).not.toBe(pid);
  });

  test("a request gets 503 with Retry-After, and works again after that", async () => {
    const application = await createApplication({
      providers: [DatabaseProvider],
      config: { database: { DATABASES: { default: "main", main: { driver: "postgres", url: server.url } } } },
      routes: [
        Route.get("/", async () => {
          await sql`select 1`.execute(application.container.make("database").kysely);
          return "answered";
        }),
      ],
      environment: { APP_ENV: "test", APP_KEY: generateSecret() },
      logger: createLogger({ name: "test", environment: "test", log: { level: "silent", requests: false } } as never),
    });
    onTestFinished(async () => {
      server.thaw();
      await application.shutdown();
    });
    const get = async () =>
      application.fetch(new Request("http://shop.test/", { headers: { accept: "application/json" } }));
    stopTimers();
    server.freeze();
    const refused = get();
    expect(await endedAfter([0, 16_000], refused)).toEqual([false, true]);
    const response = await refused;
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "5"]);
    expect(await response.json()).toMatchObject({ code: "E_DATABASE_UNAVAILABLE" });
    server.thaw();
    expect(await (await get()).text()).toBe("answered");
  });
});
