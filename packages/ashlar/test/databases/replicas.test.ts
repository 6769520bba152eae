import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { type Application, createApplication, createLogger } from "../../src/boot/index.ts";
import { type Database, DatabaseProvider, Model, ReadReplicas, sql } from "../../src/database/index.ts";
import type { KernelClass } from "../../src/kernel/index.ts";
import { Route } from "../../src/routing/index.ts";
import { generateSecret } from "../../src/security/index.ts";
import { kernelWith } from "../support/application-parts.ts";
import { freePort } from "../support/free-port.ts";
import { mariadb, onMariadb, onPostgres, postgres, type TestEngine } from "../support/services.ts";

const urlOf = ({ driver, user, host, port, database }: Readonly<Record<string, unknown>>): string =>
  `${driver}://${user}@${host}:${port}/${database}`;

/** A database that identifies itself: the table `notes` has one row, with a text. */
async function databaseWith({ open }: TestEngine, text: string) {
  const own = await open();
  onTestFinished(() => own.drop());
  await sql`create table notes (id integer primary key, text text)`.execute(own.database.kysely);
  await sql`insert into notes values (1, ${text})`.execute(own.database.kysely);
  return own;
}

class Note extends Model {
  static override table = "notes";
  static override timestamps = false;
  declare id: number;
  declare text: string;
}

interface Shop {
  readonly application: Application;
  readonly database: Database;
  readonly logged: Record<string, unknown>[];
  /** Where a request reads from: `primary`, or the text in a replica. */
  get(path?: string, cookie?: string): Promise<{ readonly text: string; readonly cookies: readonly string[] }>;
}

async function shopOn(
  engine: TestEngine,
  read: readonly string[],
  settings: object = {},
  kernel: KernelClass = kernelWith({ web: [] }, [ReadReplicas]),
): Promise<Shop> {
  const primary = await databaseWith(engine, "primary");
  const logged: Record<string, unknown>[] = [];
  const text = async () => (await Note.findOrFail(1)).text;
  const write = () => sql`update notes set text = 'primary' where id = 1`.execute(database.kysely);
  const application = await createApplication({
    kernel,
    providers: [DatabaseProvider],
    config: { database: { DATABASES: { default: "main", main: { ...primary.configuration, read, ...settings } } } },
    routes: [
      Route.get("/", text),
      Route.get(
        "/kysely",
        async () => (await database.kysely.selectFrom("notes").selectAll().execute())[0]!.text as string,
      ),
      ...Object.entries({
        "/locking": "for update",
        "/sharing": engine.name === "mariadb" ? "lock in share mode" : "for share",
      }).map(([path, lock]) =>
        Route.get(
          path,
          async () =>
            (await sql<{ text: string }>`select text from notes ${sql.raw(lock)}`.execute(database.kysely)).rows[0]!
              .text,
        ),
      ),
      Route.get("/transaction", () => database.transaction(text)),
      Route.get("/written", async () => {
        await write();
        return text();
      }),
      Route.get("/committed", async () => {
        await database.transaction(write);
        return text();
      }),
      Route.get("/rolled-back", async () => {
        await database.transaction(() => write().then(() => Promise.reject(new Error("no")))).catch(() => {});
        return text();
      }),
      Route.get("/rolled-back-and-written", async () => {
        await database.transaction(() => write().then(() => Promise.reject(new Error("no")))).catch(() => {});
        await database.transaction(write);
        return text();
      }),
      Route.get("/slow", () =>
        sql`select ${sql.raw(engine.name === "mariadb" ? "sleep" : "pg_sleep")}(60) from notes`
          .execute(database.kysely)
          .catch((error) => error.code),
      ),
      Route.get(
        "/newer",
        async () => (await sql<{ text: string }>`select text, newer from notes`.execute(database.kysely)).rows[0]!.text,
      ),
      Route.get("/wrong", () =>
        sql`select nothing from notes`.execute(database.kysely).catch((error) => error.databaseCode),
      ),
    ],
    environment: { APP_ENV: "test", APP_KEY: generateSecret() },
    logger: createLogger({ name: "test", environment: "test", log: { level: "warn", requests: false } } as never, {
      write: (line: string) => void logged.push(JSON.parse(line)),
    }),
  });
  onTestFinished(() => application.shutdown());
  const database = application.container.make("database");
  Note.useDatabase(database);
  const get = async (path = "/", cookie?: string) => {
    const headers: Record<string, string> = cookie === undefined ? {} : { cookie };
    const response = await application.fetch(new Request(`http://shop.test${path}`, { headers }), {
      address: "192.0.2.1",
    });
    return { text: await response.text(), cookies: response.headers.getSetCookie() };
  };
  return { application, database, logged, get };
}

