import { beforeEach, describe, expect, test } from "vitest";
import { CookieGuard, guardProvider, PeopleProvider, Person } from "../../../test/support/people.ts";
import { type Application, createApplication } from "../../boot/index.ts";
import { EventProvider } from "../../events/index.ts";
import type { HttpContext } from "../../http/index.ts";
import { HttpKernel, type RouteMiddleware } from "../../kernel/index.ts";
import { Route, type RouteEntry } from "../../routing/index.ts";
import { AuthProvider } from "../auth-provider.ts";
import {
  AuthenticationMiddleware,
  GuardMiddleware,
  LoadUserMiddleware,
} from "../requests/authentication-middleware.ts";

const PASSWORD = "correct horse battery";
const ADA = { id: 1, email: "ada@example.com" };
const BOB = { id: 2, email: "bob@example.com" };

class Robot extends Person {}

class Kernel extends HttpKernel {
  override routeMiddleware: RouteMiddleware = {
    web: [],
    auth: [AuthenticationMiddleware],
    guard: [GuardMiddleware],
    user: [LoadUserMiddleware],
  };
}

function boot(routes: readonly RouteEntry[], GUARDS: object = DEFAULT_GUARDS): Promise<Application> {
  return createApplication({
    routes,
    kernel: Kernel,
    providers: [EventProvider, AuthProvider, PeopleProvider],
    config: { auth: { GUARDS } },
    environment: { APP_ENV: "test" },
  });
}

const DEFAULT_GUARDS = { default: "web", web: { driver: "cookie", model: Person } };

/** An application with one route, which responds with the result of a function of the context. */
async function running(handler: (context: HttpContext) => unknown, ...middleware: string[]): Promise<Application> {
  return boot([Route.any("/", async (context) => ({ result: await handler(context) })).middleware(...middleware)]);
}

async function ask(application: Application, headers: Record<string, string> = {}): Promise<unknown> {
  const response = await application.fetch(new Request("http://localhost/", { headers }));
  const body = (await response.json()) as { readonly result?: unknown };
  return response.status === 200 ? body.result : body;
}

const seenUsers = async ({ auth, request }: HttpContext) => [await auth.user(), request.user()];

beforeEach(() => Person.populate(PASSWORD));

describe("user()", () => {
  test("returns the user of the default guard, and request.user() returns the same from then on", async () => {
    const application = await running(async ({ auth, request }) => [request.user(), await auth.user(), request.user()]);
    expect(await ask(application, { cookie: "person=1" })).toEqual([null, ADA, ADA]);
  });

  test("returns null for a guest", async () => {
    const application = await running(seenUsers);
    expect(await ask(application)).toEqual([null, null]);
    expect(await ask(application, { cookie: "person=99" })).toEqual([null, null]);
  });

  test("looks the user up once, even for repeated and concurrent calls", async () => {
    const application = await running(async ({ auth }) => {
      const users = await Promise.all([auth.user(), auth.user(), auth.guard("web").user(), auth.check()]);
      return [...users, await auth.user()];
    });
    expect(await ask(application, { cookie: "person=1" })).toEqual([ADA, ADA, ADA, true, ADA]);
    expect(Person.lookups).toEqual(["1"]);
  });

  test("looks up a user that does not exist only once too", async () => {
    const application = await running(async ({ auth }) => [await auth.user(), await auth.user(), await auth.check()]);
    expect(await ask(application, { cookie: "person=99" })).toEqual([null, null, false]);
    expect(Person.lookups).toEqual(["99"]);
  });

  test("runs no lookup if nothing requests the user", async () => {
    const application = await running(() => "hello");
    expect(await ask(application, { cookie: "person=1" })).toBe("hello");
    expect(Person.lookups).toEqual([]);
  });
});

