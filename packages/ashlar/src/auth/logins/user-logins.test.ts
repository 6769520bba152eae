import { afterEach, describe, expect, test } from "vitest";
import { testAccounts } from "../../../test/support/account-application.ts";
import type { Browser } from "../../../test/support/browser.ts";
import { MemoryLogins } from "../../../test/support/memory-logins.ts";
import { onEachDatabase } from "../../../test/support/services.ts";
import { ADA, BOB, PASSWORD, TestUser, type TestWeb, testWeb } from "../../../test/support/web-application.ts";
import { sql } from "../../database/index.ts";
import { Route } from "../../routing/index.ts";
import { now, setClock } from "../../support/index.ts";
import type { LoginInfo } from "./user-logins.ts";

const FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0";
const MINUTE = 60_000;

function travel(minutes: number): void {
  const then = now() + minutes * MINUTE;
  setClock(() => then);
}

const loginsOf = async (browser: Browser) => (await browser.get("/logins")).body as readonly LoginInfo[];

/** The user of each of several browsers. */
const whoIs = (browsers: readonly Browser[]) =>
  Promise.all(browsers.map(async (browser) => ((await browser.get("/me")).body as { user: unknown }).user));

/** What Ada's logins, links in mails and API tokens are bound to. */
const epochOf = async (web: TestWeb) => (await web.User.findOrFail(ADA.id)).accessEpoch();

afterEach(() => setClock(null));

