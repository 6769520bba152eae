import { afterEach, describe, expect, test, vi } from "vitest";
import type { Browser } from "../../../test/support/browser.ts";
import { onEachDatabase, type TestEngine } from "../../../test/support/services.ts";
import {
  ADA,
  PASSWORD,
  TestUser,
  type TestWeb,
  type TestWebOptions,
  testWeb,
} from "../../../test/support/web-application.ts";
import { Provider } from "../../boot/index.ts";
import { currentApplication, currentRequestId } from "../../kernel/index.ts";
import { Route } from "../../routing/index.ts";
import { createSessionDataTable, databaseSessions, SessionMiddleware, SessionProvider } from "../../session/index.ts";
import { AshlarError, type MaybePromise, now, setClock } from "../../support/index.ts";
import { type Authenticatable, RequestGuard } from "../index.ts";

const HERE = { "sec-fetch-site": "same-origin" };
const MINUTE = 60_000;

afterEach(() => setClock(null));

function travel(minutes: number): void {
  const then = now() + minutes * MINUTE;
  setClock(() => then);
}

function shop(options: TestWebOptions = {}): Promise<TestWeb> {
  return testWeb({ stack: [SessionMiddleware], providers: [SessionProvider], ...options });
}

/** A request to another framework, with a browser's cookies. */
function sent(browser: Browser | null, init: RequestInit = {}, path = "/orders?page=2"): Request {
  const cookie = [...(browser?.cookies ?? [])].map((pair) => pair.join("=")).join("; ");
  return new Request(`http://localhost${path}`, { ...init, headers: { cookie, ...(init.headers as object) } });
}

/** Stores what came back in the browser. */
function receive(browser: Browser, headers: Headers): void {
  for (const one of headers.getSetCookie()) {
    const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(one) ?? [];
    browser.cookies.set(name, value);
  }
}

/** A CSRF token for a browser's session. */
async function csrfTokenFor(web: TestWeb, browser: Browser): Promise<string> {
  const authentication = await web.application.authenticate(sent(browser));
  const token = await authentication.csrfToken();
  receive(browser, authentication.headers);
  return token;
}