describe("attempt()", () => {
  const attempt = (identifier: unknown, password: unknown) =>
    running(async ({ auth, request }) => [
      await auth.attempt(identifier, password),
      request.user(),
      await auth.user(),
      await auth.check(),
    ]);

  test("returns the user for the right identifier and password, who is then the request's, with one lookup", async () => {
    expect(await ask(await attempt("Ada@example.com", PASSWORD))).toEqual([ADA, ADA, ADA, true]);
    expect(Person.lookups).toEqual(["ada@example.com"]);
  });

  test("returns null for wrong ones, and the request keeps its user", async () => {
    const application = await attempt("ada@example.com", "wrong horse battery");
    expect(await ask(application)).toEqual([null, null, null, false]);
    expect(await ask(application, { cookie: "person=2" })).toEqual([null, null, BOB, true]);
  });

  test.each([[{ $ne: null }], [["ada@example.com"]], [1], [null]])(
    "S36 returns null for the identifier %j",
    async (it) => {
      expect(await ask(await attempt(it, PASSWORD))).toEqual([null, null, null, false]);
    },
  );

  test("persists the login only if it succeeds, and for longer if it is remembered", async () => {
    const application = await boot([
      Route.post("/", async ({ auth, request }) => {
        const { email, password, remember } = request.all();
        return { user: await auth.attempt(email, password, { remember: remember === true }) };
      }),
    ]);
    const post = async (body: object) => {
      const init = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
      return (await application.fetch(new Request("http://localhost/", init))).headers.getSetCookie();
    };
    expect(await post({ email: "ada@example.com", password: "wrong" })).toEqual([]);
    const [session] = await post({ email: "ada@example.com", password: PASSWORD });
    const [remembered] = await post({ email: "ada@example.com", password: PASSWORD, remember: true });
    expect([session, remembered]).toEqual([
      expect.not.stringContaining("Max-Age"),
      expect.stringMatching(/^person=1;.*Max-Age=86400/),
    ]);
  });
});

describe("attemptById(), loginAs(), once() and logout()", () => {
  test("a user is logged in by primary key, and the result is null if there isn't one", async () => {
    const application = await running(async ({ auth }) => [await auth.attemptById(2), await auth.attemptById(99)]);
    expect(await ask(application)).toEqual([BOB, null]);
  });

  test("a given user is logged in, replacing the previous one", async () => {
    const application = await running(async ({ auth, request }) => {
      const bob = (await Person.findByAuthId(2))!;
      return [await auth.user(), await auth.loginAs(bob), request.user(), await auth.user()];
    });
    expect(await ask(application, { cookie: "person=1" })).toEqual([ADA, BOB, BOB, BOB]);
  });

  test("once() persists nothing", async () => {
    const application = await running(async ({ auth, request }) => {
      auth.guard(auth.guardName).once((await Person.findByAuthId(2))!);
      return [request.user(), await auth.user()];
    });
    const response = await application.fetch(new Request("http://localhost/"));
    expect([await response.json(), response.headers.getSetCookie()]).toEqual([{ result: [BOB, BOB] }, []]);
  });

  test("S63 a response for a user who is put into the request is private, no-store, and varies otherwise", async () => {
    const application = await running(async ({ auth, request, response }) => {
      if (request.header("x-cached") !== null) response.header("cache-control", "max-age=60");
      auth.guard(auth.guardName).once((await Person.findByAuthId(2))!);
      return request.user();
    });
    const caching = async (headers: Record<string, string>) => {
      const response = await application.fetch(new Request("http://localhost/", { headers }));
      return [response.headers.get("cache-control"), response.headers.get("vary")];
    };
    expect(await caching({})).toEqual(["private, no-store", null]);
    expect(await caching({ "x-cached": "1" })).toEqual(["max-age=60", "cookie, authorization"]);
  });

  test("logout() leaves a guest", async () => {
    const application = await running(async ({ auth, request }) => {
      await auth.logout();
      return [request.user(), await auth.user(), await auth.check()];
    });
    expect(await ask(application, { cookie: "person=1" })).toEqual([null, null, false]);
  });

  test("logout() of a user that no longer exists still ends the login", async () => {
    const application = await running(({ auth }) => auth.logout());
    const response = await application.fetch(new Request("http://localhost/", { headers: { cookie: "person=99" } }));
    expect(response.headers.getSetCookie()).toEqual([expect.stringMatching(/^person=;.*Max-Age=0/)]);
  });

  test("a login that finishes while the user is looked up takes precedence", async () => {
    const application = await running(async ({ auth, request }) => {
      const lookup = auth.user();
      auth.guard(auth.guardName).once(new Person(Person.rows[1]!));
      return [await lookup, await auth.user(), request.user()];
    });
    expect(await ask(application, { cookie: "person=1" })).toEqual([BOB, BOB, BOB]);
  });

  test("S37 a user of another class is not accepted as one of the guard's", async () => {
    class Stranger extends Object {}
    const application = await running(async ({ auth }) => {
      return Promise.allSettled([
        auth.loginAs(new Stranger()),
        (async () => auth.guard(auth.guardName).once(new Stranger()))(),
      ]);
    });
    expect(await ask(application)).toEqual([
      { status: "rejected", reason: expect.objectContaining({ code: "E_INVALID_MODEL" }) },
      { status: "rejected", reason: expect.objectContaining({ code: "E_INVALID_MODEL" }) },
    ]);
  });

  test("throws an error that says so for an operation that a guard doesn't support", async () => {
    const application = await running(async ({ auth }) => {
      auth.guard("header");
      const outcomes = await Promise.allSettled([
        auth.attempt("ada@example.com", PASSWORD),
        auth.logout(),
        (async () => auth.logins())(),
        (async () => auth.webGuard.logoutOtherDevices(PASSWORD))(),
      ]);
      return outcomes.map((outcome) => (outcome.status === "rejected" ? outcome.reason.message : "fulfilled"));
    });
    expect(await ask(application)).toEqual([
      'The guard "header" cannot log users in or out.',
      'The guard "header" cannot log users in or out.',
      'The guard "header" does not keep logins: its driver is not web.',
      'The guard "header" does not keep logins: its driver is not web.',
    ]);
  });
});