await onEachDatabase("the logins of a user", (engine) => {
  test("S22 are listed, most recently used first, with device, address and which one is current", async () => {
    const start = 1_900_000_000_000;
    setClock(() => start);
    const web = await testWeb({ engine });
    const first = await web.loggedIn(ADA, { userAgent: FIREFOX, ip: "203.0.113.7" });
    travel(1);
    await web.loggedIn(ADA);
    await web.loggedIn(BOB);
    expect(await loginsOf(first)).toEqual([
      {
        id: expect.stringMatching(/^\d+$/),
        device: "Unknown device",
        ip: null,
        userAgent: null,
        lastUsedAt: new Date(start + MINUTE).toISOString(),
        createdAt: new Date(start + MINUTE).toISOString(),
        isCurrent: false,
      },
      {
        id: expect.stringMatching(/^\d+$/),
        device: "Firefox on Linux",
        ip: "203.0.113.7",
        userAgent: FIREFOX,
        lastUsedAt: new Date(start).toISOString(),
        createdAt: new Date(start).toISOString(),
        isCurrent: true,
      },
    ]);
  });

  test("S22 that were used at the same moment are listed newest first", async () => {
    travel(0);
    const web = await testWeb({ engine });
    for (const userAgent of ["first", "second"]) await web.loggedIn(ADA, { userAgent });
    const listed = await loginsOf(await web.loggedIn(ADA, { userAgent: "third" }));
    expect(listed.map(({ userAgent }) => userAgent)).toEqual(["third", "second", "first"]);
    // The most recently used login comes first, no matter when it started.
    const used = web.database.kysely.updateTable("logins").set({ last_used_at: new Date(now() + MINUTE) });
    await used.where("user_agent", "=", "first").execute();
    const relisted = await loginsOf(await web.loggedIn(ADA, { userAgent: "fourth" }));
    expect(relisted.map(({ userAgent }) => userAgent)).toEqual(["first", "fourth", "third", "second"]);
  });

  test("S37 of another user are not this user's, even if the access epoch is equal", async () => {
    const web = await testWeb({ engine });
    const [ada] = [await web.loggedIn(ADA), await web.loggedIn(BOB)];
    const access_epoch = await epochOf(web);
    await web.database.kysely.updateTable("logins").set({ access_epoch }).execute();
    expect(await loginsOf(ada)).toMatchObject([{ isCurrent: true }]);
  });

  test.each([
    ["the framework's", {}],
    ["an own", { logins: new MemoryLogins() }],
  ])("S22 that have ended are neither listed nor counted, in %s store", async (_, guard) => {
    const web = await testWeb({ engine, guard });
    travel(0);
    await web.loggedIn();
    // They end after two hours without use.
    travel(120);
    const browser = await web.loggedIn();
    expect(await loginsOf(browser)).toHaveLength(1);
    expect((await browser.post("/logins/end-others")).body).toEqual({ ended: 0 });
  });

  test("S22 can be ended one at a time", async () => {
    const web = await testWeb({ engine });
    const [here, there, elsewhere] = [await web.loggedIn(), await web.loggedIn(), await web.loggedIn()];
    const { id } = (await loginsOf(there)).find(({ isCurrent }) => isCurrent)!;
    expect((await here.post("/logins/end", { id })).body).toEqual({ ended: true });
    expect((await here.post("/logins/end", { id })).body).toEqual({ ended: false });
    expect(await whoIs([here, there, elsewhere])).toEqual([ADA, null, ADA]);
    const { id: last } = (await loginsOf(elsewhere)).find(({ isCurrent }) => isCurrent)!;
    expect((await here.post("/logins/end", { id: Number(last) })).body).toEqual({ ended: true });
    expect(await whoIs([here, elsewhere])).toEqual([ADA, null]);
  });

  test("S22 ending the current one is a logout", async () => {
    const web = await testWeb({ engine });
    const browser = await web.loggedIn();
    const [{ id } = { id: "" }] = await loginsOf(browser);
    expect((await browser.post("/logins/end", { id })).body).toEqual({ ended: true });
    expect([browser.cookies.has("token"), await web.rows()]).toEqual([false, []]);
    expect(await web.toldOf("auth.logout")).toHaveLength(1);
  });

  test("S37 cannot be ended by another user, and an invalid number does not reach the database", async () => {
    const web = await testWeb({ engine });
    const [ada, bob] = [await web.loggedIn(ADA), await web.loggedIn(BOB)];
    const [{ id } = { id: "" }] = await loginsOf(bob);
    expect((await ada.post("/logins/end", { id })).body).toEqual({ ended: false });
    web.forgetQueries();
    for (const odd of ["", "1 or 1=1", "1.0", "-1", " 1", "9".repeat(40), null, true, 1.5, 1e300, [id], { id }]) {
      expect((await ada.post("/logins/end", { id: odd })).body).toEqual({ ended: false });
    }
    expect(web.queries.filter((sql) => !sql.startsWith("select"))).toEqual([]);
    expect(await whoIs([ada, bob])).toEqual([ADA, BOB]);
  });

  test("S37 an own store is only asked to end a login with a key of at most 255 characters", async () => {
    const store = new MemoryLogins();
    const asked: string[] = [];
    store.end = async (login) => {
      const { id } = login as { readonly id: string };
      asked.push(id);
      return false;
    };
    const web = await testWeb({ engine, guard: { logins: store } });
    const browser = await web.loggedIn();
    for (const length of [0, 255, 256]) await browser.post("/logins/end", { id: "k".repeat(length) });
    expect(asked).toEqual(["k".repeat(255)]);
  });

  test("S69 of another guard's user are not this user's, even if key and access epoch are equal", async () => {
    const web = await testWeb({ engine });
    const [here, other] = [await web.loggedIn(), await web.loggedIn()];
    const { id } = (await loginsOf(other)).find(({ isCurrent }) => isCurrent)!;
    await web.database.kysely.updateTable("logins").set({ guard: "staff" }).where("id", "=", Number(id)).execute();
    expect(await loginsOf(here)).toMatchObject([{ isCurrent: true }]);
    expect((await here.post("/logins/end", { id })).body).toEqual({ ended: false });
    expect(await web.rows()).toHaveLength(2);
  });

  test("S22 can all be ended, with or without the current one", async () => {
    const web = await testWeb({ engine });
    const [a, b, c, bob] = [await web.loggedIn(), await web.loggedIn(), await web.loggedIn(), await web.loggedIn(BOB)];
    const epochs = [await epochOf(web)];
    expect((await a.post("/logins/end-others")).body).toEqual({ ended: 2 });
    epochs.push(await epochOf(web));
    expect(await whoIs([a, b, c, bob])).toEqual([ADA, null, null, BOB]);
    await web.loggedIn();
    expect((await a.post("/logins/end-all")).body).toEqual({ ended: 2, user: null });
    expect([a.cookies.has("token"), await whoIs([a, bob])]).toEqual([false, [null, BOB]]);
    // Each of them also ended links in mails and API tokens.
    expect(new Set([...epochs, await epochOf(web)]).size).toBe(3);
  });

  test("S22 logoutOtherDevices ends the others only for the right password", async () => {
    const web = await testWeb({ engine });
    const [here, there] = [await web.loggedIn(), await web.loggedIn()];
    for (const password of ["wrong", "", null, 1, [PASSWORD], { password: PASSWORD }]) {
      expect((await here.post("/logout-others", { password })).body).toEqual({ done: false });
    }
    expect(await whoIs([here, there])).toEqual([ADA, ADA]);
    expect((await here.post("/logout-others", { password: PASSWORD })).body).toEqual({ done: true });
    expect(await whoIs([here, there])).toEqual([ADA, null]);
  });

  test("of a guest are an empty list", async () => {
    const web = await testWeb({ engine });
    await web.loggedIn();
    const guest = web.browser();
    const answers = await Promise.all([
      guest.get("/logins"),
      guest.post("/logins/end", { id: "1" }),
      guest.post("/logins/end-others"),
      guest.post("/logins/end-all"),
      guest.post("/logout-others", { password: PASSWORD }),
    ]);
    expect(answers.map(({ body }) => body)).toEqual([
      [],
      { ended: false },
      { ended: 0 },
      { ended: 0, user: null },
      { done: false },
    ]);
    expect(await web.rows()).toHaveLength(1);
  });
});

