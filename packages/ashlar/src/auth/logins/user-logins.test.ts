import { afterEach, describe, expect, test } from "vitest";
import { testAccounts } from "../../../test/support/account-application.ts";
import type { Browser } from "../../../test/support/browser.ts";
import { MemoryLogins } from "../../../test/support/memory-logins.ts";
import { onEachDatabase } from "../../../test/support/services.ts";
import { ADA, BOB, PASSWORD, TestUser, type TestWeb, testWeb } from "../../../test/support/web-application.ts";
import { sql } from "../../database/index.ts";
import { Route } from "../../routing/index.ts";
import { now, setClock } from "../../support/index.ts";
import type { LoginPage } from "./user-logins.ts";

const FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0";
const MINUTE = 60_000;

function travel(minutes: number): void {
  const then = now() + minutes * MINUTE;
  setClock(() => then);
}

const loginsOf = async (browser: Browser) => (await browser.get("/logins")).body as LoginPage["logins"];

/** The users of several browsers. */
const whoIs = (browsers: readonly Browser[]) =>
  Promise.all(browsers.map(async (browser) => ((await browser.get("/me")).body as { user: unknown }).user));

/** The epoch of Ada's logins, links in mails and API tokens. */
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
        by: [],
        isCurrent: false,
      },
      {
        id: expect.stringMatching(/^\d+$/),
        device: "Firefox on Linux",
        ip: "203.0.113.7",
        userAgent: FIREFOX,
        lastUsedAt: new Date(start).toISOString(),
        createdAt: new Date(start).toISOString(),
        by: [],
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

  test("S37 your own store is only asked to end a login if its key has at most 255 characters", async () => {
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

  test("are an empty list for a guest", async () => {
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

test("S51 a login continues with an epoch that its request has changed itself, and all others end", async () => {
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

await onEachDatabase("the pages of a user's logins", (engine) => {
  const PAGES = [
    Route.get("/pages", ({ auth, request }) => {
      return auth.logins().page({ before: request.input("before"), after: request.input("after"), size: 3 });
    }),
  ];
  const numbersOf = (page: LoginPage) => page.logins.map(({ userAgent }) => Number(userAgent)).sort((a, b) => b - a);

  /** A user's browsers, each logged in once: the last one's user agent is the highest number. */
  async function loggedIn(web: TestWeb, count: number): Promise<Browser> {
    let browser = web.browser();
    for (let number = 1; number <= count; number++) browser = await web.loggedIn(ADA, { userAgent: String(number) });
    return browser;
  }

  const pageOf = async (browser: Browser, query = "") => (await browser.get(`/pages${query}`)).body as LoginPage;

  test("S22 lead from the newest to the oldest and back, without skipping or repeating one", async () => {
    const web = await testWeb({ engine, routes: PAGES });
    const browser = await loggedIn(web, 7);
    const first = await pageOf(browser);
    expect([numbersOf(first), first.before]).toEqual([[7, 6, 5], null]);
    const second = await pageOf(browser, `?after=${first.after}`);
    expect(numbersOf(second)).toEqual([4, 3, 2]);
    const third = await pageOf(browser, `?after=${second.after}`);
    expect([numbersOf(third), third.after]).toEqual([[1], null]);
    expect(await pageOf(browser, `?before=${third.before}`)).toEqual(second);
    expect(await pageOf(browser, `?before=${second.before}`)).toEqual(first);
  });

  test("S22 fit on one page if there are few logins, most recently used first", async () => {
    const web = await testWeb({ engine, routes: PAGES });
    const browser = await loggedIn(web, 3);
    await web.database.kysely
      .updateTable("logins")
      .set({ last_used_at: new Date(now() + MINUTE) })
      .where("user_agent", "=", "1")
      .execute();
    const page = await pageOf(browser);
    expect(page).toMatchObject({ before: null, after: null });
    expect(page.logins.map(({ userAgent }) => userAgent)).toEqual(["1", "3", "2"]);
  });

  test("S37 start from the first for anything but a login's key, and never show another user's", async () => {
    const web = await testWeb({ engine, routes: PAGES });
    await web.loggedIn(BOB);
    const browser = await loggedIn(web, 4);
    const first = await pageOf(browser);
    for (const query of [
      "?after=",
      "?after=nonsense",
      "?before=1%20or%201=1",
      "?after[]=1",
      `?before=${"9".repeat(300)}`,
    ]) {
      const page = await pageOf(browser, query);
      expect(page.logins).toEqual(first.logins);
      if (page.before !== null) expect(await pageOf(browser, `?before=${page.before}`)).toEqual(first);
    }
    expect(numbersOf(await pageOf(browser, "?after=999999999999"))).toEqual([4, 3, 2]);
    // Bob's login is the oldest, and so none of Ada's is older.
    expect(numbersOf(await pageOf(browser, "?after=1"))).toEqual([4, 3, 2]);
  });

  test("S22 read as many rows as they show, and one more", async () => {
    const web = await testWeb({ engine, guard: { maxPerUser: 10_000 }, routes: PAGES });
    const browser = await web.loggedIn();
    const [row] = await web.rows();
    const { id: _, ...login } = row!;
    const many = Array.from({ length: 2500 }, (_, index) => ({ ...login, token_hash: `copy ${index}` }));
    for (let from = 0; from < many.length; from += 500) {
      await web.database.kysely
        .insertInto("logins")
        .values(many.slice(from, from + 500))
        .execute();
    }
    web.forgetQueries();
    expect((await pageOf(browser)).logins).toHaveLength(3);
    expect(web.queries.filter((sql) => /^select .* from "logins" .* limit/.test(sql))).toHaveLength(1);
    // All of them are still listed, counted and ended, a bounded number of rows at a time.
    expect(await loginsOf(browser)).toHaveLength(2501);
    web.forgetQueries();
    expect((await browser.post("/logins/end-others")).body).toEqual({ ended: 2500 });
    expect(web.queries.filter((sql) => /^select .* from "logins" where .* limit/.test(sql))).toHaveLength(3);
    expect(await web.rows()).toHaveLength(1);
  });

  test("have at most 100 logins, and 25 unless another number is requested", async () => {
    const web = await testWeb({
      engine,
      guard: { maxPerUser: 200 },
      routes: [
        Route.get("/sizes", ({ auth }) => {
          const pages = [undefined, Number.NaN, -1, 2.5, 100, 1000].map((size) => auth.logins().page({ size: size! }));
          return Promise.all(pages.map(async (page) => (await page).logins.length));
        }),
      ],
    });
    const browser = await web.loggedIn();
    const [row] = await web.rows();
    const { id: _, ...login } = row!;
    const more = Array.from({ length: 150 }, (_, index) => ({ ...login, token_hash: `copy ${index}` }));
    await web.database.kysely.insertInto("logins").values(more).execute();
    expect((await browser.get("/sizes")).body).toEqual([25, 25, 1, 2, 100, 100]);
  });
});

await onEachDatabase("the limit of a user's logins", (engine) => {
  test("S22 ends the oldest beyond maxPerUser, and reports it", async () => {
    const web = await testWeb({ engine, guard: { maxPerUser: 2 } });
    const bob = await web.loggedIn(BOB);
    const browsers = [await web.loggedIn(), await web.loggedIn()];
    expect(await web.toldOf("auth.logins_ended")).toEqual([]);
    browsers.push(await web.loggedIn());
    expect(await whoIs([...browsers, bob])).toEqual([null, ADA, ADA, BOB]);
    expect(await web.toldOf("auth.logins_ended")).toMatchObject([{ guard: "web", count: 1, reason: "limit" }]);
  });

  test("S22 is respected if many requests log in at once", async () => {
    const web = await testWeb({ engine, guard: { maxPerUser: 3 } });
    await Promise.all(Array.from({ length: 12 }, () => web.loggedIn()));
    expect(await web.rows()).toHaveLength(3);
  });

  test("S22 is 100 by default", async () => {
    const web = await testWeb({ engine });
    await web.loggedIn();
    const [row] = await web.rows();
    const { id: _, ...login } = row!;
    const more = Array.from({ length: 150 }, (_, index) => ({ ...login, token_hash: `copy ${index}` }));
    await web.database.kysely.insertInto("logins").values(more).execute();
    await web.loggedIn();
    expect(await web.rows()).toHaveLength(100);
  });
});

test("S47 ending logins on other devices emits an event with their number", async () => {
  const web = await testWeb();
  const browsers = [await web.loggedIn(), await web.loggedIn(), await web.loggedIn(), await web.loggedIn()];
  const [{ id } = { id: "" }] = (await loginsOf(browsers[0]!)).filter(({ isCurrent }) => !isCurrent);
  await browsers[0]!.post("/logins/end", { id });
  await browsers[0]!.post("/logins/end-others");
  await web.loggedIn();
  await browsers[0]!.post("/logins/end-all");
  expect(await web.toldOf("auth.logins_ended")).toMatchObject([
    { count: 1, reason: "user" },
    { count: 2, reason: "user" },
    { count: 1, reason: "user" },
  ]);
  expect(await web.toldOf("auth.logout")).toHaveLength(1);
});
