import { afterEach, describe, expect, test } from "vitest";
import { onEachDatabase } from "../../../test/support/services.ts";
import { ADA, BOB, PASSWORD, TestUser, type TestWeb, testWeb } from "../../../test/support/web-application.ts";
import type { HttpContext } from "../../http/index.ts";
import { Route } from "../../routing/index.ts";
import { digest, randomToken } from "../../security/index.ts";
import { now, setClock } from "../../support/index.ts";

const MINUTE = 60_000;
const HTTPS = { environment: { APP_URL: "https://shop.example" } };
const GUEST = { user: null };

const credentials = { email: ADA.email, password: PASSWORD };

function travel(minutes: number): void {
  const then = now() + minutes * MINUTE;
  setClock(() => then);
}

const time = (value: unknown) => new Date(value as string | Date).getTime();

afterEach(() => setClock(null));

await onEachDatabase("the guard web", (engine) => {
  describe("a login", () => {
    test("S17 stores only the digest of the token in the cookie", async () => {
      const web = await testWeb({ engine });
      const browser = web.browser({ userAgent: "Mozilla/5.0", ip: "203.0.113.7" });
      const start = now();
      const { body, setCookies } = await browser.post("/login", credentials);
      expect(body).toEqual({ user: ADA });
      const token = browser.cookies.get("token")!;
      expect(token).toMatch(/^[\w-]{43}$/);
      const rows = await web.rows();
      expect(rows).toEqual([
        {
          id: expect.any(Number),
          access_epoch: expect.stringMatching(/^[\w-]{22}$/),
          user_id: 1,
          guard: "web",
          token_hash: digest(token),
          ip: "203.0.113.7",
          user_agent: "Mozilla/5.0",
          authenticated_at: expect.anything(),
          methods: expect.stringMatching(/^\[\["password",\d{13},\["pwd"\]\]\]$/),
          last_used_at: rows[0]?.created_at,
          expires_at: expect.anything(),
          created_at: expect.anything(),
        },
      ]);
      expect(JSON.stringify(rows)).not.toContain(token);
      // When the password was proved, just before.
      expect(time(rows[0]?.created_at) - time(rows[0]?.authenticated_at)).toBeGreaterThanOrEqual(0);
      expect(time(rows[0]?.created_at) - start).toBeLessThan(10_000);
      expect(time(rows[0]?.expires_at) - time(rows[0]?.created_at)).toBe(120 * MINUTE);
      expect(setCookies.filter((one) => one.startsWith("token="))).toEqual([
        `token=${token}; Path=/; HttpOnly; SameSite=Lax`,
      ]);
    });

    test("is recognized on the next request, with one query", async () => {
      const web = await testWeb({ engine });
      const browser = await web.loggedIn();
      web.forgetQueries();
      expect((await browser.get("/me")).body).toEqual({ user: ADA });
      expect(web.queries).toEqual([expect.stringMatching(/^select "users"\.\*.* from "logins" inner join "users"/)]);
    });

    test("S18 creates a new token each time, and ends the login that the browser had", async () => {
      const web = await testWeb({ engine });
      const browser = await web.loggedIn(ADA);
      const [before] = [...browser.cookies.values()];
      const stolen = browser.copy();
      await browser.post("/login", credentials);
      expect(browser.cookies.get("token")).not.toBe(before);
      expect(await web.rows()).toHaveLength(1);
      expect((await stolen.get("/me")).body).toEqual(GUEST);
      expect((await browser.get("/me")).body).toEqual({ user: ADA });
    });

    test("S18 never adopts a token from the browser: neither a made-up one nor another user's", async () => {
      const web = await testWeb({ engine });
      const attacker = await web.loggedIn(BOB);
      for (const planted of ["A".repeat(43), attacker.cookies.get("token")!]) {
        const victim = web.browser();
        victim.cookies.set("token", planted);
        await victim.post("/login", credentials);
        expect(victim.cookies.get("token")).not.toBe(planted);
        const fixated = web.browser();
        fixated.cookies.set("token", planted);
        expect((await fixated.get("/me")).body).toEqual(GUEST);
      }
      expect((await web.rows()).map(({ user_id }) => user_id)).toEqual([1, 1]);
    });

    test("twice in one request leaves one login", async () => {
      const web = await testWeb({
        engine,
        routes: [Route.post("/twice", async ({ auth }) => [await auth.attemptById(1), await auth.attemptById(2)])],
      });
      const browser = web.browser();
      await browser.post("/twice");
      expect((await web.rows()).map(({ user_id }) => user_id)).toEqual([2]);
      expect((await browser.get("/me")).body).toEqual({ user: BOB });
    });

    test("that fails creates no cookie and no row, and the previous login stays", async () => {
      const web = await testWeb({ engine });
      const browser = web.browser();
      const wrong = await browser.post("/login", { ...credentials, password: "wrong" });
      const unknown = await browser.post("/login", { ...credentials, email: "nobody@example.com" });
      expect([wrong.body, wrong.setCookies, unknown.body, unknown.setCookies]).toEqual([GUEST, [], GUEST, []]);
      expect(await web.rows()).toEqual([]);
      await browser.post("/login", credentials);
      await browser.post("/login", { ...credentials, password: "wrong" });
      expect((await browser.get("/me")).body).toEqual({ user: ADA });
    });

    test("has its own row on each device", async () => {
      const web = await testWeb({ engine });
      const devices = await Promise.all(Array.from({ length: 20 }, () => web.loggedIn()));
      expect(await web.rows()).toHaveLength(20);
      for (const device of devices) expect((await device.get("/me")).body).toEqual({ user: ADA });
    });
  });

  describe("a logout", () => {
    test("S19 deletes the row and the cookie; the old cookie belongs to a guest", async () => {
      const web = await testWeb({ engine });
      const browser = await web.loggedIn();
      const old = browser.copy();
      const other = await web.loggedIn();
      const { body, setCookies } = await browser.post("/logout");
      expect(body).toEqual({ user: null, known: null });
      expect(setCookies).toEqual([
        "token=; Max-Age=0; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT; HttpOnly; SameSite=Lax",
      ]);
      expect(browser.cookies.has("token")).toBe(false);
      expect(await web.rows()).toHaveLength(1);
      expect((await old.get("/me")).body).toEqual(GUEST);
      expect((await other.get("/me")).body).toEqual({ user: ADA });
    });

    test("S19 works if the user no longer exists", async () => {
      const web = await testWeb({ engine });
      const browser = await web.loggedIn();
      await web.User.where("id", 1).delete();
      expect((await browser.get("/me")).body).toEqual(GUEST);
      const { status } = await browser.post("/logout");
      expect([status, browser.cookies.has("token"), await web.rows()]).toEqual([200, false, []]);
    });

    test("S19 works if the login has ended, or if there wasn't one", async () => {
      const web = await testWeb({ engine });
      const browser = await web.loggedIn();
      travel(121);
      expect((await browser.post("/logout")).status).toBe(200);
      expect(await web.rows()).toEqual([]);
      expect((await browser.post("/logout")).status).toBe(200);
    });

    test("S19 ends every login that a duplicate cookie names, although no user is logged in by it", async () => {
      const web = await testWeb({ engine });
      const [a, b] = [await web.loggedIn(ADA), await web.loggedIn(BOB)];
      const cookie = `token=${a.cookies.get("token")}; token=${b.cookies.get("token")}`;
      expect((await web.browser().get("/me", { cookie })).body).toEqual(GUEST);
      await web.browser().post("/logout", {}, { cookie });
      expect(await web.rows()).toEqual([]);
    });

    test("of a login in the same request leaves nothing behind", async () => {
      const web = await testWeb({
        engine,
        routes: [
          Route.post("/in-and-out", async ({ auth }) => {
            await auth.attemptById(1);
            await auth.logout();
            return { user: await auth.user() };
          }),
        ],
      });
      const browser = web.browser();
      expect((await browser.post("/in-and-out")).body).toEqual(GUEST);
      expect([browser.cookies.has("token"), await web.rows()]).toEqual([false, []]);
    });
  });

  test("S37 no input, header or argument attributes a request to another user", async () => {
    const web = await testWeb({ engine });
    const browser = await web.loggedIn(ADA);
    const forged = { "x-user-id": "2", user_id: "2", authorization: "Bearer 2" };
    expect((await browser.get("/me?user_id=2&id=2&auth=2", forged)).body).toEqual({ user: ADA });
    expect((await web.browser().get("/me?user_id=1", { ...forged, cookie: "user_id=1; id=1" })).body).toEqual(GUEST);
    await browser.post("/logins/end-others", { user_id: 2, userId: 2 });
    const [, bob] = [browser, await web.loggedIn(BOB)];
    await browser.post("/logins/end-all", { user_id: 2 });
    expect((await bob.get("/me")).body).toEqual({ user: BOB });
  });

  test("S25 a value that cannot be a token means a guest, without a query", async () => {
    const web = await testWeb({ engine });
    const token = (await web.loggedIn()).cookies.get("token")!;
    web.forgetQueries();
    const cookies = [
      "token=",
      "token=x",
      `token=${token}x`,
      `token=${token.slice(1)}`,
      `token=${"A".repeat(8000)}`,
      `token=${"ÿ".repeat(43)}`,
      "token=%E0%A4%A",
      `token=${token}; token=${token}`,
      `token=${token}; token=x`,
      `__Host-token=${token}`,
      "token=' or 1=1 --",
      ";;;===;",
    ];
    for (const cookie of cookies) {
      const { status, body } = await web.browser().get("/me", { cookie });
      expect([cookie, status, body]).toEqual([cookie, 200, GUEST]);
    }
    expect((await web.browser().get("/me")).body).toEqual(GUEST);
    expect(web.queries).toEqual([]);
  });

  test("S25 a token that is not stored means a guest", async () => {
    const web = await testWeb({ engine });
    await web.loggedIn();
    const [row] = await web.rows();
    for (const token of ["A".repeat(43), row?.token_hash as string]) {
      const { status, body } = await web.browser().get("/me", { cookie: `token=${token}` });
      expect([status, body]).toEqual([200, GUEST]);
    }
  });

  test("S122 a login and a logout take a bounded number of statements, however many cookies a request has", async () => {
    const web = await testWeb({ engine });
    const statements = async (path: string, count: number) => {
      const cookie = Array.from({ length: count }, () => `token=${randomToken(32)}`).join("; ");
      web.forgetQueries();
      expect((await web.browser().post(path, {}, { cookie })).status).toBe(200);
      return web.queries.length;
    };
    expect([await statements("/logout", 5), await statements("/logout", 240)]).toEqual([10, 10]);
    expect(await statements("/login/1", 240)).toBe(await statements("/login/1", 5));
  });

  test("S24 a login during the lookup of the cookie's user takes precedence", async () => {
    const lookup = Promise.withResolvers<void>();
    class User extends TestUser {
      static override async findByAuthId(id: never): Promise<never> {
        if (String(id) === String(ADA.id)) await lookup.promise;
        return (await User.find(id)) as never;
      }
    }
    const login = Route.post("/switch", async ({ auth }) => {
      const looking = auth.user();
      await auth.attemptById(BOB.id);
      lookup.resolve();
      await looking;
      const logins = await auth.logins().list();
      return { user: await auth.user(), isCurrent: logins.map(({ isCurrent }) => isCurrent) };
    });
    const web = await testWeb({ engine, User, routes: [login] });
    const browser = web.browser();
    await browser.post("/login", credentials);
    expect((await browser.post("/switch")).body).toEqual({ user: BOB, isCurrent: [true] });
    expect((await browser.get("/me")).body).toEqual({ user: BOB });
  });

  test("S24 interleaved requests each see their own user", async () => {
    // All of them wait for a connection at the same time, and some for as long as all the others take.
    const settings = { maxWaiting: 2000, acquireTimeoutMs: 600_000 };
    const web = await testWeb({ engine, settings });
    const browsers = await Promise.all([web.loggedIn(ADA), web.loggedIn(BOB), web.browser()]);
    const users = [ADA, BOB, null];
    const pages = await Promise.all(Array.from({ length: 2000 }, (_, index) => browsers[index % 3]!.get("/me")));
    expect(pages.map(({ body }) => body)).toEqual(pages.map((_, index) => ({ user: users[index % 3] })));
  });
});

