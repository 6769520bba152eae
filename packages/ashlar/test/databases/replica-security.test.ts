import { expect, onTestFinished, test } from "vitest";
import { Api, JWTAuthenticationMiddleware } from "../../src/api/index.ts";
import { LoadUserMiddleware } from "../../src/auth/index.ts";
import { DatabaseProvider, ReadReplicas, sql } from "../../src/database/index.ts";
import { Route } from "../../src/routing/index.ts";
import {
  createSessionDataTable,
  databaseSessions,
  SessionMiddleware,
  SessionProvider,
} from "../../src/session/index.ts";
import {
  ADA,
  NEW_PASSWORD,
  outcomeOf,
  PASSWORD,
  pathIn,
  type TestAccounts,
  testAccounts,
} from "../support/account-application.ts";
import { testApi } from "../support/api-application.ts";
import { buildApplication, ownDatabases } from "../support/build-application.ts";
import { type Contents, mariadb, onMariadb, onPostgres, postgres, type TestEngine } from "../support/services.ts";
import { Browser } from "../support/session-application.ts";
import { testWeb } from "../support/web-application.ts";

const SESSION_DATA: Contents = { name: "session-data", fill: ({ kysely }) => createSessionDataTable(kysely) };

function replicasOf(engine: TestEngine): void {
  /** An application with a replica that has the same tables, but no rows. */
  const behind: TestEngine = {
    ...engine,
    async open(settings, contents) {
      const empty = await engine.open({}, contents);
      onTestFinished(() => empty.drop());
      if (contents !== SESSION_DATA) await sql`delete from users`.execute(empty.database.kysely);
      const { driver, user, host, port, database } = empty.configuration;
      const read = [`${driver}://${user}@${host}:${port}/${database}`];
      return await engine.open({ ...settings, read }, contents);
    },
  };
  const accountsWith = (options: object = {}): Promise<TestAccounts> =>
    testAccounts({
      engine: behind,
      middleware: { web: [ReadReplicas, SessionMiddleware, LoadUserMiddleware] },
      ...options,
    });

  test("S85 are never asked about users and tokens", async () => {
    const api = await testApi({
      engine: behind,
      stack: [ReadReplicas, JWTAuthenticationMiddleware],
      middleware: { replicas: [ReadReplicas] },
      web: [Route.group({ middleware: ["replicas"] }, Api.routes())],
    });
    const token = await api.token();
    const { status, body } = await api.post("/api/reauth", { token });
    expect(status).toBe(200);
    const renewed = (body as { readonly data: string }).data;
    expect((await api.get("/api/me", { token: renewed })).body).toMatchObject({ email: ADA.email });
    expect((await api.post("/api/reauth", { token })).body).toEqual({ data: renewed });
  });

  test("S85 are never asked about logins", async () => {
    const web = await testWeb({ engine: behind, stack: [ReadReplicas] });
    const browser = await web.loggedIn();
    expect(JSON.stringify(await browser.get("/me"))).toContain(ADA.email);
  });

  test("S85 are never asked about limits, and counting doesn't redirect reads to the primary", async () => {
    const login = { buckets: [{ by: ["address"], attempts: 3, windowSeconds: 3600 }] };
    const accounts = await accountsWith({ throttle: { login } });
    const visitor = accounts.visitor();
    const statuses: number[] = [];
    for (let attempt = 0; attempt < 4; attempt++) {
      const { status, headers } = await visitor.post("/login", { email: ADA.email, password: "wrong" });
      statuses.push(status);
      expect(headers.getSetCookie().join()).not.toContain("read_primary");
    }
    expect(statuses).toEqual([303, 303, 303, 429]);
    expect((await accounts.visitor().post("/login", { email: ADA.email, password: PASSWORD })).status).toBe(429);
  });

  test("S85 are never asked about sessions, and storing one doesn't redirect reads to the primary", async () => {
    const application = await buildApplication({
      middleware: { web: [ReadReplicas, SessionMiddleware] },
      routes: [
        Route.get("/put", ({ session }) => session.put("step", "two")),
        Route.get("/step", ({ session }) => session.get("step", "none") as string),
      ],
      providers: [DatabaseProvider, SessionProvider],
      config: { session: { SESSION: { store: databaseSessions() } } },
      databases: await ownDatabases({ engine: behind, contents: SESSION_DATA }),
      environment: { APP_KEY: "k3Vw9qLz7Rt2Xn8Bc5Mf1Hd6Js4Pg0YaQeTuIoWi" },
    });
    const browser = new Browser(application);
    expect((await browser.send("/put")).cookies).toEqual(["session"]);
    expect((await browser.send("/step")).text).toBe("two");
  });

  // Each link is opened in a browser that hasn't written anything, so nothing else makes it read from the primary.
  test("S85 are never asked about password links", async () => {
    const accounts = await accountsWith();
    const token = await accounts.resetToken();
    const path = `/password_reset?token=${encodeURIComponent(token)}`;
    expect((await accounts.visitor().get(path)).status).toBe(200);
    const sent = { token, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
    expect((await accounts.visitor().post("/password_reset", sent)).headers.get("location")).toBe("/login");
    // A replica wouldn't know that it was used.
    expect((await accounts.visitor().get(path)).status).toBe(410);
  });

  test("S85 are never asked about links that change an address, or undo the change", async () => {
    const accounts = await accountsWith();
    const visitor = await accounts.loggedIn();
    await accounts.mails();
    await visitor.post("/account/email", { email: "ada@example.org", password: PASSWORD });
    const [toNew] = await accounts.mails();
    expect(await outcomeOf(accounts.visitor(), pathIn(toNew))).toBe("verified");
    expect((await accounts.user()).email).toBe("ada@example.org");
    const undo = await accounts.link();
    expect((await accounts.visitor().get(undo)).status).toBe(200);
    await accounts.visitor().post(new URL(undo, "https://shop.example").pathname);
    expect((await accounts.user()).email).toBe(ADA.email);
  });
}

await onPostgres("read replicas of PostgreSQL", () => replicasOf(postgres));
await onMariadb("read replicas of MariaDB", () => replicasOf(mariadb));
