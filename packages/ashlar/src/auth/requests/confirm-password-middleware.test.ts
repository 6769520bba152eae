import { afterEach, describe, expect, test } from "vitest";
import type { Browser } from "../../../test/support/browser.ts";
import { guardProvider, HeaderGuard, Person } from "../../../test/support/people.ts";
import { onEachDatabase, type TestEngine } from "../../../test/support/services.ts";
import { ADA, PASSWORD, type TestWeb, testWeb } from "../../../test/support/web-application.ts";
import { Route } from "../../routing/index.ts";
import { digest } from "../../security/index.ts";
import { SessionMiddleware, SessionProvider } from "../../session/index.ts";
import { now, setClock } from "../../support/index.ts";

const MINUTE = 60_000;
const PAGE = { accept: "text/html" };
const SESSIONS = {
  providers: [SessionProvider],
  stack: [SessionMiddleware],
  routes: [Route.post("/intended", ({ session }) => ({ path: session.intended("/home") }))],
};

function travel(minutes: number): void {
  const then = now() + minutes * MINUTE;
  setClock(() => then);
}

const target = (page: { readonly status: number; readonly headers: Headers }) => [
  page.status,
  page.headers.get("location"),
];

/** A browser in which Ada has logged in with her password. */
async function loggedIn(web: TestWeb): Promise<Browser> {
  const browser = web.browser();
  await browser.post("/login", { email: ADA.email, password: PASSWORD });
  return browser;
}

/** An application that logs Ada in with `loginAs`, with the options from the request. */
async function withLoginAs(engine: TestEngine): Promise<TestWeb> {
  const web: TestWeb = await testWeb({
    engine,
    routes: [
      Route.post("/login-as", async ({ auth, request }) => {
        return { user: await auth.loginAs((await web.User.find(ADA.id))!, request.all()) };
      }),
      Route.post("/enter", async ({ auth }) => {
        return { status: (await auth.enter((await web.User.find(ADA.id))!, { by: "password" })).status };
      }),
    ],
  });
  return web;
}

afterEach(() => setClock(null));

await onEachDatabase("password.confirm", (engine) => {
  test("lets a user through who logged in recently, and asks again later", async () => {
    const web = await testWeb({ engine, guard: { idleMinutes: 600 } });
    travel(0);
    const browser = await loggedIn(web);
    travel(30 - 1 / MINUTE);
    expect((await browser.get("/danger-soon", PAGE)).body).toEqual({ danger: true });
    travel(1 / MINUTE);
    expect(target(await browser.get("/danger-soon", PAGE))).toEqual([302, "/confirm_password"]);
    travel(149);
    expect((await browser.get("/danger", PAGE)).body).toEqual({ danger: true });
    travel(1);
    expect(target(await browser.get("/danger", PAGE))).toEqual([302, "/confirm_password"]);
  });

  test("asks a user who logged in without a password until the password is confirmed", async () => {
    const web = await withLoginAs(engine);
    for (const path of ["/login/1", "/login-as"]) {
      const browser = web.browser();
      await browser.post(path, { remember: true });
      expect((await browser.get("/me")).body).toEqual({ user: ADA });
      expect(target(await browser.get("/danger", PAGE))).toEqual([302, "/confirm_password"]);
      expect((await browser.post("/confirm", { password: PASSWORD })).body).toEqual({ done: true });
      expect((await browser.get("/danger", PAGE)).body).toEqual({ danger: true });
    }
  });

  test("lets a user through who has logged in by a proof", async () => {
    const web = await withLoginAs(engine);
    const browser = web.browser();
    expect((await browser.post("/enter")).body).toEqual({ status: "complete" });
    expect((await browser.get("/danger", PAGE)).body).toEqual({ danger: true });
  });

  test("starts counting again when the password is confirmed", async () => {
    const web = await testWeb({ engine });
    const browser = await web.loggedIn();
    travel(31);
    expect((await browser.post("/confirm", { password: "wrong" })).body).toEqual({ done: false });
    expect((await browser.get("/danger-soon", PAGE)).status).toBe(302);
    expect((await browser.post("/confirm", { password: PASSWORD })).body).toEqual({ done: true });
    expect((await browser.get("/danger-soon", PAGE)).body).toEqual({ danger: true });
    travel(30);
    expect((await browser.get("/danger-soon", PAGE)).status).toBe(302);
  });

  test("S18 a confirmation creates a new token, in the same session", async () => {
    const web = await testWeb({ engine });
    const browser = web.browser();
    await browser.post("/login", { email: ADA.email, password: PASSWORD, remember: true });
    const stolen = browser.copy();
    const [before] = await web.rows();
    travel(60 * 24);
    const { setCookies } = await browser.post("/confirm", { password: PASSWORD });
    // The 30-day login has 29 days left.
    expect(setCookies).toEqual([
      expect.stringMatching(/^token=[\w-]{43}; Max-Age=(2505600|2505599); Path=\/; HttpOnly/),
    ]);
    const [after, ...more] = await web.rows();
    expect([after?.id, more]).toEqual([before?.id, []]);
    expect(after?.token_hash).toBe(digest(browser.cookies.get("token")!));
    expect((await browser.get("/me")).body).toEqual({ user: ADA });
    // For a minute, it gets the same successor again: see replaced-tokens.test.ts.
    travel(1.2);
    expect((await stolen.get("/me")).body).toEqual({ user: null });
    expect((await browser.get("/me")).body).toEqual({ user: ADA });
  });
});