await onEachDatabase("requests of another framework", (engine: TestEngine) => {
  test("are a user's with a login cookie, and a guest's without one", async () => {
    const web = await shop({ engine });
    const ada = await web.loggedIn();
    const authentication = await web.application.authenticate(sent(ada), { address: "203.0.113.7" });
    expect(authentication).toMatchObject({ user: ADA, guard: "web", clientAddress: "203.0.113.7" });
    const [row] = await web.rows();
    expect(authentication.login).toEqual({
      id: String(row?.id),
      authenticatedAt: null,
      createdAt: expect.any(Date),
      expiresAt: expect.any(Date),
    });
    expect(authentication.requireUser()).toMatchObject(ADA);

    const guest = await web.application.authenticate(sent(null));
    expect(guest).toMatchObject({ user: null, guard: "web", login: null, clientAddress: null });
    expect(() => guest.requireUser()).toThrow(expect.objectContaining({ code: "E_UNAUTHENTICATED", status: 401 }));
    await ada.post("/logout");
    expect((await web.application.authenticate(sent(ada))).user).toBe(null);
    const { authentications } = web.application.stats();
    await web.application.authenticate(sent(null));
    expect(authentications).toEqual({ users: 1, guests: 2, refused: 0 });
    expect(web.application.stats().authentications).toEqual({ users: 1, guests: 3, refused: 0 });
    // What another framework responds to is not a request that this application has responded to.
    expect(web.application.stats().requests.flatMap(({ route }) => route)).not.toContain(null);
  });

  test("S110 change nothing for a user with a cookie unless they have a CSRF token of the session", async () => {
    const web = await shop({ engine });
    const ada = await web.loggedIn();
    const bob = await web.loggedIn({ id: 2 });
    const token = await csrfTokenFor(web, ada);
    const post = (browser: Browser, headers: object, options = {}): Promise<unknown> =>
      web.application
        .authenticate(sent(browser, { method: "POST", headers: { ...HERE, ...headers } }), options)
        .then(({ user }) => (user as { id: number } | null)?.id ?? null)
        .catch(({ code, status }) => [code, status]);
    const refused = ["E_CSRF", 419];
    const others = await csrfTokenFor(web, bob);
    expect(await post(ada, {})).toEqual(refused);
    expect(await post(ada, { "x-csrf-token": others })).toEqual(refused);
    for (const csrfToken of [others, "", 7, {}, [token], `${token}\r\nx: y`]) {
      expect(await post(ada, {}, { csrfToken })).toEqual(refused);
    }
    for (const method of ["PUT", "PATCH", "DELETE", "PURGE"]) {
      await expect(web.application.authenticate(sent(ada, { method, headers: HERE }))).rejects.toMatchObject({
        code: "E_CSRF",
      });
    }
    expect(await post(ada, { "x-csrf-token": token })).toBe(1);
    expect(await post(ada, {}, { csrfToken: token })).toBe(1);
    expect(await post(ada, { "x-csrf-token": token }, { csrfToken: null })).toBe(1);
    expect(await post(bob, { "x-csrf-token": others })).toBe(2);
    // Even with a token, another site's page is refused.
    for (const elsewhere of [{ "sec-fetch-site": "cross-site" }, { "sec-fetch-site": "same-site" }]) {
      expect(await post(ada, { "x-csrf-token": token, ...elsewhere })).toEqual(refused);
    }
    const origin = { method: "POST", headers: { origin: "https://evil.example", "x-csrf-token": token } };
    await expect(web.application.authenticate(sent(ada, origin))).rejects.toMatchObject({ code: "E_CSRF" });
    // There is nothing to abuse about a guest.
    expect(await post(web.browser(), {})).toBe(null);
  });

  test("S110 can be checked by their handler instead", async () => {
    const web = await shop({ engine });
    const ada = await web.loggedIn();
    const token = await csrfTokenFor(web, ada);
    const authenticate = () =>
      web.application.authenticate(sent(ada, { method: "POST", headers: HERE }), { csrf: false });
    const authentication = await authenticate();
    expect(authentication.user).toMatchObject(ADA);
    expect(() => authentication.verifyCsrf()).toThrow(expect.objectContaining({ code: "E_CSRF" }));
    expect(() => authentication.verifyCsrf("x".repeat(86))).toThrow(expect.objectContaining({ code: "E_CSRF" }));
    (await authenticate()).verifyCsrf(token);
  });

  test("share one check of CSRF tokens per application", async () => {
    const [one, other] = [await shop({ engine }), await shop({ engine })];
    const madeBy = async ({ application }: TestWeb): Promise<number> => {
      const make = vi.spyOn(application.container, "make");
      for (let count = 0; count < 3; count++) await application.authenticate(sent(null));
      // The input of the check.
      return make.mock.calls.filter(([name]) => name === "router").length;
    };
    expect([await madeBy(one), await madeBy(other), await madeBy(one)]).toEqual([1, 1, 1]);
  });

  test("S109 keep their bodies", async () => {
    const web = await shop({ engine });
    const ada = await web.loggedIn();
    const token = await csrfTokenFor(web, ada);
    const headers = { ...HERE, "x-csrf-token": token, "content-type": "application/x-www-form-urlencoded" };
    const request = sent(ada, { method: "POST", headers, body: "item=tea&__token=wrong" });
    await web.application.authenticate(request);
    expect(request.bodyUsed).toBe(false);
    expect(await request.text()).toBe("item=tea&__token=wrong");
    // One that has been read works as well.
    expect((await web.application.authenticate(request)).user).toMatchObject(ADA);
  });

  test("record that a login was used, unless nothing may be stored", async () => {
    const web = await shop({ engine });
    const other = await shop({ engine, sharing: web });
    const ada = await web.loggedIn();
    const usedAt = async () => (await other.rows())[0]?.last_used_at;
    const first = await usedAt();
    travel(30);
    const silent = await web.application.authenticate(sent(ada), { readOnly: true });
    expect(silent.user).toMatchObject(ADA);
    await expect(silent.csrfToken()).rejects.toMatchObject({ code: "E_SESSION" });
    expect(Object.fromEntries(silent.headers)).toEqual({ "cache-control": "private, no-store", vary: "cookie" });
    // It writes pending uses.
    await web.application.shutdown();
    expect(await usedAt()).toEqual(first);
    travel(1);
    await other.application.authenticate(sent(ada));
    await expect.poll(usedAt).not.toEqual(first);
    expect(new Date((await usedAt()) as string | Date).getTime()).toBe(now());
  });

  test("S120 with a token that was just replaced get its successor, or go without if nothing may be stored", async () => {
    const web = await shop({ engine });
    const ada = web.browser();
    await ada.post("/login", { email: ADA.email, password: PASSWORD });
    const former = ada.copy();
    await ada.post("/confirm", { password: PASSWORD });
    const before = await web.rows();
    const silent = await web.application.authenticate(sent(former), { readOnly: true });
    expect(silent.user).toMatchObject(ADA);
    expect([silent.login?.authenticatedAt, await web.rows()]).toEqual([null, before]);
    expect(silent.headers.getSetCookie()).toEqual([]);
    const authentication = await web.application.authenticate(sent(former));
    expect(authentication).toMatchObject({ user: ADA, login: { authenticatedAt: null } });
    receive(former, authentication.headers);
    expect(former.cookies.get("token")).toBe(ada.cookies.get("token"));
    expect(await web.rows()).toEqual([{ ...before[0], authenticated_at: null }]);
  });

  test("get a CSRF token of a session that is stored by then", async () => {
    const web = await shop({ engine, session: { store: databaseSessions() } });
    await createSessionDataTable(web.database.kysely);
    const ada = await web.loggedIn();
    const authentication = await web.application.authenticate(sent(ada));
    expect(authentication.headers.getSetCookie()).toEqual([]);
    const save = vi.spyOn(web.application.container.make("session").keeper, "save");
    const token = await authentication.csrfToken();
    expect(save).toHaveResolvedTimes(1);
    const applied = authentication.apply(
      new Response("page", { status: 201, headers: { vary: "Accept", "set-cookie": "own=1", "x-own": "yes" } }),
    );
    expect([applied.status, await applied.text(), applied.headers.get("x-own")]).toEqual([201, "page", "yes"]);
    expect(applied.headers.get("cache-control")).toBe("private, no-store");
    expect(applied.headers.get("vary")).toBe("accept, cookie");
    expect(applied.headers.getSetCookie()).toEqual(["own=1", expect.stringMatching(/^session=/)]);
    receive(ada, authentication.headers);
    const post = sent(ada, { method: "POST", headers: { ...HERE, "x-csrf-token": token } });
    expect((await web.application.authenticate(post)).user).toMatchObject(ADA);
    // A session that exists can be read without storing anything.
    const silent = await web.application.authenticate(sent(ada), { readOnly: true });
    const again = sent(ada, { method: "POST", headers: { ...HERE, "x-csrf-token": await silent.csrfToken() } });
    expect((await web.application.authenticate(again, { readOnly: true })).user).toMatchObject(ADA);
    expect(Object.fromEntries(silent.headers)).toEqual({ "cache-control": "private, no-store", vary: "cookie" });
  });
});

