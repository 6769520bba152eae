import { expect, onTestFinished, test } from "vitest";
import { ADA, AdminUser, PASSWORD, testAccounts, type Visitor } from "../../../test/support/account-application.ts";
import { ACCOUNT_CONTROLLERS } from "../../../test/support/account-controllers.ts";
import { HeaderGuard, PeopleProvider } from "../../../test/support/people.ts";
import { createApplication, createLogger, Provider } from "../../boot/index.ts";
import { HttpKernel, type MiddlewareEntry, type RouteMiddleware } from "../../kernel/index.ts";
import { Route, type RouteEntry } from "../../routing/index.ts";
import { Csrf, SessionMiddleware, SessionProvider, VerifyCsrfToken } from "../../session/index.ts";
import { authRoutes } from "../accounts/pages/auth-routes.ts";
import { AuthProvider } from "../auth-provider.ts";
import { LoadUserMiddleware } from "./authentication-middleware.ts";

class AdminHomeController {
  show(): string {
    return "the administration";
  }
}

class BadgeProvider extends Provider {
  override boot(): void {
    this.application.container.make("auth").registerDriver(
      "badge",
      ({ name, model }) =>
        (context) =>
          new HeaderGuard(name, context, model),
    );
  }
}

const WIDE = { buckets: [{ by: ["address"], attempts: 100, windowSeconds: 60 }] };

const form = (path: string, ...middleware: string[]) => Route.post(path, () => "done").middleware(...middleware);

/** Logs in with the named guard, without a form. */
const ENTER: RouteEntry = Route.get("/enter", async ({ auth, request }) => {
  auth.guard(request.input("guard") as string);
  await auth.attempt(ADA.email, PASSWORD);
  return "";
});

const ROUTES: readonly RouteEntry[] = [
  ...authRoutes({ ...ACCOUNT_CONTROLLERS, home: AdminHomeController }, { guard: "admin" }).prefix("/admin"),
  ENTER,
  Route.get("/status", ({ session }) => ({ status: session.get("status") })),
  Route.get("/intended", ({ session }) => {
    const [web, admin] = [session.intended("-"), session.intended("-", "admin")];
    return { web: web === "-" ? null : web, admin: admin === "-" ? null : admin };
  }),
  Route.get("/token", (context) => Csrf.token(context)),
  form("/anything"),
  form("/orders", "auth"),
  form("/keys", "password.confirm"),
  form("/letters", "verified"),
  form("/admin/orders", "auth:admin"),
  form("/admin/keys", "guard:admin", "password.confirm"),
  form("/admin/counted", "throttle:admin", "auth"),
  form("/badge/orders", "auth:badge"),
  form("/mixed/orders", "auth:admin", "auth:badge"),
];

// Middleware that does not declare that it can do without the body runs after the body was read, so the token is
// checked before the user.
const first: MiddlewareEntry = (_context, next) => next();
const MIDDLEWARE: RouteMiddleware = { web: [first, SessionMiddleware, VerifyCsrfToken, LoadUserMiddleware] };

async function application(middleware: RouteMiddleware = {}, routes: readonly RouteEntry[] = ROUTES) {
  class Admin extends AdminUser {}
  return testAccounts({
    guards: { admin: { driver: "web", model: Admin }, badge: { driver: "badge", model: Admin } },
    models: [Admin],
    routes,
    providers: [BadgeProvider],
    throttle: { login: WIDE, admin: WIDE },
    middleware: { ...MIDDLEWARE, ...middleware },
  });
}

/** The results of forms without the session's token: the redirect target, or the status if there was no redirect. */
async function leads(visitor: Visitor, ...paths: readonly string[]): Promise<unknown> {
  const led: Record<string, unknown> = {};
  for (const path of paths) {
    const { status, headers } = await visitor.post(path);
    led[path] = headers.get("location") ?? status;
  }
  return led;
}

