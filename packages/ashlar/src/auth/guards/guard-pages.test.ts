import { describe, expect, test } from "vitest";
import { ADA, AdminUser, FullUser, PASSWORD, testAccounts } from "../../../test/support/account-application.ts";
import { ACCOUNT_CONTROLLERS } from "../../../test/support/account-controllers.ts";
import { Route, type RouteEntry, Router } from "../../routing/index.ts";
import { ConfigurationError } from "../../support/index.ts";
import { authRoutes } from "../accounts/pages/auth-routes.ts";
import { readAuthSettings } from "../settings.ts";
import { GuardPages } from "./guard-pages.ts";

class AdminHomeController {
  show(): string {
    return "the administration";
  }
}

/** An application with a second guard, `admin`, and its routes. */
function withAdmin(routes: readonly RouteEntry[] = [], admin: object = {}) {
  class Admin extends AdminUser {}
  const guards = { admin: { driver: "web", model: Admin, ...admin } };
  return testAccounts({ guards, routes, models: [Admin] });
}

const ADMIN_ROUTES: readonly RouteEntry[] = [
  ...authRoutes({ ...ACCOUNT_CONTROLLERS, home: AdminHomeController }, { guard: "admin" }).prefix("/admin"),
  Route.get("/admin/orders", () => "the orders").middleware("auth:admin"),
  Route.get("/admin/keys", () => "the keys").middleware("auth:admin", "password.confirm:1"),
  Route.get("/admin/post", () => "the post").middleware("auth:admin", "verified"),
];

describe("the routes of a second guard", () => {
  test("have their own names, and the guard is active on each of them, before the limits", () => {
    const routes = [...authRoutes(ACCOUNT_CONTROLLERS, { guard: "admin" }).prefix("/admin")];
    const listed = routes.map(({ attributes: { methods, path, name, middleware } }) => {
      return `${methods.join("|")} ${path} ${name} (${middleware.join(", ")})`;
    });
    expect(listed).toHaveLength(31);
    expect(listed).toEqual(
      expect.arrayContaining([
        "GET /admin/login admin.login (auth.page, guard:admin)",
        "POST /admin/login admin.login.store (auth.page, guard:admin, throttle:login)",
        "GET /admin/logout null (auth.page, guard:admin)",
        "GET /admin/password_reset admin.password_reset (auth.page:token, guard:admin, throttle:password_reset.show)",
        "POST /admin/account/email admin.account.email.store (auth.page, guard:admin, auth:admin, throttle:email.resend,user)",
      ]),
    );
  });

  test.each([[""], ["a b"], ["admin,web"], ["admin:web"], [7], [null]])("cannot be for the guard %j", (guard) => {
    expect(() => authRoutes(ACCOUNT_CONTROLLERS, { guard: guard as string })).toThrow(
      'Auth.routes: guard is not the name of a guard. Write { guard: "admin" }.',
    );
  });

  test("make startup fail if the guard doesn't exist", async () => {
    const routes = [...authRoutes(ACCOUNT_CONTROLLERS, { guard: "admni" }).prefix("/admin")];
    await expect(withAdmin(routes)).rejects.toThrow('No guard is named "admni". Did you mean "admin"?');
  });
});

