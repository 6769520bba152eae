import { setImmediate } from "node:timers/promises";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { guardProvider, HeaderGuard, Person } from "../../../test/support/people.ts";
import { ADA, BOB, PASSWORD, TestUser, type TestWeb, testWeb } from "../../../test/support/web-application.ts";
import { type Row, sql } from "../../database/index.ts";
import { Route } from "../../routing/index.ts";
import { SessionMiddleware, SessionProvider } from "../../session/index.ts";
import { now, setClock } from "../../support/index.ts";
import { RequestGuard } from "../guards/request-guard.ts";
import type { Authenticatable, AuthenticatableClass } from "../users/authenticatable.ts";

const SECOND = 1000;

afterEach(() => setClock(null));

/** An application with a second guard, which logs Bob in. */
function testWebAndStaff(): Promise<TestWeb> {
  class User extends TestUser {}
  return testWeb({
    User,
    guards: { staff: { driver: "web", model: User } },
    routes: [
      Route.post("/staff/login", async ({ auth }) => ({ user: await auth.guard("staff").attemptById(BOB.id) })),
      Route.get("/staff/me", ({ request }) => ({ user: request.user() })).middleware("guard:staff"),
    ],
  });
}

test("at most 255 characters of a user agent are stored", async () => {
  const web = await testWeb();
  await web.loggedIn(ADA, { userAgent: `${"x".repeat(255)}y` });
  expect(await web.rows()).toMatchObject([{ user_agent: "x".repeat(255) }]);
});

describe("the use of a login", () => {
  test.each([
    [120, 299.999, 0],
    [120, 300, 1],
    [10, 29.999, 0],
    [10, 30, 1],
  ])("that ends after %d minutes is written %d seconds after the last one: %d times", async (idle, seconds, times) => {
    const start = now();
    setClock(() => start);
    const web = await testWeb({ guard: { idleMinutes: idle } });
    const browser = await web.loggedIn();
    setClock(() => start + seconds * SECOND);
    // Only from here on, because on a busy machine, the use may be written before the application shuts down.
    web.forgetQueries();
    await browser.get("/me");
    await web.application.shutdown();
    expect(web.queries.filter((sql) => sql.startsWith("update"))).toHaveLength(times);
  });

  test("is written before the application is shut down, for every guard", async () => {
    const start = now();
    setClock(() => start);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const web = await testWebAndStaff();
    const [user, staff] = [await web.loggedIn(), web.browser()];
    await staff.post("/staff/login");
    setClock(() => start + 300 * SECOND);
    expect((await user.get("/me")).body).toEqual({ user: ADA });
    expect((await staff.get("/staff/me")).body).toEqual({ user: BOB });
    web.forgetQueries();
    await web.application.shutdown();
    expect(web.queries.filter((sql) => sql.startsWith("update"))).toHaveLength(2);
  });
});

test("a guest hasn't proved a password, and has no logins to keep; a user proves it by logging in", async () => {
  const time = Date.parse("2030-01-01T00:00:00.000Z");
  setClock(() => time);
  const web = await testWeb({
    routes: [
      Route.get("/proved", async ({ auth }) => ({ at: await auth.guard("web").confirmedAt() })),
      Route.post("/leave", async ({ auth }) => {
        await auth.logout();
        return { at: await auth.guard("web").confirmedAt() };
      }),
      Route.post("/keep", async ({ auth }) => ({ ended: await auth.logins().keepCurrent() })),
    ],
  });
  const unproved = await web.loggedIn();
  const [guest, user] = [web.browser(), web.browser()];
  for (const browser of [guest, unproved]) expect((await browser.get("/proved")).body).toEqual({ at: null });
  await user.post("/login", { email: ADA.email, password: PASSWORD });
  expect((await user.get("/proved")).body).toEqual({ at: new Date(time).toISOString() });
  expect((await guest.post("/keep")).body).toEqual({ ended: 0 });
  expect(await web.rows()).toHaveLength(2);
  expect((await user.post("/leave")).body).toEqual({ at: null });
});

test("S20 the cookies of an application whose URL is plain http have no prefix, because browsers would reject them", async () => {
  const origin = "http://shop.example";
  const web = await testWeb({ environment: { APP_URL: origin } });
  const browser = await web.loggedIn(ADA, { origin });
  expect([...browser.cookies.keys()].sort()).toEqual(["device", "token"]);
  expect((await browser.get("/me")).body).toEqual({ user: ADA });
});

test("without logins, redirectToIntended leads to the given page", async () => {
  const web = await testWeb({ routes: [Route.get("/on", ({ auth }) => auth.redirectToIntended("home"))] });
  const page = await web.browser().get("/on");
  expect([page.status, page.headers.get("location")]).toEqual([302, "/home"]);
});

test("S22 logins that ended together with all access to the account are not listed, although their rows exist", async () => {
  const web = await testWeb();
  await web.loggedIn();
  await (await web.User.find(ADA.id))!.endAccess();
  const browser = await web.loggedIn();
  expect((await browser.get("/logins")).body).toMatchObject([{ isCurrent: true }]);
  expect(await web.rows()).toHaveLength(2);
});

