import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { MemorySessions } from "../../test/support/memory-sessions.ts";
import { Browser, sessionApplication } from "../../test/support/session-application.ts";
import { createApplication, createLogger, Provider } from "../boot/index.ts";
import type { HttpContext } from "../http/index.ts";
import { HttpKernel, type RouteMiddleware } from "../kernel/index.ts";
import { Route, type RouteEntry } from "../routing/index.ts";
import { generateSecret, KeyPurpose, Sealer } from "../security/index.ts";
import { AshlarError } from "../support/index.ts";
import { Csrf, databaseSessions, SessionMiddleware, SessionProvider, VerifyCsrfToken } from "./index.ts";

const ROUTES: readonly RouteEntry[] = [
  Route.get("/read", ({ session }) => session.all()),
  Route.get("/put/@key/@value", ({ session, request }) => {
    session.put(request.param("key")!, request.param("value"));
    return "put";
  }),
  Route.get("/id", ({ session }) => session.id),
  Route.get("/fail", ({ session }) => {
    session.put("before", "failure");
    throw new AshlarError("E_FORBIDDEN");
  }),
];

describe("the cookie", () => {
  test("S20 over http it has a plain name, over https it is secure and bound to its host, and scripts can read neither", async () => {
    const set = async (url: string) => {
      const application = await sessionApplication({ routes: ROUTES, environment: { APP_URL: url } });
      return (await new Browser(application, url).send("/put/a/1")).headers.getSetCookie();
    };
    const value = "[\\w-]+";
    expect(await set("http://localhost")).toEqual([
      expect.stringMatching(new RegExp(`^session=${value}; Max-Age=7200; Path=/; HttpOnly; SameSite=Lax$`)),
    ]);
    expect(await set("https://shop.example")).toEqual([
      expect.stringMatching(
        new RegExp(`^__Host-session=${value}; Max-Age=7200; Path=/; HttpOnly; Secure; SameSite=Lax$`),
      ),
    ]);
  });

  test("S23 its contents cannot be read", async () => {
    const browser = new Browser(await sessionApplication({ routes: ROUTES }));
    await browser.send("/put/name/Lovelace");
    expect(Buffer.from(browser.cookies.get("session")!, "base64url").toString("latin1")).not.toContain("Lovelace");
  });

  test("S23 it is sealed with a key that is only used for sessions", async () => {
    const APP_KEY = generateSecret();
    const browser = new Browser(await sessionApplication({ routes: ROUTES, environment: { APP_KEY } }));
    await browser.send("/put/name/Lovelace");
    const cookie = browser.cookies.get("session")!;
    expect(new Sealer(APP_KEY, new KeyPurpose("session")).open("session", cookie, 7200)).toContain("Lovelace");
    expect(new Sealer(APP_KEY, new KeyPurpose("device")).open("session", cookie, 7200)).toBe(null);
  });

  test("S23 another application's cookie is invalid", async () => {
    const browser = new Browser(await sessionApplication({ routes: ROUTES }));
    await browser.send("/put/a/1");
    const other = await sessionApplication({ routes: ROUTES, environment: { APP_KEY: generateSecret() } });
    const stranger = new Browser(other);
    stranger.cookies.set("session", browser.cookies.get("session")!);
    expect((await stranger.send("/read")).text).toBe("{}");
  });
});