await onEachDatabase("the session of another framework's request", (engine: TestEngine) => {
  test("count as a use once their CSRF token is checked, unless nothing may be stored", async () => {
    const web = await shop({ engine, session: { store: databaseSessions() } });
    await createSessionDataTable(web.database.kysely);
    const usedAt = async (): Promise<readonly unknown[]> => {
      const rows = await web.database.kysely.selectFrom("session_data").select("last_used_at").execute();
      return rows.map(({ last_used_at }) => new Date(last_used_at as Date | string).getTime());
    };
    const ada = await web.loggedIn();
    const token = await csrfTokenFor(web, ada);
    const begun = await usedAt();
    const post = (headers: object = { "x-csrf-token": token }) =>
      sent(ada, { method: "POST", headers: { ...HERE, ...headers } });

    travel(30);
    const silent = await web.application.authenticate(post(), { readOnly: true });
    expect([silent.user, silent.headers.getSetCookie(), await usedAt()]).toMatchObject([ADA, [], begun]);

    const authentication = await web.application.authenticate(post());
    // By then, the response's headers are known, and everything is stored.
    expect(authentication.headers.getSetCookie()).toEqual([expect.stringMatching(/^session=/)]);
    expect(await usedAt()).toEqual([now()]);

    travel(30);
    await expect(web.application.authenticate(post({}))).rejects.toMatchObject({ code: "E_CSRF" });
    expect(await usedAt()).toEqual([now()]);
  });
});