/** A guard of the application. */
class BadgeGuard extends CookieGuard {
  override get challenge(): string {
    return 'Badge realm="the door"';
  }

  override get keepsLogins(): boolean {
    return this.context.request.header("x-keeps") !== null;
  }

  protected override retrieve(): ReturnType<CookieGuard["retrieve"]> {
    if (this.context.request.header("x-fails") !== null) return Promise.reject(new Error("The directory is down."));
    if (this.context.request.header("x-at-once") === null) return super.retrieve();
    Person.lookups.push("at once");
    return new Person(Person.rows[0]!);
  }
}

const BadgeProvider = guardProvider({ badge: BadgeGuard });

function withBadge(handler: (context: HttpContext) => unknown, ...middleware: string[]): Promise<Application> {
  return createApplication({
    routes: [
      Route.any("/", async (context) => ({ result: await handler(context) })).middleware(...middleware),
      Route.get("/enter", ({ auth }) => auth.redirectToIntended("home")),
      Route.get("/welcome", () => "welcome").name("home"),
    ],
    kernel: Kernel,
    providers: [EventProvider, AuthProvider, PeopleProvider, BadgeProvider],
    config: { auth: { GUARDS: { ...DEFAULT_GUARDS, badge: { model: Person } } } },
    environment: { APP_ENV: "test" },
  });
}

describe("an application's own guard", () => {
  test("responds to a guest who wants JSON with a challenge for its proof", async () => {
    const headers = { accept: "application/json" };
    const challenged = async (middleware: string) => {
      const application = await withBadge(() => "secret", middleware);
      const response = await application.fetch(new Request("http://localhost/", { headers }));
      return [response.status, response.headers.get("www-authenticate")];
    };
    expect(await challenged("auth:badge")).toEqual([401, 'Badge realm="the door"']);
    expect(await challenged("auth:header")).toEqual([401, null]);
  });

  test("is asked only once, even if it knows its user immediately", async () => {
    const application = await withBadge(({ auth }) => {
      const guard = auth.guard("badge");
      return Promise.all([guard.user(), guard.user(), guard.check()]);
    });
    expect(await ask(application, { "x-at-once": "1" })).toEqual([ADA, ADA, true]);
    expect(Person.lookups).toEqual(["at once"]);
  });

  test.each<[string, Record<string, string>, string | null, string | null]>([
    ["a user", { cookie: "person=1" }, "private, no-store", "cookie, authorization"],
    ["a user who is known immediately", { "x-at-once": "1" }, "private, no-store", "cookie, authorization"],
    ["a guest, if the browser keeps logins,", { "x-keeps": "1" }, null, "cookie"],
    [
      "a guest of an unknown name, if the browser keeps logins,",
      { cookie: "person=99", "x-keeps": "1" },
      null,
      "cookie",
    ],
    ["any other guest", {}, null, "authorization"],
    ["any other guest of an unknown name", { cookie: "person=99" }, null, "authorization"],
  ])("S63 sets the cache headers that fit a response to %s", async (_, headers, control, vary) => {
    const application = await withBadge(({ auth, request, response }) => {
      if (request.header("x-cached") !== null) response.header("cache-control", "max-age=60");
      return auth.guard("badge").user();
    });
    const caching = async (sent: Record<string, string>) => {
      const response = await application.fetch(new Request("http://localhost/", { headers: sent }));
      return [response.headers.get("cache-control"), response.headers.get("vary")];
    };
    expect(await caching(headers)).toEqual([control, control === null ? vary : null]);
    // The handler's own cache headers take precedence.
    expect(await caching({ ...headers, "x-cached": "1" })).toEqual(["max-age=60", vary]);
  });

  test("that fails to identify its user counts as one without a user when another guard asks", async () => {
    const application = await withBadge(({ auth }) => {
      return Promise.all(["web", "badge"].map((name) => auth.isLoggedInElsewhere(name)));
    });
    expect(await ask(application, { cookie: "person=1" })).toEqual([false, false]);
    expect(await ask(application, { cookie: "person=1", "x-keeps": "1" })).toEqual([true, false]);
    expect(await ask(application, { cookie: "person=99", "x-keeps": "1" })).toEqual([false, false]);
    expect(await ask(application, { cookie: "person=1", "x-keeps": "1", "x-fails": "1" })).toEqual([false, false]);
  });
});

