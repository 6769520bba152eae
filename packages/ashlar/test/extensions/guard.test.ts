import { beforeEach, describe, expect, test } from "vitest";
import {
  type Authenticatable,
  AuthenticationMiddleware,
  AuthProvider,
  ConfirmPasswordMiddleware,
  type Guard,
  GuardMiddleware,
  LoadUserMiddleware,
  RequestGuard,
  VerifiesEmailMiddleware,
} from "../../src/public/auth.ts";
import {
  type Application,
  createApplication,
  type HttpContext,
  HttpKernel,
  Provider,
  Route,
} from "../../src/public/index.ts";
import { Person } from "../support/people.ts";

/** An application's own guard, from the interface alone: it identifies a sensor by its header. */
class SensorGuard implements Guard {
  readonly name: string;
  readonly challenge = "Sensor";
  readonly keepsLogins = false;
  knownUser: object | null = null;
  readonly #context: HttpContext;

  constructor(name: string, context: HttpContext) {
    this.name = name;
    this.#context = context;
  }

  async user(): Promise<object | null> {
    const id = this.#context.request.header("x-sensor");
    if (id !== null) this.once((await Person.findByAuthId(id))!);
    return this.knownUser;
  }

  async check(): Promise<boolean> {
    return (await this.user()) !== null;
  }

  once(user: object): void {
    this.knownUser = user;
    this.#context.currentUser = user;
  }
}

/** A thenable that is not a promise, as query builders return it. */
function later<Value>(value: () => Promise<Value>): Promise<Value> {
  // biome-ignore lint/suspicious/noThenProperty: that is what such a value is
  const query: PromiseLike<Value> = { then: (done, failed) => value().then(done, failed) };
  return query as Promise<Value>;
}

/** The same from an interface's implementation that returns its query. */
class QueryGuard extends SensorGuard {
  override user(): Promise<object | null> {
    return later(() => super.user());
  }
}

/** The same on the framework's own class. */
class BadgeGuard extends RequestGuard {
  protected override retrieve(): Promise<Authenticatable | null> {
    return later(async () => {
      const id = this.context.request.header("x-sensor");
      return id === null ? null : await Person.findByAuthId(id);
    });
  }
}

class SensorProvider extends Provider {
  override boot(): void {
    const guards = this.application.container.make("auth");
    guards.registerDriver(
      "sensor",
      ({ name }) =>
        (context) =>
          new SensorGuard(name, context),
      Person,
    );
    guards.registerDriver(
      "query",
      ({ name }) =>
        (context) =>
          new QueryGuard(name, context),
      Person,
    );
    guards.registerDriver(
      "badge",
      ({ name }) =>
        (context) =>
          new BadgeGuard(name, context, Person),
      Person,
    );
  }
}

class Kernel extends HttpKernel {
  override routeMiddleware = {
    web: [],
    auth: [AuthenticationMiddleware],
    guard: [GuardMiddleware],
    user: [LoadUserMiddleware],
    verified: [VerifiesEmailMiddleware],
    "password.confirm": [ConfirmPasswordMiddleware],
  };
}

const answer = ({ auth, request }: HttpContext) => ({ guard: auth.guardName, user: request.user() });
const route = (path: string, ...middleware: string[]) => Route.get(path, answer).middleware(...middleware);

function boot(): Promise<Application> {
  return createApplication({
    kernel: Kernel,
    providers: [AuthProvider, SensorProvider],
    config: { auth: { GUARDS: { default: "sensor" } } },
    routes: [
      route("/auth", "auth"),
      route("/auth-sensor", "auth:sensor"),
      route("/auth-query", "auth:query"),
      route("/auth-badge", "auth:badge"),
      route("/guard", "guard:sensor"),
      route("/user", "user"),
      route("/verified", "verified"),
      route("/confirmed", "password.confirm"),
      Route.post("/logout", ({ auth }) => auth.logout()),
    ],
    environment: { APP_ENV: "test" },
  });
}

const ADA = { id: 1, email: "ada@example.com" };

beforeEach(() => Person.populate("correct horse battery"));

describe("an application's own guard", () => {
  const ask = async (path: string, headers: Record<string, string> = {}, method = "GET") => {
    const application = await boot();
    const request = new Request(`http://localhost${path}`, {
      method,
      headers: { accept: "application/json", ...headers },
    });
    const response = await application.fetch(request);
    const body = (await response.json()) as { readonly code?: string; readonly user?: unknown };
    return [response.status, body.code ?? body.user, response.headers.get("www-authenticate")];
  };

  test.each(["/auth", "/auth-sensor", "/guard", "/user"])("returns its user on %s", async (path) => {
    expect(await ask(path, { "x-sensor": "1" })).toEqual([200, ADA, null]);
  });

  test.each<[string, unknown[]]>([
    ["/auth", [401, "E_UNAUTHENTICATED", "Sensor"]],
    ["/auth-sensor", [401, "E_UNAUTHENTICATED", "Sensor"]],
    ["/guard", [200, null, null]],
    ["/user", [200, null, null]],
    ["/verified", [401, "E_UNAUTHENTICATED", "Sensor"]],
    ["/confirmed", [401, "E_UNAUTHENTICATED", "Sensor"]],
  ])("responds on %s without a user", async (path, expected) => {
    expect(await ask(path)).toEqual(expected);
  });

  test.each(["query", "badge"])("may return a thenable that is not a promise: %s", async (name) => {
    expect(await ask(`/auth-${name}`)).toEqual([401, "E_UNAUTHENTICATED", expect.toBeOneOf(["Sensor", null])]);
    expect((await ask(`/auth-${name}`, { "x-sensor": "1" }))[0]).toBe(200);
  });

  test.each<[string, string, unknown[]]>([
    ["GET", "/verified", [403, "E_FORBIDDEN", null]],
    ["GET", "/confirmed", [500, "E_UNSUPPORTED_GUARD_OPERATION", null]],
    ["POST", "/logout", [500, "E_UNSUPPORTED_GUARD_OPERATION", null]],
  ])("causes errors for operations it does not support: %s %s", async (method, path, expected) => {
    expect(await ask(path, { "x-sensor": "1" }, method)).toEqual(expected);
  });
});