describe("without a session", () => {
  test("using the session causes an error that names the missing provider", async () => {
    const application = await sessionApplication({ routes: ROUTES, web: [] });
    const errors: unknown[] = [];
    application.onError((error) => void errors.push(error));
    expect((await new Browser(application).send("/id")).status).toBe(500);
    expect(errors).toEqual([
      expect.objectContaining({
        code: "E_SESSION",
        message:
          "There is no session here: the route does not go through SessionMiddleware, or has not reached it yet. Put SessionMiddleware first in the stack, in routeMiddleware of app/kernel.ts.",
      }),
    ]);
  });

  test("twice in one stack, it is one session", async () => {
    const browser = new Browser(
      await sessionApplication({ routes: ROUTES, web: [SessionMiddleware, SessionMiddleware] }),
    );
    expect((await browser.send("/put/a/1")).cookies).toEqual(["session"]);
  });

  test.each([
    { name: "SessionMiddleware", middleware: SessionMiddleware },
    { name: "VerifyCsrfToken", middleware: VerifyCsrfToken },
  ])("$name without the provider makes startup fail", async ({ middleware }) => {
    class Kernel extends HttpKernel {
      override routeMiddleware: RouteMiddleware = { web: [middleware], api: [] };
    }
    const booting = createApplication({
      kernel: Kernel,
      routes: [Route.get("/", () => "")],
      environment: { APP_ENV: "test" },
    });
    await expect(booting).rejects.toMatchObject({
      code: "E_INVALID_CONFIGURATION",
      message: expect.stringContaining(
        "app/kernel.ts: has middleware that needs sessions, but the application has none. Add SessionProvider to PROVIDERS in config/providers.ts.",
      ),
    });
  });

  test.each<[object, string]>([
    [
      { store: "database" },
      "config/session.ts: SESSION.store: is the database, but the application has none. Add DatabaseProvider to PROVIDERS in config/providers.ts.",
    ],
    [
      { store: "file" },
      'config/session.ts: SESSION.store: is "file". Write cookieSessions(), databaseSessions(), or an object with the methods of SessionStore, or leave it out.',
    ],
    [
      { store: databaseSessions({ connection: "visitors" }) },
      "config/session.ts: SESSION.store: is the database, but the application has none. Add DatabaseProvider to PROVIDERS in config/providers.ts.",
    ],
    [
      { store: () => Promise.resolve({}) },
      "config/session.ts: SESSION.store: is a function that does not return a store. Return an object with the methods of SessionStore, not a promise.",
    ],
  ])("%j makes startup fail", async (SESSION, message) => {
    const booting = createApplication({
      providers: [SessionProvider],
      config: { session: { SESSION } },
      environment: { APP_ENV: "test" },
    });
    await expect(booting).rejects.toMatchObject({ code: "E_INVALID_CONFIGURATION", message });
  });

  test("settings under a misspelled name make startup fail", async () => {
    const booting = createApplication({
      providers: [SessionProvider],
      config: { session: { SESION: { store: "database" } } },
      environment: { APP_ENV: "test" },
    });
    await expect(booting).rejects.toMatchObject({
      code: "E_INVALID_CONFIGURATION",
      message: expect.stringContaining("config/session.ts: SESION"),
    });
  });

  test("shutting down waits until the store is closed", async () => {
    class Store extends MemorySessions {
      override async close(): Promise<void> {
        await nextTurn();
        super.close();
      }
    }
    const store = new Store();
    const application = await sessionApplication({ routes: ROUTES, session: { store } });
    await application.shutdown();
    expect(store.isClosed).toBe(true);
  });

  test("a boot that fails earlier leaves nothing to shut down", async () => {
    class Failing extends Provider {
      override boot(): void {
        throw new AshlarError("E_FORBIDDEN");
      }
    }
    const lines: string[] = [];
    const booting = createApplication({
      providers: [Failing, SessionProvider],
      environment: { APP_ENV: "test" },
      logger: createLogger({ name: "test", environment: "test", log: { level: "debug", requests: false } } as never, {
        write: (line) => void lines.push(line),
      }),
    });
    await expect(booting).rejects.toMatchObject({ code: "E_FORBIDDEN" });
    expect(lines.filter((line) => line.includes("SessionProvider"))).toEqual([]);
  });

  test("without a configuration file, the defaults apply", async () => {
    const application = await createApplication({ providers: [SessionProvider], environment: { APP_ENV: "test" } });
    expect(application.container.make("session").settings.store).toBe("cookie");
    await application.shutdown();
  });

  test("S63 a response isn't cached if httpMiddleware takes a value from the session after the handler", async () => {
    const outer = async (context: HttpContext, next: () => unknown): Promise<unknown> => {
      const result = await next();
      context.response.header("x-name", String(context.session.get("name")));
      return result;
    };
    const routes = [...ROUTES, Route.get("/plain", () => "plain")];
    const browser = new Browser(await sessionApplication({ routes, httpMiddleware: [outer] }));
    await browser.send("/put/name/Ada");
    const { headers, cookies } = await browser.send("/plain");
    expect([headers.get("x-name"), headers.get("cache-control"), cookies]).toEqual(["Ada", "private, no-store", []]);
  });

  test("S63 a response isn't cached if httpMiddleware stores a value there, even one that is too large to be saved", async () => {
    const outer = async (context: HttpContext, next: () => unknown): Promise<unknown> => {
      const result = await next();
      context.response.header("x-length", String(context.session.put("large", "x".repeat(5000)).get("large")).length);
      return result;
    };
    const routes = [Route.get("/plain", () => "plain")];
    const { headers, cookies } = await new Browser(await sessionApplication({ routes, httpMiddleware: [outer] })).send(
      "/plain",
    );
    expect([headers.get("x-length"), headers.get("cache-control"), cookies]).toEqual(["5000", "private, no-store", []]);
  });

  test("with httpMiddleware around it, an error's response still has the cookie", async () => {
    const outer = (_context: HttpContext, next: () => unknown): unknown => next();
    const browser = new Browser(await sessionApplication({ routes: ROUTES, httpMiddleware: [outer] }));
    expect((await browser.send("/fail")).cookies).toEqual(["session"]);
  });
});