describe("S22 if the database refuses, the request fails and ends nothing:", () => {
  test.each([
    ["/logout", "delete on logins"],
    ["/login-twice", "delete on logins"],
    ["/logins/end-others", "update on users"],
    ["/logins/end-others", "delete on logins"],
    ["/logins/end-others", "update on logins"],
    ["/logins/end-all", "update on users"],
    ["/logins/end-all", "delete on logins"],
    ["/new-password", "delete on logins"],
  ])("%s, %s", async (path, statement) => {
    const web: TestWeb = await testWeb({
      routes: [
        Route.post("/login-twice", async ({ auth }) => [await auth.attemptById(1), await auth.attemptById(1)]),
        Route.post("/new-password", async ({ auth }) => {
          const user = (await auth.user()) as InstanceType<typeof web.User>;
          await web.database.transaction(async () => {
            await user.setPassword("another password of hers");
            await user.save();
            await auth.logins().keepCurrent();
          });
          return {};
        }),
      ],
    });
    const browsers = [await web.loggedIn(), await web.loggedIn()];
    const [rows, epoch] = [await web.rows(), await epochOf(web)];
    const refuse = sql.raw(`create trigger refuse before ${statement} begin select raise(abort, 'no'); end`);
    await refuse.execute(web.database.kysely);
    const [browser] = path === "/login-twice" ? [web.browser()] : browsers;
    expect((await browser!.post(path)).status).toBe(500);
    expect([(await web.rows()).slice(0, 2), await epochOf(web)]).toEqual([rows, epoch]);
    expect(await whoIs(browsers)).toEqual([ADA, ADA]);
  });
});

test("S51 a login goes on with an epoch that its request has changed itself, and all others end", async () => {
  const web: TestWeb = await testWeb({
    routes: [
      Route.post("/renew", async ({ auth }) => {
        await ((await auth.user()) as TestUser).endAccess();
        return { ended: await auth.logins().keepCurrent() };
      }),
    ],
  });
  const [here, there] = [await web.loggedIn(), await web.loggedIn()];
  expect((await here.post("/renew")).body).toEqual({ ended: 1 });
  expect(await whoIs([here, there])).toEqual([ADA, null]);
});

test("the names of devices are in the user's language", async () => {
  const accounts = await testAccounts({
    config: { app: { APP: { languages: ["de"] } } },
    routes: [Route.get("/devices", async ({ auth }) => (await auth.logins().list()).map(({ device }) => device))],
  });
  const visitor = await accounts.loggedIn();
  expect((await visitor.get("/devices", { "accept-language": "de" })).body).toEqual(["Unbekanntes Gerät"]);
});

test.each([
  ["with an epoch", true],
  ["without one", false],
])(
  "S51 S69 logging out everywhere also ends the logins with other guards that have the same rows, %s",
  async (_, has) => {
    class User extends TestUser {}
    const web = await testWeb({
      User,
      guards: { staff: { driver: "web", model: User } },
      routes: [
        Route.post("/staff/login/@id", async ({ auth, request }) => {
          return { user: await auth.guard("staff").attemptById(request.param("id")!) };
        }),
        Route.get("/staff/me", async ({ auth }) => ({ user: await auth.guard("staff").user() })),
      ],
    });
    if (!has) await web.database.kysely.schema.alterTable("users").dropColumn("access_epoch").execute();
    const staff = async (user: { readonly id: number }) => {
      const browser = web.browser();
      await browser.post(`/staff/login/${user.id}`);
      return async () => ((await browser.get("/staff/me")).body as { user: unknown }).user;
    };
    const [here, bob] = [await web.loggedIn(ADA), await staff(BOB)];
    for (const path of ["/logins/end-others", "/logins/end-all"]) {
      const ada = await staff(ADA);
      expect(await ada()).toEqual(ADA);
      await here.post(path);
      expect([await ada(), await bob()]).toEqual([null, BOB]);
    }
    expect((await web.rows()).map(({ guard, user_id }) => [guard, user_id])).toEqual([["staff", BOB.id]]);
  },
);