describe("password.confirm", () => {
  test("responds with 403 to a caller that accepts JSON", async () => {
    const web = await testWeb();
    const browser = await web.loggedIn();
    travel(31);
    const { status, body } = await browser.get("/danger-soon", { accept: "application/json" });
    expect([status, body]).toEqual([
      403,
      {
        type: "about:blank",
        title: "Forbidden",
        status: 403,
        detail: "Confirm your password to continue.",
        code: "E_PASSWORD_NOT_CONFIRMED",
        methods: ["password"],
        flows: [{ id: "password", field: "password" }],
      },
    ]);
  });

  test("responds to guests like auth does", async () => {
    const web = await testWeb();
    expect(target(await web.browser().get("/danger", PAGE))).toEqual([302, "/login"]);
    const { status, body } = await web.browser().get("/danger", { accept: "application/json" });
    expect([status, body]).toMatchObject([401, { code: "E_UNAUTHENTICATED" }]);
  });

  test("a user set for one request only counts as not having confirmed a password", async () => {
    const web = await testWeb({
      stack: [
        async ({ auth }, next) => {
          auth.webGuard.once((await web.User.find(1))!);
          return next();
        },
      ],
    });
    expect(target(await web.browser().get("/danger", PAGE))).toEqual([302, "/confirm_password"]);
    expect((await web.browser().post("/confirm", { password: PASSWORD })).body).toEqual({ done: true });
    expect(await web.rows()).toEqual([]);
  });

  test("a guard that doesn't record confirmations causes an error that says so", async () => {
    await Person.populate(PASSWORD);
    const HeaderProvider = guardProvider({ header: HeaderGuard });
    const web = await testWeb({
      providers: [HeaderProvider],
      guards: { header: { model: Person } },
      routes: [Route.get("/danger-header", () => "").middleware("auth:header", "password.confirm")],
    });
    const { status, body } = await web.browser().get("/danger-header", { "x-person": "1", accept: "application/json" });
    expect([status, body]).toMatchObject([500, { code: "E_UNSUPPORTED_GUARD_OPERATION" }]);
  });

  test.each(["0", "-1", "1.5", "30,60", "1e3", "9999999999", "pwd,0", "pwd,10,20", "pwd,soon"])(
    "password.confirm:%s makes startup fail",
    async (args) => {
      const booting = testWeb({ routes: [Route.get("/", () => "").middleware(`password.confirm:${args}`)] });
      await expect(booting).rejects.toMatchObject({
        code: "E_INVALID_CONFIGURATION",
        message: expect.stringContaining(
          ": password.confirm: it takes the name of a proof or a factor, a whole number of minutes above 0, or both.",
        ),
      });
    },
  );
});