describe("S69 a guard's visitors are redirected to its own pages", () => {
  test("S69 guests to its login, and from there to the page they wanted", async () => {
    const accounts = await withAdmin(ADMIN_ROUTES);
    const visitor = accounts.visitor();
    expect((await visitor.get("/admin/orders")).headers.get("location")).toBe("/admin/login");
    expect((await visitor.get("/home")).headers.get("location")).toBe("/login");
    const sent = { email: ADA.email, password: PASSWORD };
    expect((await visitor.post("/login", sent)).headers.get("location")).toBe("/home");
    expect((await visitor.get("/admin/orders")).headers.get("location")).toBe("/admin/login");
    await visitor.get("/members");
    expect((await visitor.post("/admin/login", sent)).headers.get("location")).toBe("/admin/orders");
  });

  test("S69 guests to its login on another host, if its pages have their own host", async () => {
    const pages = authRoutes({ ...ACCOUNT_CONTROLLERS, home: AdminHomeController }, { guard: "admin" });
    const orders = Route.get("/admin/orders", () => "the orders").middleware("auth:admin");
    const accounts = await withAdmin([...pages.domain("admin.example"), orders]);
    const { headers } = await accounts.visitor().get("/admin/orders");
    expect(headers.get("location")).toBe("https://admin.example/login");
  });

  test("S69 users to its page that asks for the password, and to its verification notice", async () => {
    const accounts = await withAdmin(ADMIN_ROUTES);
    const visitor = accounts.visitor();
    await visitor.post("/admin/login", { email: ADA.email, password: PASSWORD });
    expect((await visitor.get("/admin/post")).headers.get("location")).toBe("/admin/email/verify/notice");
    const passed = Date.now() - 61_000;
    await accounts.database.kysely
      .updateTable("logins")
      .set({ authenticated_at: new Date(passed).toISOString() })
      .execute();
    expect((await visitor.get("/admin/keys")).headers.get("location")).toBe("/admin/confirm_password");
    const confirmed = await visitor.post("/admin/confirm_password", { password: PASSWORD });
    expect(confirmed.headers.get("location")).toBe("/admin/keys");
  });
});