test("S26 an outdated form for guests leads to the home page, and one for users to the login of its guard", async () => {
  const accounts = await application();
  const paths = ["/login", "/register", "/logout", "/admin/login", "/admin/register", "/admin/logout"];
  const [guest, user, admin] = [accounts.visitor(), accounts.visitor(), accounts.visitor()];
  await user.get("/enter?guard=web");
  await admin.get("/enter?guard=admin");
  expect(await leads(guest, ...paths)).toEqual({
    "/login": 419,
    "/register": 419,
    "/logout": "/login",
    "/admin/login": 419,
    "/admin/register": 419,
    "/admin/logout": "/admin/login",
  });
  expect(await leads(user, ...paths)).toEqual({
    "/login": "/home",
    "/register": "/home",
    "/logout": 419,
    "/admin/login": 419,
    "/admin/register": 419,
    "/admin/logout": "/admin/login",
  });
  expect(await leads(admin, ...paths)).toEqual({
    "/login": 419,
    "/register": 419,
    "/logout": "/login",
    "/admin/login": "/admin/home",
    "/admin/register": "/admin/home",
    "/admin/logout": 419,
  });
  // None of them had an effect.
  expect((await user.get("/me")).body).toMatchObject({ user: { id: ADA.id } });
  expect((await accounts.rows("logins")).map(({ guard }) => guard).toSorted()).toEqual(["admin", "web"]);
});

test("S26 if guards share their pages, a form belongs to the active guard", async () => {
  const chosen: MiddlewareEntry = (context, next) => {
    context.auth.guard("admin");
    return next();
  };
  const accounts = await application({ web: [chosen, SessionMiddleware, VerifyCsrfToken] }, [ENTER]);
  const [user, admin] = [accounts.visitor(), accounts.visitor()];
  await user.get("/enter?guard=web");
  await admin.get("/enter?guard=admin");
  expect(await leads(user, "/login", "/logout")).toEqual({ "/login": 419, "/logout": "/login" });
  expect(await leads(admin, "/login", "/logout")).toEqual({ "/login": "/home", "/logout": 419 });
});

test("S26 if tokens are checked around all routes, with one guard, a form without a route is refused like any other", async () => {
  class Kernel extends HttpKernel {
    override httpMiddleware = [SessionMiddleware, VerifyCsrfToken];
    override routeMiddleware: RouteMiddleware = { web: [] };
  }
  const problems: string[] = [];
  const settings = { name: "test", environment: "test", log: { level: "error", requests: false } } as const;
  const own = await createApplication({
    kernel: Kernel,
    routes: [Route.post("/logout", () => "done").name("logout")],
    providers: [SessionProvider, AuthProvider, PeopleProvider],
    environment: { APP_ENV: "test", APP_KEY: "k3Vw9qLz7Rt2Xn8Bc5Mf1Hd6Js4Pg0YaQeTuIoWi" },
    logger: createLogger(settings, { write: (line) => void problems.push(line) }),
  });
  onTestFinished(() => own.shutdown());
  const post = (path: string) => {
    return own.fetch(new Request(`http://localhost${path}`, { method: "POST", headers: { accept: "text/html" } }));
  };
  expect((await post("/nowhere")).status).toBe(419);
  expect((await post("/logout")).headers.get("location")).toBe("/login");
  expect(problems).toEqual([]);
});

test("S26 the visitor sees a message that the form was not submitted", async () => {
  const accounts = await application();
  const said = { status: "You were already logged in, so the form was not submitted." };
  for (const form of ["/login", "/register"]) {
    const visitor = accounts.visitor();
    await visitor.get("/enter?guard=web");
    await leads(visitor, "/logout", form);
    expect((await visitor.get("/status")).body).toEqual(said);
  }
});