describe("over https", () => {
  test("S20 the cookie is Secure, and for this host only", async () => {
    const web = await testWeb(HTTPS);
    const browser = web.browser({ origin: "https://shop.example" });
    const login = await browser.post("/login", { ...credentials, remember: true });
    const token = browser.cookies.get("__Host-token");
    expect(login.setCookies.filter((one) => one.includes("token="))).toEqual([
      expect.stringMatching(
        /^__Host-token=[\w-]{43}; Max-Age=(2592000|2591999); Path=\/; HttpOnly; Secure; SameSite=Lax$/,
      ),
    ]);
    expect((await browser.get("/me")).body).toEqual({ user: ADA });
    const { setCookies } = await browser.post("/logout");
    expect(setCookies).toEqual([
      "__Host-token=; Max-Age=0; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT; HttpOnly; Secure; SameSite=Lax",
    ]);
    expect((await web.browser().get("/me", { cookie: `token=${token}` })).body).toEqual(GUEST);
  });

  test("S20 the same applies behind a proxy that terminates TLS", async () => {
    const web = await testWeb(HTTPS);
    const browser = web.browser();
    const { setCookies } = await browser.post("/login", credentials);
    expect(setCookies[0]).toMatch(/^__Host-token=[\w-]{43}; Path=\/; HttpOnly; Secure; SameSite=Lax$/);
    expect((await browser.get("/me")).body).toEqual({ user: ADA });
  });
});