test("without sessions, a login leads to the named page", async () => {
  const application = await withBadge(() => null);
  const { status, headers } = await application.fetch(new Request("http://localhost/enter"));
  expect([status, headers.get("location")]).toEqual([302, "/welcome"]);
});

test("a user who is not admitted is refused as if the password were wrong", async () => {
  const application = await running(({ auth }) => auth.attempt("ada@example.com", PASSWORD));
  const guards = application.container.make("auth");
  const told: unknown[] = [];
  const events = application.container.make("events");
  events.on("auth.failed", ({ identifier }) => void told.push(identifier));
  expect([guards.admits(new Person(Person.rows[0]!)), await ask(application)]).toEqual([true, ADA]);
  guards.refuseUsers((user) => (user as Person).authId() === ADA.id);
  expect([guards.admits(new Person(Person.rows[0]!)), await ask(application)]).toEqual([false, null]);
  await events.settled();
  expect(told).toEqual(["ada@example.com"]);
});

describe("guard()", () => {
  test("makes another guard the active one for the rest of the request", async () => {
    const application = await running(async ({ auth, request }) => {
      const before = [auth.guardName, await auth.user(), request.user()];
      const guard = auth.guard("header");
      return [...before, auth.guardName, request.user(), await guard.user(), request.user(), await auth.user()];
    });
    const headers = { cookie: "person=1", "x-person": "2" };
    expect(await ask(application, headers)).toEqual(["web", ADA, ADA, "header", null, BOB, BOB, BOB]);
  });

  test("switching back and forth asks each guard once", async () => {
    const application = await running(async ({ auth, request }) => {
      for (const name of ["header", "web", "header", "web"]) await auth.guard(name).user();
      return request.user();
    });
    expect(await ask(application, { cookie: "person=1", "x-person": "2" })).toEqual(ADA);
    expect(Person.lookups).toEqual(["2", "1"]);
  });

  test("a guard that is no longer active does not change request.user()", async () => {
    const application = await running(async ({ auth, request }) => {
      const web = auth.guard("web");
      await auth.guard("header").user();
      return [await web.user(), request.user()];
    });
    expect(await ask(application, { cookie: "person=1", "x-person": "2" })).toEqual([ADA, BOB]);
  });

  test("throws an error for an unknown name, and changes nothing", async () => {
    const application = await running(async ({ auth }) => {
      try {
        auth.guard("haeder");
      } catch (error) {
        return [(error as Error).message, auth.guardName];
      }
      return null;
    });
    expect(await ask(application)).toEqual(['No guard is named "haeder". Did you mean "header"?', "web"]);
  });
});