describe("S107 a front end gets its token from GET /csrf", () => {
  const routes = [...Csrf.routes(), Route.post("/orders", () => "ordered")];
  const FRONT_END = "https://app.shop.example";
  const environment = { APP_URL: "https://shop.example", TRUSTED_ORIGINS: FRONT_END };
  const tokenIn = ({ text }: { readonly text: string }) => (JSON.parse(text) as { readonly token: string }).token;

  async function visitor(): Promise<Browser> {
    return new Browser(await sessionApplication({ routes, environment }), "https://shop.example");
  }

  test("S107 which belongs to a session that starts then, and is never cached", async () => {
    const browser = await visitor();
    const first = await browser.send("/csrf");
    expect([first.status, first.headers.get("content-type"), first.headers.get("cache-control")]).toEqual([
      200,
      "application/json; charset=utf-8",
      "private, no-store",
    ]);
    expect(Object.keys(JSON.parse(first.text))).toEqual(["token"]);
    expect(first.cookies).toEqual(["__Host-session"]);
    const second = await browser.send("/csrf");
    expect([second.cookies, second.headers.get("cache-control")]).toEqual([[], "private, no-store"]);
    for (const token of [tokenIn(first), tokenIn(second)]) {
      const sent = { origin: FRONT_END, "sec-fetch-site": "same-site", "x-csrf-token": token };
      expect((await browser.send("/orders", { method: "POST", headers: sent })).text).toBe("ordered");
    }
  });

  test.each([
    ["same-site", FRONT_END, "none"],
    ["same-site", FRONT_END, "another visitor's"],
    ["same-site", "https://evil.shop.example", "the session's"],
    ["cross-site", "https://evil.example", "the session's"],
    ["cross-site", "null", "the session's"],
    ["same-site", null, "the session's"],
  ])("S107 a request that is %s from %s with a token that is %s is refused", async (site, origin, whose) => {
    const browser = await visitor();
    const own = tokenIn(await browser.send("/csrf"));
    const foreign = tokenIn(await (await visitor()).send("/csrf"));
    const token = whose === "none" ? null : whose === "the session's" ? own : foreign;
    const headers = { origin, "sec-fetch-site": site, "x-csrf-token": token, accept: "application/json" };
    const { status, text } = await browser.send("/orders", { method: "POST", headers });
    expect([status, JSON.parse(text).code]).toEqual([419, "E_CSRF"]);
  });
});

describe("cookies that browsers don't send from a trusted origin", () => {
  const logged = async (environment: Record<string, string>, session: object = {}) => {
    const lines: Record<string, unknown>[] = [];
    await sessionApplication({ routes: [], environment, session, logged: lines } as never);
    return lines.map(({ msg }) => String(msg)).filter((msg) => msg.includes("can't use sessions"));
  };
  const URL = { APP_URL: "https://api.shop.example" };

  test("cause a warning at boot, unless the setting is explicit", async () => {
    const other = { ...URL, TRUSTED_ORIGINS: "https://app.shop.example, https://shop-app.example" };
    expect(await logged(other)).toEqual([
      "Pages of https://shop-app.example, one of APP.trustedOrigins, can't use sessions and logins: it is another site than " +
        "https://api.shop.example, so browsers don't send the cookies. Serve both under one domain. Or set sameSite: " +
        '"none" in config/session.ts, which needs https, and which browsers that block third-party cookies ignore. If those ' +
        'pages only use API tokens, set sameSite: "lax", and this warning goes away.',
    ]);
    for (const sameSite of ["none", "lax", "strict"]) expect(await logged(other, { sameSite })).toEqual([]);
    expect(await logged({ ...URL, TRUSTED_ORIGINS: "https://app.shop.example" })).toEqual([]);
    expect(await logged({ ...URL, TRUSTED_ORIGINS: "http://app.shop.example" })).toHaveLength(1);
    expect(await logged(URL)).toEqual([]);
  });
});

test("S20 sameSite: none is the session cookie's only over https", async () => {
  const set = async (url: string) => {
    const options = { routes: ROUTES, environment: { APP_URL: url }, session: { sameSite: "none" } };
    return (await new Browser(await sessionApplication(options), url).send("/put/a/1")).headers.getSetCookie()[0];
  };
  expect(await set("https://shop.example")).toMatch(/^__Host-session=.*; Secure; SameSite=None$/);
  await expect(set("http://shop.example")).rejects.toThrow("which browsers accept only over https");
});
