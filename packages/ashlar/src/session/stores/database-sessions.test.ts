import { sql } from "kysely";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { onEachDatabase, testWhere } from "../../../test/support/services.ts";
import { Browser, sessionApplication } from "../../../test/support/session-application.ts";
import { type Application, createApplication } from "../../boot/index.ts";
import { type Database, DatabaseProvider } from "../../database/index.ts";
import { Route, type RouteEntry } from "../../routing/index.ts";
import { digest, randomToken } from "../../security/index.ts";
import { setClock } from "../../support/index.ts";
import { createSessionDataTable, databaseSessions, SessionMiddleware, SessionProvider } from "../index.ts";
import { StoredSessions } from "../sessions/stored-sessions.ts";
import { DatabaseSessions } from "./database-sessions.ts";
import type { SessionRecord } from "./session-keeper.ts";
import { readSessionSettings } from "./settings.ts";

const MINUTE = 60_000;
const START = Date.UTC(2030, 0, 1);

afterEach(() => setClock(null));

function record(changes: Partial<SessionRecord> = {}): SessionRecord {
  return { id: randomToken(), createdAt: START, usedAt: START + 1234, contents: '{"d":{"a":1}}', ...changes };
}

await onEachDatabase("sessions in the database", (engine) => {
  let database: Database;
  let store: StoredSessions;

  beforeEach(async () => {
    const opened = await engine.open({}, { name: "sessions", fill: ({ kysely }) => createSessionDataTable(kysely) });
    database = opened.database;
    store = new StoredSessions(new DatabaseSessions(database.connection()), readSessionSettings({}, null));
    onTestFinished(() => opened.drop());
  });

  const rows = (): Promise<Record<string, unknown>[]> =>
    database.kysely.selectFrom("session_data").selectAll().execute();

  test("a stored session is found by its cookie, to the millisecond", async () => {
    const kept = record();
    expect(store.cookieFor(kept)).toBe(kept.id);
    expect(await store.save(kept, null)).toBe(true);
    expect(await store.find(kept.id)).toEqual(kept);
  });

  test("on a named connection, a start creates the table that migrations have created on the default one", async () => {
    const [main, visitors] = [
      await engine.open({}, { name: "sessions", fill: ({ kysely }) => createSessionDataTable(kysely) }),
      await engine.open(),
    ];
    onTestFinished(async () => void (await Promise.all([main.drop(), visitors.drop()])));
    const DATABASES = { default: "main", main: main.configuration, visitors: visitors.configuration };
    const boot = async (DATABASES: object) => {
      const application = await createApplication({
        providers: [DatabaseProvider, SessionProvider],
        config: {
          database: { DATABASES },
          session: { SESSION: { store: databaseSessions({ connection: "visitors" }) } },
        },
        environment: { APP_ENV: "test" },
      });
      onTestFinished(() => application.shutdown());
      return application;
    };
    const created = await boot(DATABASES);
    await created.container.make("session").keeper.check?.();
    expect(await visitors.database.kysely.selectFrom("session_data").selectAll().execute()).toEqual([]);
    await visitors.database.kysely.schema.dropTable("session_data").execute();
    // If migrations haven't created it there either, the server doesn't start.
    const without = await boot({ ...DATABASES, main: visitors.configuration });
    await expect(without.listen({ port: 0, handleSignals: false })).rejects.toMatchObject({
      code: "E_INVALID_CONFIGURATION",
      message: expect.stringContaining('the database of the connection "visitors" has no table session_data.'),
    });
  });

  test("any text is stored to the last character", async () => {
    const contents = JSON.stringify({ d: { text: "\0 \ud800 💥 '\"; drop table session_data; --" } });
    const kept = record({ contents });
    await store.save(kept, null);
    expect(await store.find(kept.id)).toEqual(kept);
  });

  test("S17 the table holds the digest of the cookie's value, and nothing that opens the session", async () => {
    const kept = record();
    await store.save(kept, null);
    expect((await rows()).map((row) => row.id)).toEqual([digest(kept.id)]);
    expect(JSON.stringify(await rows())).not.toContain(kept.id);
    expect(await store.find(digest(kept.id))).toBe(null);
  });

  test("a change keeps the row and its creation time", async () => {
    const kept = record();
    await store.save(kept, null);
    const changed = { ...kept, usedAt: START + 9999, contents: '{"i":1}' };
    expect(await store.save(changed, kept)).toBe(true);
    expect([await store.find(kept.id), (await rows()).length]).toEqual([changed, 1]);
  });

  test("S18 a new id is a new row, and the old one is gone", async () => {
    const kept = record();
    await store.save(kept, null);
    const renewed = record({ contents: kept.contents });
    expect(await store.save(renewed, kept)).toBe(true);
    expect([await store.find(kept.id), await store.find(renewed.id), (await rows()).length]).toEqual([
      null,
      renewed,
      1,
    ]);
  });

  test("S19 an ended session is not restored by a request that began before", async () => {
    const kept = record();
    await store.save(kept, null);
    await store.remove(kept);
    expect(await store.save({ ...kept, contents: '{"i":1}' }, kept)).toBe(false);
    expect(await rows()).toEqual([]);
    await store.remove(kept);
  });

  test.each(["", "x", "A".repeat(42), "A".repeat(44), `${"A".repeat(42)}'`, "A".repeat(9000), "\0".repeat(43)])(
    "S25 no statement is run for %j",
    async (cookie) => {
      const statements: string[] = [];
      database.onQuery(({ sql }) => statements.push(sql));
      expect(await store.find(cookie)).toBe(null);
      expect(statements).toEqual([]);
    },
  );

  test("the table accepts no row without contents and times, and has the index that pruning uses", async () => {
    const { kysely } = database;
    const row = { id: "a", data: "{}", created_at: new Date(START), last_used_at: new Date(START) };
    for (const name of ["data", "created_at", "last_used_at"]) {
      await expect(
        kysely
          .insertInto("session_data")
          .values({ ...row, [name]: null })
          .execute(),
      ).rejects.toMatchObject({ code: "E_NOT_NULL_VIOLATION" });
    }
    const index = kysely.schema.createIndex("session_data_last_used_at").on("session_data").column("last_used_at");
    await expect(index.execute()).rejects.toMatchObject({
      message: expect.stringMatching(/already exists|Duplicate key name/),
    });
  });

  test("the migration fails if the table already exists", async () => {
    await expect(createSessionDataTable(database.kysely)).rejects.toMatchObject({ code: "E_DATABASE" });
  });

  // On MariaDB, index names belong to their table.
  testWhere(engine.name !== "mariadb", "the migration fails if the index is there already", async () => {
    const { kysely } = database;
    await kysely.schema.dropTable("session_data").execute();
    await kysely.schema.createTable("other").addColumn("id", "integer").execute();
    await kysely.schema.createIndex("session_data_last_used_at").on("other").column("id").execute();
    await expect(createSessionDataTable(kysely)).rejects.toMatchObject({ code: "E_DATABASE" });
  });

  test("pruning deletes sessions that can no longer be used, and returns how many", async () => {
    const idle = record({ usedAt: START - 1 });
    const old = record({ createdAt: START - 60 * MINUTE, usedAt: START + 2 * MINUTE });
    const live = record({ createdAt: START - 59 * MINUTE, usedAt: START + 1 });
    for (const one of [idle, old, live]) await store.save(one, null);
    expect(await store.prune(START, START - 60 * MINUTE)).toBe(2);
    expect((await rows()).map((row) => row.id)).toEqual([digest(live.id)]);
    expect(await store.prune(START, START - 60 * MINUTE)).toBe(0);
  });
});