describe("the page that the visitor wanted", () => {
  test("is kept while the password is requested", async () => {
    const web = await testWeb(SESSIONS);
    const browser = await web.loggedIn();
    travel(31);
    expect(target(await browser.get("/danger-soon?page=2", PAGE))).toEqual([302, "/confirm_password"]);
    expect((await browser.post("/intended")).body).toEqual({ path: "/danger-soon?page=2" });
    expect((await browser.post("/intended")).body).toEqual({ path: "/home" });
  });

  test("is kept while a guest logs in", async () => {
    const web = await testWeb(SESSIONS);
    const browser = web.browser();
    expect(target(await browser.get("/home?tab=orders", PAGE))).toEqual([302, "/login"]);
    await browser.post("/login", { email: ADA.email, password: PASSWORD });
    expect((await browser.post("/intended")).body).toEqual({ path: "/home?tab=orders" });
  });

  test.each<[string, Record<string, string>]>([
    ["an image", { accept: "image/avif,image/*,*/*;q=0.8", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image" }],
    ["an image over plain http", { accept: "image/avif,image/*,*/*;q=0.8" }],
    ["a frame", { ...PAGE, "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe" }],
    ["a script's data", { accept: "*/*", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty" }],
    ["a script's data over plain http", { accept: "*/*" }],
    ["a script's page", { ...PAGE, "sec-fetch-mode": "cors", "sec-fetch-dest": "empty" }],
    ["a request of a library", { ...PAGE, "x-requested-with": "XMLHttpRequest" }],
  ])("S161 is kept when the open page itself loads something: %s", async (_, headers) => {
    const web = await testWeb(SESSIONS);
    const browser = web.browser();
    await browser.get("/home?tab=orders", PAGE);
    expect(target(await browser.get("/home?thumbnail=7", headers))).toEqual([302, "/login"]);
    await browser.post("/danger", {}, { ...headers, referer: "http://localhost/other" });
    expect((await browser.post("/intended")).body).toEqual({ path: "/home?tab=orders" });
    const user = await web.loggedIn();
    travel(31);
    await user.get("/danger-soon?tab=orders", PAGE);
    expect(target(await user.get("/danger-soon?thumbnail=7", headers))).toEqual([302, "/confirm_password"]);
    expect((await user.post("/intended")).body).toEqual({ path: "/danger-soon?tab=orders" });
  });

  test("S161 is not a URL whose headers a program requests", async () => {
    const web = await testWeb(SESSIONS);
    const browser = web.browser();
    expect(target(await browser.head("/home?tab=orders", PAGE))).toEqual([302, "/login"]);
    expect((await browser.post("/intended")).body).toEqual({ path: "/home" });
  });

  test("S161 is refused if it is prefetched, so that the browser requests it again if the visitor goes there", async () => {
    const web = await testWeb(SESSIONS);
    const browser = web.browser();
    const ahead = { ...PAGE, "sec-purpose": "prefetch" };
    await browser.get("/home?tab=orders", PAGE);
    expect((await browser.get("/home?next=1", ahead)).status).toBe(401);
    expect((await browser.post("/intended")).body).toEqual({ path: "/home?tab=orders" });
    const user = await web.loggedIn();
    expect((await user.get("/home", ahead)).status).toBe(200);
    travel(31);
    expect((await user.get("/danger-soon", ahead)).status).toBe(403);
    expect((await user.post("/intended")).body).toEqual({ path: "/home" });
  });

  test("is the page with the form if a form was sent", async () => {
    const web = await testWeb(SESSIONS);
    const browser = await web.loggedIn();
    const danger = (referer: string) => browser.post("/danger", {}, { ...PAGE, referer });
    travel(0);
    await web.database.kysely
      .updateTable("logins")
      .set({ authenticated_at: new Date(0) })
      .execute();
    expect(target(await danger("http://localhost/settings?a=1"))).toEqual([302, "/confirm_password"]);
    expect((await browser.post("/intended")).body).toEqual({ path: "/settings?a=1" });
    for (const referer of [
      "https://evil.example/settings",
      "javascript:alert(1)",
      "garbage",
      "http://localhost//evil",
    ]) {
      await danger(referer);
      expect((await browser.post("/intended")).body).toEqual({ path: "/home" });
    }
  });

  test("S29 is never outside of the application", async () => {
    const web = await testWeb(SESSIONS);
    const browser = web.browser();
    await browser.get("/home?next=//evil.example", PAGE);
    expect((await browser.post("/intended")).body).toEqual({ path: "/home?next=//evil.example" });
  });

  test("is not kept without sessions, and nothing fails", async () => {
    const withoutFeature = await testWeb();
    expect(target(await withoutFeature.browser().get("/home", PAGE))).toEqual([302, "/login"]);
    const withoutMiddleware = await testWeb({ providers: [SessionProvider] });
    expect(target(await withoutMiddleware.browser().get("/home", PAGE))).toEqual([302, "/login"]);
  });
});