describe("the addresses of the pages", () => {
  test("a guard's pages follow prefixes of paths and of names", async () => {
    class Admin extends AdminUser {}
    const konto = authRoutes(ACCOUNT_CONTROLLERS, { guard: "admin" }).prefix("/konto").name("my.");
    const accounts = await testAccounts({
      guards: { admin: { driver: "web", model: Admin, routes: "my.admin." } },
      routes: [...konto, Route.get("/mine", () => "mine").middleware("auth:admin")],
      models: [Admin],
    });
    expect((await accounts.visitor().get("/mine")).headers.get("location")).toBe("/konto/login");
  });

  test("a guard without pages uses the default guard's", async () => {
    const routes = [Route.get("/admin/orders", () => "the orders").middleware("auth:admin")];
    const accounts = await withAdmin(routes);
    expect((await accounts.visitor().get("/admin/orders")).headers.get("location")).toBe("/login");
  });

  test("an application can have its own page under the usual path, without a name", async () => {
    const all = Object.fromEntries(Object.keys(ACCOUNT_CONTROLLERS).map((group) => [group, false])) as object;
    const routes = [Route.get("/login", () => "my login"), Route.get("/mine", () => "mine").middleware("auth")];
    const accounts = await testAccounts({ routes, leftOut: all });
    expect((await accounts.visitor().get("/mine")).headers.get("location")).toBe("/login");
  });

  test("a `routes` prefix that no route name starts with makes startup fail", async () => {
    await expect(withAdmin(ADMIN_ROUTES, { routes: "admni." })).rejects.toThrow(
      'config/auth.ts: GUARDS.admin.routes: no route is named "admni.login", where guests are sent. Did you mean "admin.login" or "admin.logins"?',
    );
  });

  test.each([
    ["password.confirm", "confirmPassword", "confirm_password"],
    ["verified", "verifyEmail", "email.verify.notice"],
  ] as const)("%s on a route of a guard without the page makes startup fail", async (middleware, group, page) => {
    const options = { guard: "admin", closeAccount: false, [group]: false } as const;
    const routes = [
      ...authRoutes(ACCOUNT_CONTROLLERS, options as { guard: "admin" }).prefix("/admin"),
      Route.get("/admin/keys", () => "the keys").middleware("auth:admin", middleware),
    ];
    await expect(withAdmin(routes)).rejects.toThrow(
      `GET /admin/keys: "${middleware}" sends users of the guard "admin" to the route "admin.${page}", which does not exist.`,
    );
  });

  test("the error names every method of the route, and suggests no name if no route has one", () => {
    const settings = readAuthSettings({ GUARDS: { admin: { model: AdminUser, routes: "admin." } } });
    const login = { name: "admin.login", middleware: [], methods: ["GET"], pattern: "/admin/login" };
    const keys = { name: null, middleware: ["auth:admin", "verified"], methods: ["GET", "POST"], pattern: "/keys" };
    const pages = (...routes: object[]) =>
      new GuardPages(
        settings,
        () => ({ routes }) as never,
        () => "admin",
      );
    expect(() => pages().check()).toThrow(
      new ConfigurationError(
        "config/auth.ts: GUARDS.admin.routes",
        'no route is named "admin.login", where guests are sent.',
        'Write routes: "admin." for Auth.routes(controllers, { guard: "admin" }).',
      ),
    );
    expect(() => pages(login, keys).check()).toThrow(
      'GET|POST /keys: "verified" sends users of the guard "admin" to the route "admin.email.verify.notice"',
    );
  });

  test("guards share a page if it is the same route for them, whether or not the route exists", () => {
    const GUARDS = {
      default: "web",
      web: { model: AdminUser },
      admin: { model: AdminUser },
      desk: { model: AdminUser },
    };
    const login = { name: "admin.login", middleware: [], methods: ["GET"], pattern: "/admin/login" };
    const pages = new GuardPages(
      readAuthSettings({ GUARDS }),
      () => ({ routes: [login] }) as never,
      () => "web",
    );
    const shared = (one: string, other: string) => pages.isShared("password_reset", one, other);
    expect([shared("web", "web"), shared("web", "desk"), shared("desk", "web")]).toEqual([true, true, true]);
    expect([shared("web", "admin"), shared("admin", "desk"), shared("admin", "admin")]).toEqual([false, false, true]);
  });

  test("a page that is left out is not a page, and asking for its URL is an error", async () => {
    const asked = Route.get("/asked", ({ auth }) => {
      const own = [auth.hasRoute("register"), auth.route("login")];
      auth.guard("admin");
      return [...own, auth.hasRoute("register"), auth.route("login"), auth.route("register")];
    }).respondsWithJson();
    const left = authRoutes(ACCOUNT_CONTROLLERS, { guard: "admin", register: false }).prefix("/admin");
    const without = await (await withAdmin([...left, asked])).visitor().get("/asked");
    expect(without).toMatchObject({ status: 500, body: { code: "E_UNKNOWN_ROUTE" } });
    const all = authRoutes(ACCOUNT_CONTROLLERS, { guard: "admin" }).prefix("/admin");
    const { body } = await (await withAdmin([...all, asked])).visitor().get("/asked");
    expect(body).toEqual([true, "/login", true, "/admin/login", "/admin/register"]);
  });
});