test("S16 a response that sets or removes the cookie isn't cached, whatever its handler says", async () => {
  const cacheable = { "cache-control": "public, max-age=600" };
  const routes = ["login", "logout"].flatMap((kind) => {
    const act = (auth: HttpContext["auth"]) => (kind === "login" ? auth.attemptById(ADA.id) : auth.logout());
    return [
      Route.post(`/own/${kind}`, async ({ auth, response }) => {
        await act(auth);
        return response.header("Cache-Control", cacheable["cache-control"]).json({});
      }),
      Route.post(`/platform/${kind}`, async ({ auth }) => {
        await act(auth);
        return new Response("done", { headers: cacheable });
      }),
    ];
  });
  const browser = (await testWeb({ routes })).browser();
  for (const path of ["/own/login", "/own/logout", "/platform/login", "/platform/logout"]) {
    const { headers, setCookies } = await browser.post(path);
    expect([path, headers.get("cache-control")]).toEqual([path, "private, no-store"]);
    expect(setCookies).toContainEqual(expect.stringMatching(/^token=/));
  }
});

test("S16 responses that set or remove the cookie are not cached", async () => {
  const web = await testWeb();
  const browser = web.browser();
  const login = await browser.post("/login", credentials);
  const page = await browser.get("/me");
  const logout = await browser.post("/logout");
  expect([login, page, logout].map(({ headers }) => headers.get("cache-control"))).toEqual([
    "private, no-store",
    "private, no-store",
    "private, no-store",
  ]);
});