describe("middleware", () => {
  test("guard:<name> makes the guard the active one and loads its user", async () => {
    const application = await running(({ auth, request }) => [auth.guardName, request.user()], "guard:header");
    expect(await ask(application, { "x-person": "2" })).toEqual(["header", BOB]);
  });

  test("guard:<name> continues without a promise if the guard knows its user", async () => {
    const application = await running(async (context) => {
      await context.auth.guard("header").user();
      return new GuardMiddleware(application.container).handle(context, () => "next", "header") === "next";
    });
    expect(await ask(application, { "x-person": "2" })).toBe(true);
  });

  test("guard:<name> refuses no request", async () => {
    const application = await running(({ auth, request }) => [auth.guardName, request.user()], "guard:header");
    expect(await ask(application, { cookie: "person=1" })).toEqual(["header", null]);
  });

  test.each([
    ["before", ["user", "guard:header"]],
    ["after", ["guard:header", "user"]],
  ])("LoadUserMiddleware %s guard:<name> has the same user", async (_, middleware) => {
    const application = await running(({ request }) => request.user(), ...middleware);
    expect(await ask(application, { "x-person": "2" })).toEqual(BOB);
    expect(await ask(application, { cookie: "person=1", "x-person": "2" })).toEqual(BOB);
    expect(await ask(application, { cookie: "person=1" })).toBeNull();
  });

  test("auth loads the user and lets the request through", async () => {
    const application = await running(({ request }) => request.user(), "auth");
    expect(await ask(application, { cookie: "person=1" })).toEqual(ADA);
    expect(Person.lookups).toEqual(["1"]);
  });

  test("auth:<name> asks the named guard", async () => {
    const application = await running(({ auth, request }) => [auth.guardName, request.user()], "auth:header");
    expect(await ask(application, { "x-person": "2" })).toEqual(["header", BOB]);
    expect(await ask(application, { cookie: "person=1", accept: "application/json" })).toMatchObject({ status: 401 });
  });

  test("auth sends a guest who wants a page to /login", async () => {
    const application = await running(() => "secret", "auth");
    const response = await application.fetch(new Request("http://localhost/", { headers: { accept: "text/html" } }));
    expect([response.status, response.headers.get("location")]).toEqual([302, "/login"]);
  });

  test("auth responds to a guest who wants JSON with a problem document", async () => {
    const application = await running(() => "secret", "auth");
    const headers = { accept: "application/json" };
    const response = await application.fetch(new Request("http://localhost/", { headers }));
    expect([response.status, response.headers.get("content-type")]).toEqual([401, "application/problem+json"]);
    expect(await response.json()).toEqual({
      type: "about:blank",
      title: "Unauthorized",
      status: 401,
      detail: "Authentication is required.",
      code: "E_UNAUTHENTICATED",
    });
  });

  test.each([
    ["guard:haeder", 'No guard is named "haeder". Did you mean "header"?'],
    ["guard", "takes the name of one guard"],
    ["guard:web,header", "takes the name of one guard"],
    ["auth:haeder", 'No guard is named "haeder". Did you mean "header"?'],
    ["auth:web,header", "takes the name of at most one guard"],
  ])("%s makes startup fail", async (middleware, message) => {
    const booting = boot([Route.get("/", () => "").middleware(middleware)]);
    await expect(booting).rejects.toMatchObject({ code: "E_UNKNOWN_GUARD", message: expect.stringContaining(message) });
  });

  test("a guard that cannot be created makes startup fail if the application uses guards", async () => {
    const booting = boot([Route.get("/", () => "").middleware("guard:web")], { web: { driver: "nfc", model: Robot } });
    await expect(booting).rejects.toMatchObject({ code: "E_INVALID_CONFIGURATION" });
  });
});

describe("events", () => {
  test("S47 a login, a failure and a logout are announced with time, user, address and guard, and without any secret", async () => {
    const application = await running(async ({ auth }) => {
      await auth.attempt("ada@example.com", PASSWORD);
      await auth.logout();
      await auth.attempt("Ada@example.com", "wrong horse battery");
      await auth.attempt("nobody@example.com", "wrong horse battery");
      await auth.attempt("correct horse battery", "ada@example.com");
      await auth.attemptById(99);
    });
    const events = application.container.make("events");
    const told: unknown[] = [];
    for (const name of ["auth.login", "auth.failed", "auth.logout"] as const) {
      events.on(name, (payload) => told.push([name, payload]));
    }
    await ask(application);
    await events.settled();
    const common = { time: expect.any(Date), address: null, guard: "web" };
    const ada = expect.objectContaining({ row: expect.objectContaining({ id: 1 }) });
    expect(told).toEqual([
      ["auth.login", { ...common, user: ada, by: ["password"] }],
      ["auth.logout", { ...common, user: ada }],
      ["auth.failed", { ...common, user: ada, identifier: "ada@example.com", by: "password" }],
      ["auth.failed", { ...common, user: null, identifier: "nobody@example.com", by: "password" }],
      // Text that is not an address may be a password typed into the wrong field.
      ["auth.failed", { ...common, user: null, identifier: null, by: "password" }],
      ["auth.failed", { ...common, user: null, identifier: null, by: null }],
    ]);
  });

  test("an application without events can log users in too", async () => {
    const application = await createApplication({
      routes: [Route.get("/", ({ auth }) => auth.attempt("ada@example.com", PASSWORD))],
      kernel: Kernel,
      providers: [AuthProvider, PeopleProvider],
      config: { auth: { GUARDS: DEFAULT_GUARDS } },
      environment: { APP_ENV: "test" },
    });
    const response = await application.fetch(new Request("http://localhost/"));
    expect(await response.json()).toEqual(ADA);
  });
});
