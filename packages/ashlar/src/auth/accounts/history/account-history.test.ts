import { afterEach, expect, test } from "vitest";
import {
  ADA,
  AdminUser,
  BOB,
  NEW_PASSWORD,
  PASSWORD,
  type TestAccounts,
  type TestAccountsOptions,
  testAccounts,
} from "../../../../test/support/account-application.ts";
import { migrationOfStub } from "../../../../test/support/migration-folder.ts";
import { onEachDatabase } from "../../../../test/support/services.ts";
import { Route } from "../../../routing/index.ts";
import { setClock } from "../../../support/index.ts";
import { MAX_PER_USER } from "./security-events-table.ts";

const FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
const DAY = 86_400_000;

afterEach(() => setClock(null));

const EVENTS = Route.get("/events", async ({ accounts, auth, request }) => {
  const { before, after, size } = request.all();
  const user = await auth.user();
  return accounts.events(user!, { before, after, ...(size !== undefined && { size: Number(size) }) });
});

/** An application with the table of events. */
async function listing(options: TestAccountsOptions = {}): Promise<TestAccounts> {
  const accounts = await testAccounts({ routes: [EVENTS], ...options });
  const { up } = await migrationOfStub("auth/migrations/create_security_events.ts.stub");
  await up(accounts.database.kysely);
  await accounts.application.container.make("accounts").history.prepare();
  return accounts;
}

/** Once all events so far are stored. */
async function settled({ application }: TestAccounts): Promise<void> {
  await application.container.make("events").settled();
  // Events are noted after the response.
  await new Promise(setImmediate);
  await new Promise(setImmediate);
  await application.container.make("accounts").history.flush();
}

async function stored(accounts: TestAccounts): Promise<unknown[]> {
  await settled(accounts);
  return (await accounts.rows("security_events")).map(({ user_id, guard, event }) => [Number(user_id), guard, event]);
}

interface Listed {
  readonly events: readonly { readonly id: string; readonly name: string; readonly text: string }[];
  readonly before: string | null;
  readonly after: string | null;
}

await onEachDatabase("the events of accounts", (engine) => {
  test("lists what has happened to an account, to its owner, with the client's address and device", async () => {
    const accounts = await listing({ engine });
    const visitor = accounts.visitor({ userAgent: FIREFOX });
    await visitor.post("/login", { email: ADA.email, password: "a wrong password" });
    await visitor.post("/login", { email: ADA.email, password: PASSWORD });
    await visitor.post("/account/password", {
      current_password: PASSWORD,
      password: NEW_PASSWORD,
      password_confirmation: NEW_PASSWORD,
    });
    await settled(accounts);
    const { body } = await visitor.get("/events", { accept: "application/json" });
    const seen = { ip: "203.0.113.7", device: "Firefox on Linux", id: expect.any(String), time: expect.any(String) };
    expect(body).toEqual({
      events: [
        { ...seen, name: "auth.password_changed", text: "Password changed", details: {} },
        { ...seen, name: "auth.new_device", text: "Logged in on a new device", details: {} },
        { ...seen, name: "auth.login", text: "Logged in", details: { by: "password" } },
        { ...seen, name: "auth.failed", text: "Failed attempt to log in", details: { by: "password" } },
      ],
      before: null,
      after: null,
    });
    const other = await accounts.loggedIn(BOB);
    await settled(accounts);
    const { body: others } = await other.get("/events", { accept: "application/json" });
    expect((others as unknown as Listed).events.map(({ name }) => name)).toEqual(["auth.new_device", "auth.login"]);
  });

  test("goes through the events in pages, whatever the keys", async () => {
    const accounts = await listing({ engine });
    const visitor = await accounts.loggedIn();
    await settled(accounts);
    await accounts.database.kysely.deleteFrom("security_events").execute();
    const rows = Array.from({ length: 5 }, (_, n) => ({
      user_id: ADA.id,
      guard: "web",
      event: `test.${n}`,
      details: "{}",
      created_at: new Date(),
    }));
    for (const row of rows) await accounts.database.kysely.insertInto("security_events").values(row).execute();
    const page = async (query: string): Promise<[string, Listed]> => {
      const { body } = await visitor.get(`/events?size=2${query}`, { accept: "application/json" });
      const listed = body as unknown as Listed;
      return [listed.events.map(({ name }) => name.slice(5)).join(""), listed];
    };
    const [first, { after, before }] = await page("");
    expect([first, before]).toEqual(["43", null]);
    const [second, middle] = await page(`&after=${after}`);
    expect(second).toBe("21");
    const [third, last] = await page(`&after=${middle.after}`);
    expect([third, last.after]).toEqual(["0", null]);
    expect((await page(`&before=${last.before}`))[0]).toBe("21");
    expect((await page(`&before=${middle.before}`))[0]).toBe("43");
    for (const nonsense of ["&after=-1", "&after=1e3", `&after=${"9".repeat(30)}`, "&after[]=1", "&before=x"]) {
      expect((await page(nonsense))[0], nonsense).toBe("43");
    }
  });

  test("S70 erases and exports them with the account, and those of no other user", async () => {
    const accounts = await listing({ engine, guards: { admin: { driver: "web", model: AdminUser } } });
    for (const user of [ADA, BOB]) await accounts.loggedIn(user);
    await settled(accounts);
    const event = { user_id: ADA.id, guard: "admin", event: "auth.login", details: "{}", created_at: new Date() };
    await accounts.database.kysely.insertInto("security_events").values(event).execute();
    const user = await accounts.user();
    const { data } = accounts.application.container.make("accounts");
    const subject = { user, id: ADA.id, guards: ["web"], email: ADA.email };
    expect(await data.security_events.export(subject)).toEqual([
      expect.objectContaining({ event: "auth.new_device" }),
      {
        guard: "web",
        event: "auth.login",
        ip: "203.0.113.7",
        user_agent: null,
        by: "password",
        created_at: expect.any(Date),
      },
    ]);
    await user.delete();
    expect(await stored(accounts)).toEqual([
      [BOB.id, "web", "auth.login"],
      [BOB.id, "web", "auth.new_device"],
      [ADA.id, "admin", "auth.login"],
    ]);
  });

  test("S71 forgets their addresses after addressDays, and deletes them after eventDays, or with a missing user", async () => {
    const noon = Date.parse("2026-03-01T12:00:00.000Z");
    setClock(() => noon);
    const ACCOUNTS = { retention: { addressDays: 7, eventDays: 10 } };
    const accounts = await listing({ engine, ACCOUNTS });
    for (const user of [ADA, BOB]) await accounts.loggedIn(user);
    await settled(accounts);
    await accounts.User.where("id", BOB.id).delete();
    const prune = async () => {
      const { "security events": events, "addresses of security events": addresses } =
        await accounts.application.prune();
      return [events, addresses];
    };
    expect(await prune()).toEqual([2, 0]);
    setClock(() => noon + 7 * DAY);
    expect(await prune()).toEqual([0, 2]);
    expect(await prune()).toEqual([0, 0]);
    expect(await accounts.rows("security_events")).toMatchObject([
      { ip: null, user_agent: null },
      { ip: null, user_agent: null },
    ]);
    setClock(() => noon + 10 * DAY);
    expect(await prune()).toEqual([2, 0]);
  });

  test("S33 keeps a bounded number of them for each account, and guesses don't push out the others", async () => {
    const accounts = await listing({ engine });
    const { history } = accounts.application.container.make("accounts");
    const events = accounts.application.container.make("events");
    const user = await accounts.user();
    const told = { time: new Date(), address: null, guard: "web", user };
    await events.emit("auth.password_changed", told);
    for (let count = 0; count < MAX_PER_USER + 100; count++) {
      await events.emit("auth.failed", { ...told, by: "password", identifier: ADA.email });
      if (count % 7 === 0) await history.flush();
    }
    await settled(accounts);
    const rows = await accounts.rows("security_events");
    expect(rows.filter(({ event }) => event === "auth.password_changed")).toHaveLength(1);
    expect(rows.length).toBeGreaterThanOrEqual(MAX_PER_USER);
    expect(rows.length).toBeLessThan(MAX_PER_USER + 30);
  });
});