describe("a request without the cookie", () => {
  test("makes no query, and gets no cookie", async () => {
    const web = await testWeb();
    web.forgetQueries();
    const page = await web.browser().get("/me");
    expect([page.body, page.setCookies, web.queries]).toEqual([GUEST, [], []]);
  });

  test("makes no query with the cookie either, if nothing requests the user", async () => {
    const web = await testWeb();
    const browser = await web.loggedIn();
    web.forgetQueries();
    expect((await browser.get("/plain")).body).toEqual({ plain: true });
    expect(web.queries).toEqual([]);
  });
});

describe("several guards with this driver", () => {
  const staffOf = async (): Promise<TestWeb> => {
    class User extends TestUser {}
    return testWeb({
      User,
      guards: { staff: { driver: "web", model: User } },
      routes: [
        Route.post("/staff/login", async ({ auth }) => ({ user: await auth.guard("staff").attemptById(2) })),
        Route.get("/staff/me", async ({ auth }) => ({ user: await auth.user() })).middleware("guard:staff"),
        Route.post("/staff/logout", ({ auth }) => auth.guard("staff").logout()),
      ],
    });
  };

  test("each have their own cookie, and do not end one another's logins", async () => {
    const web = await staffOf();
    const browser = await web.loggedIn(ADA);
    await browser.post("/staff/login");
    expect([...browser.cookies.keys()].sort()).toEqual(["device", "staff_token", "token"]);
    expect((await browser.get("/me")).body).toEqual({ user: ADA });
    expect((await browser.get("/staff/me")).body).toEqual({ user: BOB });
    expect((await browser.post("/staff/logout")).status).toBe(204);
    expect((await browser.get("/me")).body).toEqual({ user: ADA });
    expect((await browser.get("/staff/me")).body).toEqual(GUEST);
  });

  test("S37 the token of one guard is not valid for the other", async () => {
    const web = await staffOf();
    const token = (await web.loggedIn(ADA)).cookies.get("token");
    const cookie = `staff_token=${token}`;
    expect((await web.browser().get("/staff/me", { cookie })).body).toEqual(GUEST);
    await web.browser().post("/staff/logout", {}, { cookie });
    expect(await web.rows()).toHaveLength(1);
  });
});