test("S18 a confirmation does not change the token of another login", async () => {
  const web = await testWeb();
  const [here, there] = [await web.loggedIn(), await web.loggedIn()];
  const [, before] = await web.rows();
  expect((await here.post("/confirm", { password: PASSWORD })).body).toEqual({ done: true });
  expect((await web.rows())[1]).toEqual(before);
  expect((await there.get("/me")).body).toEqual({ user: ADA });
});

test("S18 a confirmation counts immediately, for the login that continues", async () => {
  const start = Date.parse("2030-01-01T00:00:00.000Z");
  setClock(() => start);
  const web = await testWeb({
    routes: [
      Route.post("/confirm-and-end", async ({ auth }) => {
        setClock(() => start + 60 * SECOND);
        const isDone = await auth.webGuard.confirmPassword(PASSWORD);
        const at = await auth.guard("web").confirmedAt();
        const isCurrent = (await auth.logins().list()).map((login) => login.isCurrent);
        return { isDone, at, isCurrent, isDoneAgain: await auth.webGuard.confirmPassword(PASSWORD) };
      }),
    ],
  });
  const browser = web.browser();
  await browser.post("/login", { email: ADA.email, password: PASSWORD, remember: true });
  const { body, setCookies } = await browser.post("/confirm-and-end");
  const at = new Date(start + 60 * SECOND).toISOString();
  expect(body).toEqual({ isDone: true, at, isCurrent: [true], isDoneAgain: true });
  expect(setCookies.at(-1)).toMatch(/^token=[\w-]{43}; Max-Age=2591940; /);
  expect((await browser.get("/me")).body).toEqual({ user: ADA });
});

test("a login with the password immediately counts as a proof of it, and any other login does not", async () => {
  const start = Date.parse("2030-01-01T00:00:00.000Z");
  setClock(() => start);
  const web: TestWeb = await testWeb({
    routes: [
      Route.post("/enter", async ({ auth }) => {
        await auth.attempt(ADA.email, PASSWORD);
        const proved = await auth.guard("web").confirmedAt();
        const user = await auth.loginAs((await web.User.find(ADA.id))!);
        return { proved, user, unproved: await auth.guard("web").confirmedAt() };
      }),
    ],
  });
  const { body } = await web.browser().post("/enter");
  expect(body).toEqual({ proved: new Date(start).toISOString(), user: ADA, unproved: null });
});

test("S22 a user without a current login ends all of their logins: there is no current one to keep", async () => {
  const web: TestWeb = await testWeb({
    routes: [
      Route.post("/once", async ({ auth }) => {
        auth.webGuard.once((await web.User.find(ADA.id))!);
        const isCurrent = (await auth.logins().list()).map((login) => login.isCurrent);
        return { isCurrent, ended: await auth.logins().endOthers() };
      }),
    ],
  });
  for (const user of [ADA, ADA, BOB]) await web.loggedIn(user);
  expect((await web.browser().post("/once")).body).toEqual({ isCurrent: [false, false], ended: 2 });
  expect((await web.rows()).map(({ user_id }) => user_id)).toEqual([BOB.id]);
});

test("S22 users of a class that is not a model can end their other logins, or all of them", async () => {
  await Person.populate(PASSWORD);
  const web = await testWeb({
    guards: { people: { driver: "web", model: Person } },
    routes: [
      Route.post("/people/login", async ({ auth }) => ({ user: await auth.guard("people").attemptById(1) })),
      Route.get("/people/me", ({ request }) => ({ user: request.user() })).middleware("guard:people"),
      Route.post("/people/end-others", async ({ auth }) => ({ ended: await auth.logins().endOthers() })).middleware(
        "guard:people",
      ),
      Route.post("/people/end-all", async ({ auth }) => ({ ended: await auth.logins().endAll() })).middleware(
        "guard:people",
      ),
    ],
  });
  const [here, there] = [web.browser(), web.browser()];
  for (const browser of [here, there]) await browser.post("/people/login");
  expect((await here.post("/people/end-others")).body).toEqual({ ended: 1 });
  expect((await there.get("/people/me")).body).toEqual({ user: null });
  expect((await here.get("/people/me")).body).toEqual({ user: ADA });
  expect((await here.post("/people/end-all")).body).toEqual({ ended: 1 });
  expect((await here.get("/people/me")).body).toEqual({ user: null });
});

test("S51 users that an object finds end no other logins once access to their account has ended, nor anything else", async () => {
  let isEnding = false;
  let ended = 0;
  class User extends TestUser {
    async endCredentials(): Promise<void> {
      ended++;
    }
  }
  const model: AuthenticatableClass = {
    name: "Users",
    userClass: User,
    identifierColumn: "email",
    async findByAuthId(id) {
      const user = await User.find(id);
      // After the user was read, as another request would.
      if (isEnding) await User.where("id", id).update({ access_epoch: "the new one" } as object);
      return user;
    },
    findByIdentifier: (email) => User.findByIdentifier(email),
  };
  const web = await testWeb({ User, guards: { web: { model } } });
  const [here] = [await web.loggedIn(), await web.loggedIn()];
  isEnding = true;
  const { status, body } = await here.post("/logins/end-others", {}, { accept: "application/json" });
  expect([status, body, ended, (await web.rows()).length]).toMatchObject([401, { code: "E_STALE_PROOF" }, 0, 2]);
});

