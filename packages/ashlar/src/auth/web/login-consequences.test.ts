import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { Browser } from "../../../test/support/browser.ts";
import { ADA, BOB, PASSWORD, TestUser, type TestWebOptions, testWeb } from "../../../test/support/web-application.ts";
import { Route } from "../../routing/index.ts";
import { SessionMiddleware, SessionProvider } from "../../session/index.ts";
import { now, setClock } from "../../support/index.ts";

const FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0";
const credentials = { email: ADA.email, password: PASSWORD };

afterEach(() => setClock(null));

describe("events", () => {
  test("S47 login, failure and logout are announced with time, user, address and guard, and without any secret", async () => {
    const web = await testWeb();
    const browser = web.browser({ ip: "203.0.113.7" });
    await browser.post("/login", { ...credentials, password: "wrong horse" });
    await browser.post("/login", credentials);
    await browser.post("/confirm", { password: "wrong horse" });
    const token = browser.cookies.get("token")!;
    await browser.post("/logout");
    await web.application.container.make("events").settled();
    const common = { time: expect.any(Date), address: "203.0.113.7", guard: "web" };
    const user = expect.objectContaining(ADA);
    expect(web.told).toEqual([
      ["auth.failed", { ...common, user, identifier: ADA.email, by: "password" }],
      ["auth.login", { ...common, user, by: ["password"] }],
      ["auth.new_device", { ...common, user, userAgent: null, device: "Unknown device" }],
      ["auth.failed", { ...common, user, identifier: null, by: "password" }],
      ["auth.logout", { ...common, user }],
    ]);
    const written = JSON.stringify(web.told);
    for (const secret of [token, PASSWORD, "wrong horse", "argon2"]) expect(written).not.toContain(secret);
  });

  test("a login is announced as one on a new device once for each browser and user", async () => {
    const web = await testWeb();
    const browser = web.browser({ userAgent: FIREFOX });
    const told = async () => (await web.toldOf("auth.new_device")).length;
    await browser.post("/login", credentials);
    expect(await web.toldOf("auth.new_device")).toEqual([
      expect.objectContaining({ device: "Firefox on Linux", userAgent: FIREFOX }),
    ]);
    await browser.post("/logout");
    await browser.post("/login", credentials);
    expect(await told()).toBe(1);
    await browser.post("/login/2");
    expect(await told()).toBe(2);
    await web.browser({ userAgent: FIREFOX }).post("/login", credentials);
    expect(await told()).toBe(3);
  });

  test("a failed login does not make the device known", async () => {
    const web = await testWeb();
    const browser = web.browser();
    expect((await browser.post("/login", { ...credentials, password: "wrong" })).setCookies).toEqual([]);
    await browser.post("/login", credentials);
    expect(await web.toldOf("auth.new_device")).toHaveLength(1);
  });

  test("the first login of a new account is announced only as a login, and makes the device known", async () => {
    const web = await testWeb({
      routes: [Route.post("/welcome", async ({ auth }) => ({ user: await auth.attemptById(1, { firstLogin: true }) }))],
    });
    const browser = web.browser();
    await browser.post("/welcome");
    await browser.post("/login", credentials);
    expect([(await web.toldOf("auth.login")).length, await web.toldOf("auth.new_device")]).toEqual([2, []]);
  });
});

describe("the data remembered about a visitor", () => {
  const withLogins = (options: TestWebOptions = {}) =>
    testWeb({
      ...options,
      providers: [SessionProvider],
      stack: [SessionMiddleware],
      routes: [
        Route.post("/cart", ({ session }) => ({ id: session.put("cart", ["book"]).id })),
        Route.get("/cart", ({ session }) => ({ cart: session.get("cart"), id: session.id })),
        ...(options.routes ?? []),
      ],
    });
  const cartOf = async (browser: Browser) =>
    (await browser.get("/cart")).body as { readonly cart: unknown; readonly id: string };

  test("S18, S26 is kept by a login under a new id, and thus with a new CSRF token", async () => {
    const web = await withLogins();
    const browser = web.browser();
    const { id } = (await browser.post("/cart")).body as { readonly id: string };
    await browser.post("/login", { ...credentials, password: "wrong" });
    expect(await cartOf(browser)).toEqual({ cart: ["book"], id });
    await browser.post("/login", credentials);
    const after = await cartOf(browser);
    expect(after).toEqual({ cart: ["book"], id: expect.not.stringMatching(id) });
    await browser.post("/confirm", { password: PASSWORD });
    expect(await cartOf(browser)).toEqual({ cart: ["book"], id: expect.not.stringMatching(after.id) });
  });

  test("S19 is deleted by a logout", async () => {
    const web = await withLogins();
    const browser = web.browser();
    await browser.post("/login", credentials);
    const { id } = (await browser.post("/cart")).body as { readonly id: string };
    await browser.post("/logout");
    expect(await cartOf(browser)).toEqual({ cart: null, id: expect.not.stringMatching(id) });
  });

  test("S19 is deleted by a logout, except for the visitor's identity if another guard has a user on the device", async () => {
    class User extends TestUser {}
    const web = await withLogins({
      User,
      guards: { staff: { driver: "web", model: User } },
      routes: [
        Route.post("/staff/login", async ({ auth }) => ({ user: await auth.guard("staff").attemptById(BOB.id) })),
        Route.post("/staff/logout", ({ auth }) => auth.guard("staff").logout()),
      ],
    });
    const browser = await web.loggedIn();
    await browser.post("/staff/login");
    const { id } = (await browser.post("/cart")).body as { readonly id: string };
    await browser.post("/staff/logout");
    expect(await cartOf(browser)).toEqual({ cart: null, id });
    await browser.post("/logout");
    expect(await cartOf(browser)).toEqual({ cart: null, id: expect.not.stringMatching(id) });
  });

  test("a login of a visitor without such data begins no session", async () => {
    const web = await withLogins();
    const browser = web.browser();
    await browser.post("/login", credentials);
    expect([...browser.cookies.keys()].sort()).toEqual(["device", "token"]);
  });

  test("a login on a route without a session works as usual", async () => {
    const web = await testWeb({ providers: [SessionProvider] });
    const browser = await web.loggedIn(BOB);
    expect((await browser.get("/me")).body).toEqual({ user: BOB });
    expect((await browser.post("/logout")).status).toBe(200);
  });
});

test("an application that shuts down writes all pending uses, including those of the first of two guards", async () => {
  class User extends TestUser {}
  const web = await testWeb({ User, guards: { staff: { driver: "web", model: User } } });
  const browsers = [await web.loggedIn(), await web.loggedIn(), await web.loggedIn(BOB)];
  const later = now() + 600_000;
  setClock(() => later);
  // The uses are pending until the shutdown, however long the requests take.
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  for (const browser of browsers) await browser.get("/me");
  web.forgetQueries();
  await web.application.shutdown();
  expect(web.queries).toEqual(Array(3).fill(expect.stringMatching(/^update "logins" set "last_used_at"/)));
});