describe("a guest of another framework's page", () => {
  test("is sent to the login page, and from there back to the page", async () => {
    const web = await shop({ routes: [Route.get("/intended", ({ visitor }) => visitor?.intended("none"))] });
    const browser = web.browser();
    const guest = await web.application.authenticate(sent(browser, { headers: { accept: "text/html,*/*;q=0.8" } }));
    const response = await guest.refuse();
    expect([response.status, response.headers.get("location")]).toEqual([302, "/login"]);
    receive(browser, response.headers);
    expect((await browser.get("/intended")).body).toBe("/orders?page=2");
  });

  test("S161 is not sent back to what an open page has loaded by itself", async () => {
    const web = await shop({ routes: [Route.get("/intended", ({ visitor }) => visitor?.intended("none"))] });
    const browser = web.browser();
    const guest = await web.application.authenticate(sent(browser, { headers: { accept: "*/*" } }));
    const response = await guest.refuse();
    expect([response.status, response.headers.get("location")]).toEqual([302, "/login"]);
    receive(browser, response.headers);
    expect((await browser.get("/intended")).body).toBe("none");
  });

  test("gets a 401 if the caller wants JSON", async () => {
    const web = await shop();
    const guest = await web.application.authenticate(sent(null, { headers: { accept: "application/json" } }));
    const response = await guest.refuse();
    expect([response.status, response.headers.getSetCookie()]).toEqual([401, []]);
    expect(await response.json()).toMatchObject({ code: "E_UNAUTHENTICATED", status: 401 });
  });
});

describe("another framework's request", () => {
  test("is handled inside the middleware of every request, for this application, under the request's id", async () => {
    const seen: unknown[] = [];
    const web = await shop({
      httpMiddleware: [
        (context, next) => {
          seen.push(context.request.id, currentRequestId(), context.request.url());
          return next();
        },
      ],
    });
    await shop();
    const request = sent(null, { headers: { "x-request-id": "from-the-host" } });
    const { requestId } = await web.application.authenticate(request);
    expect(requestId).toBe("from-the-host");
    expect(seen).toEqual(["from-the-host", "from-the-host", "http://localhost/orders"]);
    expect(currentApplication()).toBe(null);
    const [one, other] = await Promise.all([1, 2].map(() => web.application.authenticate(sent(null))));
    expect(one?.requestId).toMatch(/^[\da-f-]{36}$/);
    expect(one?.requestId).not.toBe(other?.requestId);
  });

  test("gets the response of a middleware that responds instead of passing it on", async () => {
    const web = await shop({ httpMiddleware: [({ response }) => response.status(503).text("closed")] });
    const request = sent(null);
    const error = await web.application.authenticate(request).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "E_ANSWERED", status: 503 });
    const response = await web.application.errorResponse(request, error);
    expect([response.status, await response.text()]).toEqual([503, "closed"]);
    expect(web.application.stats().authentications).toEqual({ users: 0, guests: 0, refused: 1 });
  });

  test("belongs to the user of the first guard that recognizes one", async () => {
    const web = await shop({
      guards: { device: { driver: "device", model: class Device extends TestUser {} } },
      providers: [SessionProvider, DeviceProvider],
    });
    const ada = await web.loggedIn();
    const ask = async (browser: Browser | null, headers: object, guard: readonly string[]) => {
      const { user, guard: name } = await web.application.authenticate(sent(browser, { headers: { ...headers } }), {
        guard,
      });
      return [name, (user as { id: number } | null)?.id ?? null];
    };
    const device = { "x-device": "2" };
    expect(await ask(ada, device, ["web", "device"])).toEqual(["web", 1]);
    expect(await ask(ada, device, ["device", "web"])).toEqual(["device", 2]);
    expect(await ask(null, device, ["web", "device"])).toEqual(["device", 2]);
    expect(await ask(null, {}, ["device", "web"])).toEqual(["device", null]);
    // Browsers don't send such a header by themselves, so no token is required.
    const post = sent(ada, { method: "POST", headers: device });
    expect(await web.application.authenticate(post, { guard: "device" })).toMatchObject({
      user: { id: 2 },
      login: null,
    });
    const proven = await web.application.authenticate(sent(null, { headers: device }), { guard: "device" });
    expect(["orders.read", "orders.write"].map((one) => proven.tokenCan(one))).toEqual([true, false]);
    expect((await web.application.authenticate(sent(ada))).tokenCan("orders.write")).toBe(true);
    const guest = await web.application.authenticate(sent(null), { guard: ["web", "device"] });
    expect(guest.tokenCan("orders.read")).toBe(false);
    expect(() => guest.requireUser()).toThrow(expect.objectContaining({ headers: { "WWW-Authenticate": "Device" } }));
    const response = await (await web.application.authenticate(sent(null), { guard: "device" })).refuse();
    expect([response.status, response.headers.get("www-authenticate")]).toEqual([401, "Device"]);
    for (const browser of [null, ada]) {
      await expect(web.application.authenticate(sent(browser), { guard: ["web", "wbe"] })).rejects.toMatchObject({
        code: "E_UNKNOWN_GUARD",
      });
    }
  });

  test("is refused in the way your own guard decides, even in JSON, and its user may do everything without tokenCan", async () => {
    const web = await shop({
      guards: { pass: { driver: "pass", model: class Pass extends TestUser {} } },
      providers: [SessionProvider, DeviceProvider],
    });
    const guest = await web.application.authenticate(sent(null, { headers: { "x-pass": "0" } }), { guard: "pass" });
    const response = await guest.refuse();
    expect([response.status, response.headers.get("retry-after")]).toEqual([429, "7"]);
    expect(await response.json()).toMatchObject({ code: "E_TOO_MANY_REQUESTS", detail: "Torn.", pass: 7 });
    const user = await web.application.authenticate(sent(null, { headers: { "x-pass": "1" } }), { guard: "pass" });
    expect([user.requireUser(), user.tokenCan("orders.write")]).toMatchObject([ADA, true]);
  });

  test("from a guest gets the challenge of the first guard that has one", async () => {
    const web = await shop({
      guards: {
        badge: { driver: "badge", model: class Badge extends TestUser {} },
        device: { driver: "device", model: class Device extends TestUser {} },
      },
      providers: [SessionProvider, DeviceProvider],
    });
    for (const [guard, headers] of [
      [["badge", "device"], { "WWW-Authenticate": "Badge" }],
      [["device", "badge"], { "WWW-Authenticate": "Device" }],
      [["web", "badge", "device"], { "WWW-Authenticate": "Badge" }],
      [["web"], {}],
    ] as const) {
      const guest = await web.application.authenticate(sent(null), { guard });
      expect(() => guest.requireUser()).toThrow(expect.objectContaining({ headers }));
    }
  });

  test("is refused once the application has shut down", async () => {
    const web = await shop();
    await web.application.shutdown();
    const error = await web.application.authenticate(sent(null)).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "E_SHUTTING_DOWN", status: 503 });
    expect((await web.application.errorResponse(sent(null), error)).status).toBe(503);
  });

  test("throws errors that say how to respond", async () => {
    const web = await shop();
    const json = sent(null, { headers: { accept: "application/json" } });
    const response = await web.application.errorResponse(json, new Error("a s3cret"));
    expect(await response.json()).toMatchObject({ status: 500, code: "E_INTERNAL" });
    const page = await web.application.errorResponse(sent(null), new AshlarError("E_FORBIDDEN"), { address: "::1" });
    expect([page.status, page.headers.get("content-type")]).toEqual([403, "text/html; charset=utf-8"]);
  });
});