/** Requests for `/slow` wait for this promise. */
let released = Promise.withResolvers<void>();

const ROUTES: readonly RouteEntry[] = [
  Route.get("/", () => "untouched"),
  Route.get("/put/@key/@value", async ({ session, request }) => {
    await new Promise((resolve) => setTimeout(resolve, 2));
    session.put(request.param("key")!, request.param("value"));
    return session.all();
  }),
  Route.get("/read", async ({ session }) => {
    await new Promise((resolve) => setTimeout(resolve, 2));
    return session.all();
  }),
  Route.get("/flash/@value", ({ session, request }) => {
    session.flash("status", request.param("value"));
    return "flashed";
  }),
  Route.get("/invalidate", ({ session }) => {
    session.invalidate();
    return "invalidated";
  }),
  Route.get("/regenerate", ({ session }) => {
    session.regenerate();
    return "regenerated";
  }),
  Route.get("/slow", async ({ session }) => {
    session.put("slow", true);
    await released.promise;
    return "slow";
  }),
];

describe("requests", () => {
  const create = (): Promise<Application> => {
    return sessionApplication({ routes: ROUTES, session: { store: "database" }, web: [SessionMiddleware] });
  };
  const countRows = async (application: Application): Promise<number> => {
    return (await application.container.make("database").kysely.selectFrom("session_data").selectAll().execute())
      .length;
  };

  test("a visitor without a cookie costs no statement, one with a cookie costs one, and a change one more", async () => {
    const application = await create();
    const browser = new Browser(application);
    let statements: string[] = [];
    application.container.make("database").onQuery(({ sql }) => statements.push(sql.slice(0, 6)));
    const during = async (path: string): Promise<string[]> => {
      statements = [];
      await browser.send(path);
      return statements;
    };
    expect(await during("/")).toEqual([]);
    expect(await during("/read")).toEqual([]);
    expect(await during("/put/a/1")).toEqual(["insert"]);
    expect(await during("/")).toEqual(["select"]);
    expect(await during("/read")).toEqual(["select"]);
    expect(await during("/put/a/1")).toEqual(["select"]);
    expect(await during("/put/a/2")).toEqual(["select", "update"]);
    expect(await during("/invalidate")).toEqual(["select", "delete"]);
  });

  test("concurrent requests that only read lose nothing that another one flashes", async () => {
    const browser = new Browser(await create());
    await browser.send("/put/a/1");
    await Promise.all([...Array.from({ length: 10 }, () => browser.send("/")), browser.send("/flash/Saved")]);
    expect(JSON.parse((await browser.send("/read")).text)).toEqual({ a: "1", status: "Saved" });
  });

  test("of concurrent changes, the last one is stored completely, and there is one row", async () => {
    const application = await create();
    const browser = new Browser(application);
    await browser.send("/put/a/0");
    const cookie = browser.cookies.get("session")!;
    const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => browser.send(`/put/n${index}/1`)));
    expect(answers.map((answer) => answer.status)).toEqual(Array(20).fill(200));
    const kept = Object.keys(JSON.parse((await browser.send("/read")).text));
    expect(kept).toEqual(["a", expect.stringMatching(/^n\d+$/)]);
    expect([browser.cookies.get("session"), await countRows(application)]).toEqual([cookie, 1]);
  });

  test("S19 a request that is running when its session ends neither restores it nor sets its cookie", async () => {
    const application = await create();
    const browser = new Browser(application);
    await browser.send("/put/a/1");
    released = Promise.withResolvers();
    const slow = browser.send("/slow");
    await browser.send("/invalidate");
    released.resolve();
    expect((await slow).cookies).toEqual([]);
    expect([browser.cookies.size, await countRows(application)]).toEqual([0, 0]);
  });

  test.each(["invalidate", "regenerate"])("S18 S19 no response says %s before the old row is gone", async (change) => {
    const application = await create();
    const browser = new Browser(application);
    await browser.send("/put/a/1");
    await sql`create trigger kept before delete on session_data begin select raise(abort, 'kept'); end`.execute(
      application.container.make("database").kysely,
    );
    expect((await browser.send(`/${change}`)).status).toBe(500);
  });

  test("S21 sessions are pruned at most once an hour", async () => {
    let time = START;
    setClock(() => time);
    const session = { store: "database", lifetimeMinutes: 10 };
    const application = await sessionApplication({ routes: ROUTES, session, web: [SessionMiddleware] });
    const browser = new Browser(application);
    const after = async (minutes: number): Promise<number> => {
      time += minutes * MINUTE;
      await browser.send("/put/a/1");
      await application.container.make("session").settled();
      return countRows(application);
    };
    // After another 59 minutes, the second session is too old as well, and its row stays for one more minute.
    expect([await after(0), await after(60), await after(59), await after(1)]).toEqual([1, 1, 2, 1]);
  });

  test("S21 expired sessions are pruned on demand and at regular intervals", async () => {
    let time = START;
    setClock(() => time);
    const application = await create();
    const manager = application.container.make("session");
    for (let count = 0; count < 3; count++) await new Browser(application).send("/put/a/1");
    time += 119 * MINUTE;
    expect(await manager.prune()).toBe(0);
    const late = new Browser(application);
    await late.send("/put/a/1");
    time += MINUTE;
    expect([await manager.prune(), await countRows(application)]).toEqual([3, 1]);
    await new Browser(application).send("/put/a/1");
    time += 120 * MINUTE;
    await late.send("/read");
    await manager.settled();
    expect(await countRows(application)).toBe(0);
  });

  test.each([
    // Used again just before the ten minutes are over.
    ["idle", { lifetimeMinutes: 10, absoluteMinutes: 100 }, 19],
    ["old", { lifetimeMinutes: 10, absoluteMinutes: 15 }, 15],
  ])(
    "S21 a session that is too %s is not used, whether or not its row is still there",
    async (_title, lifetimes, endsAfter) => {
      let time = START;
      setClock(() => time);
      const session = { store: "database", ...lifetimes };
      const application = await sessionApplication({ routes: ROUTES, session, web: [SessionMiddleware] });
      const browser = new Browser(application);
      await browser.send("/put/a/1");
      time = START + 9 * MINUTE;
      expect((await browser.send("/read")).text).toBe('{"a":"1"}');
      const cookie = browser.cookies.get("session");
      time = START + endsAfter * MINUTE;
      const stale = await browser.send("/read", { headers: { cookie: `session=${cookie}` } });
      expect([stale.text, await countRows(application)]).toEqual(["{}", 1]);
    },
  );

  test("without its table the response is an error, and the process keeps running", async () => {
    const application = await create();
    await application.container.make("database").kysely.schema.dropTable("session_data").execute();
    const browser = new Browser(application);
    expect((await browser.send("/put/a/1")).status).toBe(500);
    expect((await browser.send("/")).status).toBe(200);
    await expect(application.container.make("session").prune()).rejects.toMatchObject({ code: "E_DATABASE" });
  });
});