describe("the paths of the framework", () => {
  const GUARDS = { default: "web", web: { model: AdminUser }, admin: { model: AdminUser } };

  function pagesOf(entries: readonly RouteEntry[] | null, guards: object = GUARDS, byDefault: string | null = "web") {
    const source = { stack: null, prefix: "", respondsWithJson: false, file: "routes/web.ts" };
    const router = entries === null ? null : new Router([{ ...source, entries }]);
    return new GuardPages(
      readAuthSettings({ GUARDS: guards }),
      () => router,
      () => byDefault,
    );
  }
  const page = (path: string, name: string) => Route.get(path, () => "").name(name);
  const guarded = (path: string, ...middleware: string[]) => Route.get(path, () => "").middleware(...middleware);

  test("are used for pages without a name, and for no other page", () => {
    const pages = pagesOf([]);
    const usual = ["login", "home", "confirm_password", "email.verify.notice"];
    expect(usual.map((name) => pages.to("web", name))).toEqual([
      "/login",
      "/home",
      "/confirm_password",
      "/email/verify/notice",
    ]);
    for (const name of ["register", "constructor"]) {
      expect(() => pages.to("web", name)).toThrow(expect.objectContaining({ code: "E_UNKNOWN_ROUTE" }));
    }
  });

  test("are replaced by the path of a route with that name", () => {
    const pages = pagesOf([page("/sign-in", "login"), page("/admin/sign-in", "admin.login")]);
    expect([pages.to("web", "login"), pages.to("admin", "login")]).toEqual(["/sign-in", "/admin/sign-in"]);
    expect(() => pagesOf([page("/sign-in", "login"), guarded("/mine", "auth")]).check()).not.toThrow();
  });

  test("are not required if no route sends visitors to them, even if the prefix is set to none", () => {
    const guards = { default: "web", web: { model: AdminUser, routes: "" } };
    expect(() => pagesOf([page("/about", "about")], guards).check()).not.toThrow();
  });

  test("are used until the routes are known", () => {
    const pages = pagesOf(null);
    expect([pages.has("web", "login"), pages.nameOf("admin", "login"), pages.to("web", "home")]).toEqual([
      false,
      "login",
      "/home",
    ]);
    expect(() => pages.check()).not.toThrow();
  });

  test("are used for an unknown guard, and for all guards without a default", () => {
    const admin = [page("/admin/login", "admin.login")];
    expect(pagesOf(admin).nameOf("nobody", "login")).toBe("login");
    expect(pagesOf(admin, GUARDS, null).nameOf("admin", "login")).toBe("login");
  });

  test("are sufficient for middleware that redirects users of a guard whose routes have no prefix", () => {
    const bare = { default: "web", web: { model: AdminUser }, admin: { driver: "web", model: AdminUser, routes: "" } };
    const routes = [guarded("/letters", "auth:web", "verified"), guarded("/keys", "auth:admin", "password.confirm")];
    const pages = ["/login", "/confirm_password", "/email/verify/notice"].map((path) => Route.get(path, () => ""));
    expect(() => pagesOf([...routes, ...pages], bare).check()).not.toThrow();
    for (const missing of pages) {
      const others = pages.filter((one) => one !== missing);
      expect(() => pagesOf([...routes, ...others], bare).check()).toThrow(
        `or to ${missing.attributes.path}, and neither exists.`,
      );
    }
  });

  test("a route requires the pages of the guard that its middleware names last, and other arguments don't name one", () => {
    const login = page("/admin/login", "admin.login");
    const usual = ["/login", "/email/verify/notice"].map((path) => Route.get(path, () => ""));
    const check = (...middleware: string[]) => pagesOf([login, ...usual, guarded("/keys", ...middleware)]).check();
    for (const own of ["throttle:admin", "staffauth:admin", "authors:admin", "auth"]) {
      expect(() => check(own, "verified")).not.toThrow();
    }
    for (const named of [["auth:admin"], ["guard:admin"], ["auth:admin", "auth"], ["auth:web", "guard:admin"]]) {
      expect(() => check(...named, "verified")).toThrow("admin.email.verify.notice");
    }
    const prefixed = { default: "web", web: { model: AdminUser, routes: "admin." } };
    expect(() => pagesOf([login, guarded("/keys", "verified")], prefixed).check()).toThrow("admin.email.verify.notice");
    const notice = page("/admin/notice", "admin.email.verify.notice");
    expect(() => pagesOf([login, notice, guarded("/keys", "verified")], prefixed).check()).not.toThrow();
  });
});