function replicasOf(engine: TestEngine): void {
  const shop = (read: readonly string[], settings?: object) => shopOn(engine, read, settings);
  const replica = async (text: string) => urlOf((await databaseWith(engine, text)).configuration);
  /** An address at which no server listens. */
  const addressOn = (port: number) => `${engine.name}://root@127.0.0.1:${port}/none`;

  test("answer the reads of requests in turn, and nothing else", async () => {
    const { get, database } = await shop([await replica("one"), await replica("two")]);
    const seen = [];
    for (let n = 0; n < 4; n++) seen.push((await get()).text);
    expect(seen.toSorted()).toEqual(["one", "one", "two", "two"]);
    expect(["one", "two"]).toContain((await get("/kysely")).text);
    expect([(await get("/locking")).text, (await get("/sharing")).text]).toEqual(["primary", "primary"]);
    expect((await get("/transaction")).text).toBe("primary");
    expect((await Note.findOrFail(1)).text).toBe("primary");
    expect((await sql`select text from notes`.execute(database.kysely)).rows).toEqual([{ text: "primary" }]);
  });

  test("a column that a replica doesn't have yet is read from the primary, which reports invalid statements", async () => {
    const { get, database, logged } = await shop([await replica("old")]);
    await sql`alter table notes add column newer integer`.execute(database.kysely);
    expect((await get("/newer")).text).toBe("primary");
    const sent: string[] = [];
    database.onQuery(({ sql: text }) => sent.push(text));
    expect((await get("/wrong")).text).toBe(engine.name === "mariadb" ? "1054" : "42703");
    expect(sent).toEqual(["select nothing from notes", "select nothing from notes"]);
    expect([(await get()).text, logged]).toEqual(["old", []]);
  });

  test.each(["/written", "/committed", "/rolled-back-and-written"])(
    "after %s, the request reads from the primary, and so does the browser for a while",
    async (path) => {
      const { get } = await shop([await replica("old")], { ownWritesSeconds: 7 });
      const { text, cookies } = await get(path);
      expect(text).toBe("primary");
      expect(cookies).toEqual([expect.stringMatching(/^read_primary=1; Max-Age=7;.*HttpOnly/)]);
      expect((await get("/", cookies[0]!.split(";")[0])).text).toBe("primary");
      // Without the cookie, like another visitor, or later.
      expect(await get("/")).toEqual({ text: "old", cookies: [] });
    },
  );

  test("a write that was rolled back sets no cookie", async () => {
    const { get } = await shop([await replica("old")]);
    expect(await get("/rolled-back")).toEqual({ text: "primary", cookies: [] });
  });

  test("a replica that is down is left out, reported once, and used again when it is back", async () => {
    const port = await freePort();
    const gone = await databaseWith(engine, "back");
    const address = new URL(urlOf(gone.configuration));
    const { get, logged } = await shop([
      Object.assign(new URL(address.href), { port: String(port) }).href,
      await replica("two"),
    ]);
    for (let n = 0; n < 6; n++) expect(["primary", "two"]).toContain((await get()).text);
    const reports = () => logged.map(({ msg, connection }) => [msg, connection]);
    const away = ["The read replica 0 is down. Its reads go elsewhere until it is back.", "main"];
    expect(reports().filter(([text]) => String(text).includes("replica 0"))).toEqual([away]);
    // From here on, its port leads to the server.
    const { createServer, connect } = await import("node:net");
    const proxy = createServer((socket) => {
      const other = connect(Number(address.port), address.hostname);
      for (const [from, to] of [
        [socket, other],
        [other, socket],
      ] as const)
        from.pipe(to).on("error", () => {});
    });
    await new Promise<void>((resolve) => proxy.listen(port, "127.0.0.1", resolve));
    onTestFinished(() => void proxy.close());
    const later = performance.now() + 10_000;
    const clock = vi.spyOn(performance, "now").mockImplementation(() => later);
    await get();
    clock.mockRestore();
    await expect.poll(async () => (await get()).text).toBe("back");
    const ofFirst = reports().filter(([text]) => String(text).includes("replica 0"));
    // On a busy machine, connecting may take so long that the replica counts as down again.
    for (const [n, one] of ofFirst.entries())
      expect(one).toEqual([away, ["The read replica 0 is back.", "main"]][n % 2]);
    expect(ofFirst.length).toBeGreaterThanOrEqual(2);
  });

  test("a read that takes too long is not repeated on the primary, and its replica is not left out", async () => {
    const { get, database, logged } = await shop([await replica("one")], { statementTimeoutMs: 1000 });
    const sent: string[] = [];
    database.onQuery(({ sql: text }) => sent.push(text));
    expect((await get("/slow")).text).toBe("E_DATABASE_UNAVAILABLE");
    expect(sent.filter((text) => text.includes("sleep"))).toHaveLength(1);
    expect(logged).toEqual([]);
    expect((await get()).text).toBe("one");
  });

  test("if all are down, the primary answers", async () => {
    const { get } = await shop([addressOn(await freePort())]);
    for (let n = 0; n < 3; n++) expect((await get()).text).toBe("primary");
    await nextTurn();
  });

  test("startup warns of replicas that no request reads from", async () => {
    class OwnReplicas extends ReadReplicas {}
    const warned = async (read: readonly string[], kernel: KernelClass) =>
      (await shopOn(engine, read, {}, kernel)).logged.map(({ level, msg }) => [level, msg]);
    const replicas = [await replica("one")];
    expect(await warned(replicas, kernelWith({ web: [] }))).toEqual([
      [
        "warn",
        "DATABASES.main in config/database.ts has read replicas, which no request reads from. Add ReadReplicas to httpMiddleware in app/kernel.ts.",
      ],
    ]);
    expect(await warned([], kernelWith({ web: [] }))).toEqual([]);
    expect(await warned(replicas, kernelWith({ web: [OwnReplicas] }))).toEqual([]);
    expect(await warned(replicas, kernelWith({ web: [], reports: [ReadReplicas] }))).toEqual([]);
  });

  test("an invalid address fails startup", async () => {
    await expect(shop(["http://replica"])).rejects.toMatchObject({ code: "E_INVALID_CONFIGURATION" });
  });
}

await onPostgres("read replicas of PostgreSQL", () => replicasOf(postgres));
await onMariadb("read replicas of MariaDB", () => replicasOf(mariadb));
