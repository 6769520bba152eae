import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { onEachDatabase } from "../../../test/support/services.ts";
import {
  ADA,
  BOB,
  PASSWORD,
  type TestWeb,
  type TestWebOptions,
  testWeb,
} from "../../../test/support/web-application.ts";
import { Route } from "../../routing/index.ts";
import { digest, generateSecret } from "../../security/index.ts";
import { now, setClock } from "../../support/index.ts";
import { CredentialUses } from "../credentials/credential-uses.ts";

const SECOND = 1000;
const PAGE = { accept: "text/html" };
const GUEST = { user: null };
const KEY = generateSecret();
const OTHER_KEY = generateSecret();

afterEach(() => setClock(null));

function travel(seconds: number): void {
  const then = now() + seconds * SECOND;
  setClock(() => then);
}

/** Stops the clock at the start of a successor's period. */
function stopClock(): void {
  const then = Math.ceil(now() / 60_000) * 60_000;
  setClock(() => then);
}

const confirm = { password: PASSWORD };
await onEachDatabase("S120 a login's token that was replaced", (engine) => {
  const open = (options: TestWebOptions = {}): Promise<TestWeb> =>
    testWeb({ engine, ...options, environment: { APP_KEY: KEY, ...options.environment } });

  /** Ada's browser, and one with the cookie that she had before she confirmed her password. */
  async function confirmed(web: TestWeb) {
    const browser = web.browser();
    await browser.post("/login", { email: ADA.email, password: PASSWORD, remember: true });
    const former = browser.copy();
    expect((await browser.post("/confirm", confirm)).body).toEqual({ done: true });
    expect(browser.cookies.get("token")).not.toBe(former.cookies.get("token"));
    return { browser, former, token: browser.cookies.get("token")! };
  }

  test("gets the same successor again, of which only the digest is stored", async () => {
    const web = await open();
    const { browser, former, token } = await confirmed(web);
    const { body, setCookies } = await former.get("/me");
    expect(body).toEqual({ user: ADA });
    expect(setCookies).toEqual([
      expect.stringMatching(new RegExp(`^token=${token}; Max-Age=25919\\d\\d; Path=/; Http`)),
    ]);
    for (const one of [browser, former]) expect((await one.get("/me")).body).toEqual({ user: ADA });
    const rows = await web.rows();
    expect(rows).toMatchObject([{ token_hash: digest(token) }]);
    expect(JSON.stringify(rows)).not.toContain(token);
  });

  test("doesn't have the proof that its successor was issued for, and removes it", async () => {
    const web = await open();
    const { browser, former } = await confirmed(web);
    const stolen = former.copy();
    expect((await browser.get("/danger", PAGE)).status).toBe(200);
    expect((await stolen.get("/danger", PAGE)).status).toBe(302);
    expect((await stolen.get("/danger", PAGE)).status).toBe(302);
    expect((await browser.get("/danger", PAGE)).status).toBe(302);
    // The owner's next proof benefits only the owner too.
    const [{ authenticated_at: at } = { authenticated_at: 0 }] = await web.rows();
    expect(at).toBe(null);
    expect((await former.post("/confirm", confirm)).body).toEqual({ done: true });
    expect((await former.get("/danger", PAGE)).body).toEqual({ danger: true });
  });

  test("gets no successor in a request that logs someone in in the meantime", async () => {
    const lookup = Promise.withResolvers<void>();
    const login = Route.post("/switch", async ({ auth }) => {
      const looking = auth.user();
      await auth.attemptById(BOB.id);
      lookup.resolve();
      await looking;
      return { logins: (await auth.logins().list()).map(({ isCurrent }) => isCurrent) };
    });
    const web = await open({ routes: [login] });
    const { former } = await confirmed(web);
    const store = web.application.container.make("logins").of("web");
    const renew = store.renew.bind(store);
    vi.spyOn(store, "renew").mockImplementation(async (...renewal) => {
      const isRenewed = await renew(...renewal);
      await lookup.promise;
      return isRenewed;
    });
    expect((await former.post("/switch")).body).toEqual({ logins: [true] });
    expect((await former.get("/me")).body).toEqual({ user: BOB });
  });

  test("counts as a use of its login", async () => {
    const web = await open();
    stopClock();
    const flush = vi.spyOn(CredentialUses.prototype, "flush");
    onTestFinished(() => flush.mockRestore());
    const browser = await web.loggedIn();
    travel(299);
    const former = browser.copy({ userAgent: "another device" });
    await browser.post("/confirm", confirm);
    travel(1);
    expect((await former.get("/me")).body).toEqual({ user: ADA });
    await expect.poll(() => flush.mock.calls.length).toBeGreaterThan(0);
    await Promise.all(flush.mock.results.map(({ value }) => value));
    const [row] = await web.rows();
    expect([row?.user_agent, new Date(row?.last_used_at as string).getTime()]).toEqual(["another device", now()]);
  });

  test("gets its successor in a response that is never cached, whatever the handler says", async () => {
    const cacheable = { "cache-control": "public, max-age=600" };
    const web = await open({
      routes: [
        Route.get("/own", async ({ auth, response }) => {
          const user = await auth.user();
          return response.header("Cache-Control", cacheable["cache-control"]).json({ user });
        }),
        Route.get("/platform", async ({ auth }) => Response.json({ user: await auth.user() }, { headers: cacheable })),
      ],
    });
    const { former } = await confirmed(web);
    for (const path of ["/own", "/platform"]) {
      const { body, headers, setCookies } = await former.copy().get(path);
      expect([body, setCookies.length]).toEqual([{ user: ADA }, 1]);
      expect([headers.get("cache-control"), headers.get("vary")]).toEqual(["private, no-store", null]);
    }
  });

  test("has the same successor in many requests at once", async () => {
    const web = await open();
    const { former, token } = await confirmed(web);
    const pages = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const tab = former.copy();
        return { body: (await tab.get("/me")).body, token: tab.cookies.get("token") };
      }),
    );
    expect(pages).toEqual(Array.from({ length: 20 }, () => ({ body: { user: ADA }, token })));
  });

  test("is replaced by two confirmations at once, in two processes, and neither browser is a guest", async () => {
    const web = await open();
    const other = await open({ sharing: web });
    const browser = web.browser();
    await browser.post("/login", { email: ADA.email, password: PASSWORD });
    for (let round = 0; round < 10; round++) {
      const tabs = [web, other].map((one) => {
        const tab = one.browser();
        tab.cookies.set("token", browser.cookies.get("token")!);
        return tab;
      });
      const answers = await Promise.all(tabs.map(async (tab) => (await tab.post("/confirm", confirm)).body));
      expect(answers).toEqual([{ done: true }, { done: true }]);
      const [{ token_hash } = { token_hash: "" }] = await web.rows();
      const last = tabs.find((tab) => digest(tab.cookies.get("token")!) === token_hash)!;
      expect((await last.get("/danger", PAGE)).status).toBe(200);
      for (const tab of tabs) expect((await tab.get("/me")).body).toEqual({ user: ADA });
      browser.cookies.set("token", last.cookies.get("token")!);
    }
  });

  test("gets a different successor if the password is confirmed with it again, and the first successor gets no proof", async () => {
    const web = await open();
    const { browser, former, token } = await confirmed(web);
    const stolen = former.copy();
    expect((await stolen.get("/me")).body).toEqual({ user: ADA });
    expect(stolen.cookies.get("token")).toBe(token);
    expect((await former.post("/confirm", confirm)).body).toEqual({ done: true });
    expect(former.cookies.get("token")).not.toBe(token);
    expect((await former.get("/danger", PAGE)).status).toBe(200);
    for (const one of [stolen, browser]) expect((await one.get("/danger", PAGE)).status).toBe(302);
    expect((await former.post("/confirm", confirm)).body).toEqual({ done: true });
    expect((await former.get("/danger", PAGE)).status).toBe(200);
  });

  test("gets a new proof by a confirmation if another one's proof, given in the meantime, was removed again", async () => {
    const web = await open();
    const browser = web.browser();
    await browser.post("/login", { email: ADA.email, password: PASSWORD });
    const [tab, stolen] = [browser.copy(), browser.copy()];
    const store = web.application.container.make("logins").of("web");
    const renew = store.renew.bind(store);
    vi.spyOn(store, "renew").mockImplementationOnce(async (...renewal) => {
      expect((await browser.post("/confirm", confirm)).body).toEqual({ done: true });
      expect((await stolen.get("/me")).body).toEqual({ user: ADA });
      expect(await web.rows()).toMatchObject([{ authenticated_at: null }]);
      return renew(...renewal);
    });
    expect((await tab.post("/confirm", confirm)).body).toEqual({ done: true });
    expect((await tab.get("/danger", PAGE)).body).toEqual({ danger: true });
    for (const one of [browser, stolen]) expect((await one.get("/danger", PAGE)).status).toBe(302);
  });

  test("has no successor for a confirmation that comes third", async () => {
    const web = await open();
    const { former } = await confirmed(web);
    const third = former.copy();
    expect((await former.post("/confirm", confirm)).body).toEqual({ done: true });
    expect((await third.post("/confirm", confirm)).body).toEqual({ done: false });
    expect((await former.get("/me")).body).toEqual({ user: ADA });
  });

  test("counts as a guest's after a minute", async () => {
    const web = await open();
    stopClock();
    const { former } = await confirmed(web);
    travel(60);
    expect((await former.copy().get("/me")).body).toEqual({ user: ADA });
    travel(4.999);
    expect((await former.copy().get("/me")).body).toEqual({ user: ADA });
    travel(0.001);
    const { body, setCookies } = await former.get("/me");
    expect([body, setCookies]).toEqual([GUEST, []]);
    expect((await former.post("/confirm", confirm)).body).toEqual({ done: false });
  });

  test("is recognized if the clock of the process that replaced it was a little ahead", async () => {
    const web = await open();
    stopClock();
    const { former } = await confirmed(web);
    travel(-1);
    expect((await former.get("/me")).body).toEqual({ user: ADA });
  });

  test("counts as a guest's once its successor has been replaced, too", async () => {
    const web = await open();
    const { browser, former } = await confirmed(web);
    await browser.post("/confirm", confirm);
    expect((await former.get("/me")).body).toEqual(GUEST);
  });

  test("counts as a guest's once its login has ended, by a logout with either token", async () => {
    for (const which of ["browser", "former"] as const) {
      const web = await open();
      const tabs = await confirmed(web);
      expect((await tabs[which].copy().post("/logout")).body).toEqual({ user: null, known: null });
      expect(await web.rows()).toEqual([]);
      expect((await tabs.former.get("/me")).body).toEqual(GUEST);
      expect((await tabs.browser.get("/me")).body).toEqual(GUEST);
    }
  });

  test("counts as a guest's once access to the account has ended, or the login has expired", async () => {
    const web = await open({ guard: { idleMinutes: 1, absoluteMinutes: 1 } });
    stopClock();
    const browser = await web.loggedIn();
    const former = browser.copy();
    travel(30);
    await browser.post("/confirm", confirm);
    const late = former.copy();
    travel(31);
    expect((await late.get("/me")).body).toEqual(GUEST);
    travel(-31);
    await (await web.User.find(ADA.id))!.endAccess();
    expect((await former.get("/me")).body).toEqual(GUEST);
  });

  test("ends with a login in the same browser", async () => {
    const web = await open();
    const { browser, former } = await confirmed(web);
    await former.post("/login", { email: ADA.email, password: PASSWORD });
    expect((await browser.get("/me")).body).toEqual(GUEST);
    expect(await web.rows()).toHaveLength(1);
  });

  test("is still recognized after the application's key has been replaced", async () => {
    const web = await open();
    const { former, token } = await confirmed(web);
    const rotated = await open({ sharing: web, environment: { APP_KEY: OTHER_KEY, APP_PREVIOUS_KEYS: KEY } });
    const tab = rotated.browser();
    tab.cookies.set("token", former.cookies.get("token")!);
    expect([(await tab.get("/me")).body, tab.cookies.get("token")]).toEqual([{ user: ADA }, token]);
    const without = await open({ sharing: web, environment: { APP_KEY: OTHER_KEY } });
    const lost = without.browser();
    lost.cookies.set("token", former.cookies.get("token")!);
    expect((await lost.get("/me")).body).toEqual(GUEST);
  });

  test("costs one more statement than a guest's token", async () => {
    const web = await open();
    const browser = web.browser();
    browser.cookies.set("token", "x".repeat(43));
    web.forgetQueries();
    expect((await browser.get("/me")).body).toEqual(GUEST);
    expect(web.queries).toEqual([
      expect.stringMatching(/^select "users"\.\*.* from "logins"/),
      expect.stringMatching(/^select "token_hash" from "logins" where "token_hash" in/),
    ]);
  });
});