describe("S69 the default guard's pages are checked at boot", () => {
  const all = Object.fromEntries(Object.keys(ACCOUNT_CONTROLLERS).map((group) => [group, false])) as object;
  const mine = (...middleware: string[]) => Route.get("/mine", () => "mine").middleware(...middleware);

  test.each([
    ["auth", "guests", "login", "/login"],
    ["verified", "guests", "login", "/login"],
    ["password.confirm", "guests", "login", "/login"],
    ["verified", "users", "email.verify.notice", "/email/verify/notice"],
    ["password.confirm", "users", "confirm_password", "/confirm_password"],
  ])("S69 %s without the page that %s are sent to fails startup: %s", async (middleware, who, page, path) => {
    const login = who === "users" ? [Route.get("/login", () => "my login")] : [];
    await expect(testAccounts({ leftOut: all, routes: [...login, mine(middleware)] })).rejects.toThrow(
      `GET /mine: "${middleware}" sends ${who} of the guard "web" to the route "${page}" or to ${path}, and neither exists. ` +
        `Give a route this name, leave "${middleware}" out, or let this route answer with JSON: .respondsWithJson().`,
    );
  });

  test("S69 pages under other names fail startup with an error that names the setting", async () => {
    const konto = authRoutes(ACCOUNT_CONTROLLERS).prefix("/konto").name("my.");
    const problem = await testAccounts({ leftOut: all, routes: [...konto] }).catch(String);
    expect(problem).toContain('Write routes: "my." in GUARDS.web, for the route "my.login". Or give a route this name');
    class User extends FullUser {}
    const guards = { web: { model: User, routes: "my." } };
    const accounts = await testAccounts({ User, guards, leftOut: all, routes: [...konto, mine("auth")] });
    expect((await accounts.visitor().get("/mine")).headers.get("location")).toBe("/konto/login");
  });

  test("S69 the pages of another guard are not recommended", async () => {
    const admin = Route.get("/admin/login", () => "").name("admin.login");
    const guards = { admin: { driver: "web", model: AdminUser } };
    const booted = testAccounts({ guards, models: [AdminUser], leftOut: all, routes: [admin, mine("auth")] });
    await expect(booted).rejects.toThrow("neither exists. Give a route this name");
  });

  test("S69 a page can be on one host, or at a path with a parameter", async () => {
    const paths = [Route.get("/login", () => "").domain("accounts.example"), Route.get("/@page", () => "")];
    for (const login of paths) {
      await expect(testAccounts({ leftOut: all, routes: [login, mine("auth")] })).resolves.toBeDefined();
    }
  });

  test("S69 an application whose routes all respond with JSON needs no pages", async () => {
    const routes = [mine("auth", "verified", "password.confirm").respondsWithJson()];
    const accounts = await testAccounts({ leftOut: all, routes });
    expect(await accounts.visitor().get("/mine")).toMatchObject({ status: 401, body: { code: "E_UNAUTHENTICATED" } });
  });
});

describe("S69 logging out with one guard", () => {
  test("S69 keeps the identity that another guard's forms are bound to, and deletes everything else", async () => {
    const keep = Route.post("/keep", ({ session }) => {
      session.put("cart", "hers").flash("note", "hers");
      session.intend("/admin/orders", "admin");
      return { id: session.id };
    });
    const tell = Route.get("/tell", ({ session }) => ({
      id: session.id,
      all: session.all(),
      to: session.intended("-", "admin"),
    }));
    const accounts = await withAdmin([...ADMIN_ROUTES, keep, tell]);
    const visitor = accounts.visitor();
    const sent = { email: ADA.email, password: PASSWORD };
    await visitor.post("/login", sent);
    await visitor.post("/admin/login", sent);
    const { id } = (await visitor.post("/keep")).body as { id: string };
    await visitor.post("/logout");
    expect((await visitor.get("/tell")).body).toEqual({ id, all: { status: expect.any(String) }, to: "-" });
    expect((await visitor.get("/admin/orders")).body).toBe("the orders");
    expect((await visitor.get("/home")).headers.get("location")).toBe("/login");
    // When the last login ends, the identity ends too.
    await visitor.post("/admin/logout");
    expect(((await visitor.get("/tell")).body as { id: string }).id).not.toBe(id);
  });
});