/** Identifies users by a header. */
class DeviceGuard extends RequestGuard {
  override get challenge(): string {
    return "Device";
  }

  override tokenCan(ability: string): boolean {
    return ability === "orders.read";
  }

  protected override retrieve(): MaybePromise<Authenticatable | null> {
    const serial = this.context.request.header("x-device");
    return serial === null ? null : this.model.findByAuthId(Number(serial));
  }
}

class BadgeGuard extends DeviceGuard {
  override get challenge(): string {
    return "Badge";
  }
}

/** A guard with its own refusal, and without the optional members. */
class PassGuard extends RequestGuard {
  // @ts-expect-error: it is left out.
  override tokenCan = undefined;

  get refusal(): AshlarError | null {
    return new AshlarError("E_TOO_MANY_REQUESTS", "Torn.", {
      headers: { "Retry-After": "7" },
      extensions: { pass: 7 },
    });
  }

  protected override retrieve(): MaybePromise<Authenticatable | null> {
    return this.model.findByAuthId(Number(this.context.request.header("x-pass")));
  }
}

class DeviceProvider extends Provider {
  override boot(): void {
    const guards = this.application.container.make("auth");
    for (const [driver, Guard] of [
      ["device", DeviceGuard],
      ["badge", BadgeGuard],
      ["pass", PassGuard as unknown as typeof DeviceGuard],
    ] as const) {
      guards.registerDriver(
        driver,
        ({ name, model }) =>
          (context) =>
            new Guard(name, context, model),
      );
    }
  }
}