test("S26 an outdated form for guests leads to the page that the visitor wanted", async () => {
  const accounts = await application();
  const visitor = accounts.visitor();
  await visitor.post("/orders", {}, { referer: "https://shop.example/status?page=2" });
  await visitor.get("/enter?guard=web");
  expect(await leads(visitor, "/login", "/register")).toEqual({ "/login": "/status?page=2", "/register": "/home" });
});

test("any other form of a route for users leads a guest to the login of the guard that the route uses", async () => {
  const accounts = await application();
  const paths = ["/orders", "/keys", "/letters", "/admin/orders", "/admin/keys", "/admin/counted", "/mixed/orders"];
  const [guest, user, admin] = [accounts.visitor(), accounts.visitor(), accounts.visitor()];
  await user.get("/enter?guard=web");
  await admin.get("/enter?guard=admin");
  const web = { "/orders": "/login", "/keys": "/login", "/letters": "/login", "/admin/counted": "/login" };
  const own = { "/admin/orders": "/admin/login", "/admin/keys": "/admin/login", "/mixed/orders": "/admin/login" };
  const each = (value: unknown, of: object) => Object.fromEntries(Object.keys(of).map((path) => [path, value]));
  expect(await leads(guest, ...paths)).toEqual({ ...web, ...own });
  expect(await leads(user, ...paths)).toEqual({ ...each(419, web), ...own });
  expect(await leads(admin, ...paths)).toEqual({ ...web, ...each(419, own) });
  // A guard that identifies users in another way has no logins that could have ended, and other routes require no user.
  for (const visitor of [guest, user, admin]) {
    expect(await leads(visitor, "/anything", "/badge/orders")).toEqual({ "/anything": 419, "/badge/orders": 419 });
  }
});

test("a form that leads to the login leads back to its page, for the guard of that login", async () => {
  const accounts = await application();
  for (const [path, scope] of [
    ["/orders", null],
    ["/admin/orders", "admin"],
  ] as const) {
    const visitor = accounts.visitor();
    await visitor.post(path, {}, { referer: "https://shop.example/status?page=2" });
    const { body } = await visitor.get("/intended");
    expect(body).toEqual({ web: null, admin: null, [scope ?? "web"]: "/status?page=2" });
  }
});

test("the login page says that a form was not submitted, with or without its token, but nothing after other requests", async () => {
  const accounts = await application();
  const said = "You were logged out, so the form was not submitted. Log in, and submit it again.";
  const statusAfter = async (method: "GET" | "POST", path: string, input: object = {}, headers: object = {}) => {
    const visitor = accounts.visitor();
    const token = (await visitor.get("/token")).body;
    const sent = { __token: token, ...input };
    const { status } = method === "GET" ? await visitor.get(path) : await visitor.post(path, sent, { ...headers });
    return [status, ((await visitor.get("/status")).body as { status?: string }).status ?? null];
  };
  for (const path of ["/orders", "/keys", "/letters", "/admin/orders"]) {
    expect([path, await statusAfter("POST", path)]).toEqual([path, [302, said]]);
    expect([path, await statusAfter("POST", path, { __token: "stale" })]).toEqual([path, [302, said]]);
  }
  const script = { "sec-fetch-dest": "empty", "sec-fetch-mode": "cors" };
  expect(await statusAfter("POST", "/orders", {}, script)).toEqual([302, null]);
  expect(await statusAfter("POST", "/anything", { __token: "stale" })).toEqual([419, null]);
  expect(await statusAfter("POST", "/logout", { __token: "stale" })).toEqual([302, null]);
  for (const path of ["/home", "/account/password"]) expect(await statusAfter("GET", path)).toEqual([302, null]);
});

test("an application's own middleware may be called auth, and take any argument", async () => {
  const own: RouteMiddleware = { auth: [(_context, next) => next()] };
  const accounts = await application(own, [form("/own", "auth:everyone"), form("/admin/own", "auth:admin")]);
  expect(await leads(accounts.visitor(), "/own", "/admin/own")).toEqual({ "/own": "/login", "/admin/own": "/login" });
});