test("S68 an event of a transaction that is rolled back isn't listed, except a failed login", async () => {
  const accounts: TestAccounts = await listing({
    routes: [
      Route.post("/both", async ({ auth, accounts: own, request }) => {
        await accounts.database
          .transaction(async () => {
            await auth.login(ADA.email, "a wrong password");
            const result = await auth.login(ADA.email, request.input("password"));
            if (result.status === "complete") await own.endAccess(request.user()!);
            throw new Error("rolled back");
          })
          .catch(() => {});
        return "done";
      }),
    ],
  });
  const { status, body } = await accounts.visitor().post("/both", { password: PASSWORD });
  expect([status, body]).toEqual([200, "done"]);
  expect(await stored(accounts)).toEqual([[ADA.id, "web", "auth.failed"]]);
});

test("a table that is missing, or can't be written, doesn't fail a login, and is reported in the log", async () => {
  const accounts = await testAccounts({ routes: [EVENTS] });
  const visitor = await accounts.loggedIn();
  await settled(accounts);
  const { body } = await visitor.get("/events", { accept: "application/json" });
  expect(body).toEqual({ events: [], before: null, after: null });
  const broken = await listing();
  await broken.loggedIn();
  await settled(broken);
  await broken.database.kysely.schema.dropTable("security_events").execute();
  const logged: unknown[] = [];
  broken.application.logger.error = ((...line: unknown[]) => logged.push(line[1])) as never;
  await broken.loggedIn();
  await broken.application.container.make("events").settled();
  await new Promise(setImmediate);
  await new Promise(setImmediate);
  await broken.application.background.settled();
  expect(logged).toContain("The events of accounts could not be stored.");
});

test("lists them in the language of the request", async () => {
  const accounts = await listing({ config: { app: { APP: { languages: ["de"] } } } });
  const visitor = await accounts.loggedIn();
  await settled(accounts);
  const { body } = await visitor.get("/events", { accept: "application/json", "accept-language": "de" });
  expect((body as unknown as Listed).events.map(({ text }) => text)).toEqual([
    "Auf einem neuen Gerät angemeldet",
    "Angemeldet",
  ]);
});