test("S22 S51 users that an object finds end all access to their account, or nothing if a part of it fails", async () => {
  let fails = true;
  const ended: unknown[] = [];
  class User extends TestUser {
    async endCredentials(): Promise<void> {
      await setImmediate();
      if (fails) throw new Error("The tokens cannot be removed.");
      ended.push(this.authId());
    }
  }
  const model: AuthenticatableClass = {
    name: "Users",
    userClass: User,
    identifierColumn: "email",
    findByAuthId: (id) => User.find(id),
    findByIdentifier: (email) => User.findByIdentifier(email),
  };
  const web = await testWeb({ User, guards: { web: { model } } });
  const browser = await web.loggedIn();
  const [before] = await web.database.kysely.selectFrom("users").selectAll().execute();
  const refused = async () => {
    const { status } = await browser.post("/logins/end-all");
    const [user] = await web.database.kysely.selectFrom("users").selectAll().execute();
    return [status, user, (await web.rows()).length];
  };
  expect(await refused()).toEqual([500, before, 1]);
  fails = false;
  const refuse = "create trigger refuse before update on users begin select raise(abort, 'no'); end";
  await sql.raw(refuse).execute(web.database.kysely);
  expect(await refused()).toEqual([500, before, 1]);
  await sql.raw("drop trigger refuse").execute(web.database.kysely);
  ended.length = 0;
  expect((await browser.post("/logins/end-all")).body).toEqual({ ended: 1, user: null });
  expect(ended).toEqual([ADA.id]);
  expect((await web.User.findOrFail(ADA.id)).accessEpoch()).not.toBe((before as Row).access_epoch);
});

test("S19 a logout ends the login of the same request, although a user was looked up by the previous login in the meantime", async () => {
  await Person.populate(PASSWORD);
  const { findByAuthId } = Person;
  onTestFinished(() => void Object.assign(Person, { findByAuthId }));
  const web: TestWeb = await testWeb({
    guards: { people: { driver: "web", model: Person } },
    routes: [
      Route.post("/people/login", async ({ auth }) => ({ user: await auth.guard("people").attemptById(1) })),
      Route.post("/people/overtaken", async ({ auth }) => {
        const guard = auth.guard("people");
        const found = Promise.withResolvers<void>();
        Person.findByAuthId = async (id) => {
          if (id === 1) await found.promise;
          return findByAuthId(id);
        };
        const lookup = guard.user();
        await guard.attemptById(2);
        found.resolve();
        await lookup;
        const user = await guard.user();
        await guard.logout();
        return { user };
      }),
    ],
  });
  const browser = web.browser();
  await browser.post("/people/login");
  expect((await browser.post("/people/overtaken")).body).toEqual({ user: BOB });
  expect(await web.rows()).toEqual([]);
});

test("S19 a logout leaves the login with another guard, even if nothing else is stored about visitors", async () => {
  const web = await testWebAndStaff();
  const browser = await web.loggedIn();
  await browser.post("/staff/login");
  expect((await browser.post("/logout")).status).toBe(200);
  expect((await browser.get("/me")).body).toEqual({ user: null });
  expect((await browser.get("/staff/me")).body).toEqual({ user: BOB });
});

describe("a logout deletes the visitor's data", () => {
  class BrokenGuard extends RequestGuard {
    override get keepsLogins(): boolean {
      return true;
    }

    protected override retrieve(): Promise<Authenticatable | null> {
      return Promise.reject(new Error("The directory is down."));
    }
  }

  const OtherGuardsProvider = guardProvider({ broken: BrokenGuard, header: HeaderGuard });

  test.each([
    ["cannot tell whether it has a user", { broken: { model: Person } }],
    ["has a user by a credential that the browser does not keep", { header: { model: Person } }],
  ])("S19 even if another guard %s", async (_, guards) => {
    await Person.populate(PASSWORD);
    const web = await testWeb({
      providers: [SessionProvider, OtherGuardsProvider],
      guards,
      stack: [SessionMiddleware],
      routes: [
        Route.post("/cart", ({ session }) => ({ id: session.put("cart", ["book"]).id })),
        Route.get("/cart", ({ session }) => ({ cart: session.get("cart"), id: session.id })),
      ],
    });
    const browser = await web.loggedIn();
    const { id } = (await browser.post("/cart")).body as { readonly id: string };
    expect((await browser.post("/logout", {}, { "x-person": "1" })).status).toBe(200);
    expect((await browser.get("/cart")).body).toEqual({ cart: null, id: expect.not.stringMatching(id) });
  });
});
