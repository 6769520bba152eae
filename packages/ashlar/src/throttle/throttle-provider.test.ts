import { describe, expect, test } from "vitest";
import { AuthProvider } from "../auth/index.ts";
import { type Application, type ApplicationOptions, createApplication } from "../boot/index.ts";
import { EventProvider } from "../events/index.ts";
import { HttpKernel, type RouteMiddleware } from "../kernel/index.ts";
import { Route } from "../routing/index.ts";
import type { LockoutEvent } from "./events.ts";
import { Throttle, ThrottleMiddleware, ThrottleProvider, type ThrottleSettings } from "./index.ts";

class Kernel extends HttpKernel {
  override routeMiddleware: RouteMiddleware = { web: [], api: [], throttle: [ThrottleMiddleware] };
}

const THROTTLE = {
  limits: {
    login: {
      account: "email",
      buckets: [
        { by: ["account", "address"], attempts: 3, windowSeconds: 60 },
        { by: ["address"], attempts: 6, windowSeconds: 60 },
      ],
    },
  },
} satisfies ThrottleSettings;

function create(options: ApplicationOptions = {}): Promise<Application> {
  return createApplication({
    kernel: Kernel,
    providers: [EventProvider, ThrottleProvider],
    environment: { APP_ENV: "test" },
    config: { throttle: { THROTTLE } },
    routes: [
      Route.post("/login", () => "welcome").middleware("throttle:login"),
      Route.get("/", ({ throttle }) => String(throttle instanceof Throttle)),
    ],
    ...options,
  });
}

interface Attempt {
  readonly path?: string;
  readonly email?: unknown;
  readonly ip?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent instead of the JSON with the email address. */
  readonly body?: ReadableStream;
}

async function post(application: Application, attempt: Attempt = {}): Promise<Response> {
  const { path = "/login", email = "ann@example.com", ip = "203.0.113.7", headers = {}, body } = attempt;
  const request = new Request(`http://localhost${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: body ?? JSON.stringify({ email }),
    duplex: "half",
  });
  Object.defineProperty(request, "ip", { value: ip });
  return application.fetch(request);
}

async function statuses(application: Application, attempts: readonly Attempt[]): Promise<number[]> {
  const found: number[] = [];
  for (const attempt of attempts) found.push((await post(application, attempt)).status);
  return found;
}

describe("ThrottleMiddleware", () => {
  test("S33 responds with 429 and Retry-After, as a problem document if JSON is wanted", async () => {
    const application = await create();
    expect(await statuses(application, [{}, {}, {}])).toEqual([200, 200, 200]);
    const refused = await post(application, { headers: { accept: "application/json" } });
    const seconds = Number(refused.headers.get("retry-after"));
    expect([seconds > 55 && seconds <= 60, refused.status]).toEqual([true, 429]);
    expect(refused.headers.get("content-type")).toBe("application/problem+json");
    expect(await refused.json()).toMatchObject({
      status: 429,
      code: "E_TOO_MANY_REQUESTS",
      detail: `Too many attempts. Try again in ${seconds} seconds.`,
    });
  });

  test("S33 responds with 429 and Retry-After as a page otherwise", async () => {
    const application = await create();
    await statuses(application, [{}, {}, {}]);
    const refused = await post(application, { headers: { accept: "text/html" } });
    expect([refused.status, refused.headers.has("retry-after")]).toEqual([429, true]);
    expect(refused.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(await refused.text()).toContain("Too many attempts.");
  });

  test("a refusal that affects everyone at an address says so on the page and in JSON, in the visitor's language", async () => {
    const application = await create({ config: { throttle: { THROTTLE }, app: { APP: { languages: ["de"] } } } });
    for (let attempt = 0; attempt < 6; attempt++) await post(application, { email: `user${attempt}@example.com` });
    const detail = async (headers: Readonly<Record<string, string>>) => (await post(application, { headers })).text();
    const english = "Too many attempts came from your network or address, perhaps from other people there.";
    const german = "Aus Ihrem Netzwerk oder von Ihrer Adresse kamen zu viele Versuche";
    expect(await detail({ accept: "application/json" })).toContain(`"detail":"${english}`);
    expect(await detail({ accept: "application/json", "accept-language": "de" })).toContain(`"detail":"${german}`);
    expect(await detail({ accept: "text/html" })).toContain(english);
    expect(await detail({ accept: "text/html", "accept-language": "de" })).toContain(german);
  });

  test("the headers are on every response, including the refusal", async () => {
    const application = await create();
    const answers = [];
    for (let attempt = 0; attempt < 4; attempt++) answers.push(await post(application));
    expect(answers.map(({ headers }) => headers.get("ratelimit")?.replaceAll(/t=\d+/g, "t"))).toEqual([
      '"login-address";r=5;t, "login";r=2;t',
      '"login-address";r=4;t, "login";r=1;t',
      '"login-address";r=3;t, "login";r=0;t',
      '"login-address";r=2;t, "login";r=0;t',
    ]);
    for (const { headers } of answers) {
      expect(headers.get("ratelimit-policy")).toBe('"login-address";q=6;w=60, "login";q=3;w=60');
    }
  });

  test("S33 by address alone: different accounts in turn", async () => {
    const application = await create();
    const attempts = Array.from({ length: 8 }, (_, index) => ({ email: `user${index}@example.com` }));
    expect(await statuses(application, attempts)).toEqual([200, 200, 200, 200, 200, 200, 429, 429]);
    expect(await statuses(application, [{ ip: "203.0.113.8" }])).toEqual([200]);
  });

  test("S53 with `user`, no input decides whose attempts are counted", async () => {
    const routes = [Route.post("/login", () => "welcome").middleware("throttle:login,user")];
    const application = await create({ routes });
    // In the query, which is available before the body.
    const attempts = Array.from({ length: 5 }, (_, index) => ({ path: `/login?email=user${index}@example.com` }));
    expect(await statuses(application, attempts)).toEqual([200, 200, 200, 429, 429]);
  });

  test.each([
    ["throttle:uploads", 0],
    ["throttle:login,user", 0],
    ["throttle:login", 1],
  ])("S61 %s refuses without the body, unless one of its inputs says whose attempt it is", async (use, reads) => {
    const buckets = [{ by: ["account", "address"] as const, attempts: 1, windowSeconds: 60 }];
    const limits = { login: { account: "email", buckets }, uploads: { buckets } };
    const routes = [Route.post("/login", () => "welcome").middleware(use)];
    const application = await create({ routes, config: { throttle: { THROTTLE: { limits } } } });
    const send = async () => {
      let read = 0;
      const pull = (controller: ReadableStreamDefaultController) => {
        read++;
        controller.enqueue(Buffer.from('{"email":"ann@example.com"}'));
        controller.close();
      };
      const { status } = await post(application, { body: new ReadableStream({ pull }, { highWaterMark: 0 }) });
      return { status, read };
    };
    expect([await send(), await send()]).toEqual([
      { status: 200, read: 1 },
      { status: 429, read: reads },
    ]);
  });

  test("S30 S33 another spelling of the path does not get separate attempts", async () => {
    const application = await create();
    await statuses(application, [{}, {}, {}]);
    const paths = [
      "/login",
      "/login/",
      "//login",
      "/LOGIN",
      "/%6cogin",
      "/login?x=1",
      "/./login",
      "/x/../login",
      "/login%2f",
    ];
    for (const path of paths) {
      const { status } = await post(application, { path });
      expect([404, 429], path).toContain(status);
    }
    expect((await post(application, { path: "/login/" })).status).toBe(429);
    expect((await post(application, { path: "/login?email=bob@example.com" })).status).toBe(429);
  });

  test("S33 X-Forwarded-For counts only from trusted proxies", async () => {
    const forwarded = (address: string) => ({ "x-forwarded-for": address });
    const application = await create({
      config: { throttle: { THROTTLE }, app: { APP: { trustedProxies: ["10.0.0.0/8"] } } },
    });
    const stranger = Array.from({ length: 4 }, (_, index) => ({ headers: forwarded(`8.8.8.${index}`) }));
    expect(await statuses(application, stranger)).toEqual([200, 200, 200, 429]);
    const proxied = Array.from({ length: 4 }, (_, index) => ({ ip: "10.0.0.1", headers: forwarded(`8.8.8.${index}`) }));
    expect(await statuses(application, proxied)).toEqual([200, 200, 200, 200]);
    const one = Array.from({ length: 4 }, () => ({ ip: "10.0.0.1", headers: forwarded("9.9.9.9") }));
    expect(await statuses(application, one)).toEqual([200, 200, 200, 429]);
  });

  test("S33 of 200 concurrent requests exactly 3 are handled, and one lockout is emitted", async () => {
    const login = { ...THROTTLE.limits.login, buckets: [THROTTLE.limits.login.buckets[0]] };
    const application = await create({ config: { throttle: { THROTTLE: { limits: { login } } } } });
    const lockouts: LockoutEvent[] = [];
    application.container.make("events").on("auth.lockout", (event) => lockouts.push(event));
    const answers = await Promise.all(Array.from({ length: 200 }, () => post(application)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(3);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(197);
    await application.container.make("events").settled();
    expect(lockouts.map(({ limit, address }) => ({ limit, address }))).toEqual([
      { limit: "login", address: "203.0.113.7" },
    ]);
  });

  test("a refused request never reaches the handler", async () => {
    let reached = 0;
    const routes = [Route.post("/login", () => String(++reached)).middleware("throttle:login")];
    const application = await create({ routes });
    await statuses(
      application,
      Array.from({ length: 10 }, () => ({})),
    );
    expect(reached).toBe(3);
  });

  test.each([
    ["throttle:logn", 'no limit is called "logn". Did you mean "login"?'],
    ["throttle:logn,user", 'no limit is called "logn". Did you mean "login"?'],
    ["throttle", "This middleware takes the name of one limit, as in throttle:login."],
    ["throttle:", "This middleware takes the name of one limit, as in throttle:login."],
    ["throttle:login,api", "This middleware takes the name of one limit, as in throttle:login."],
    ["throttle:login,user,api", "This middleware takes the name of one limit, as in throttle:login."],
  ])("%s makes startup fail", async (use, message) => {
    const routes = [Route.get("/", () => "").middleware(use)];
    await expect(create({ routes })).rejects.toThrow(message);
  });

  test("without its provider, startup fails with an error that names it", async () => {
    await expect(create({ providers: [] })).rejects.toThrow('Nothing is bound to "throttle".');
  });
});

describe("ThrottleProvider", () => {
  test("binds one service for the application, its handlers and its middleware", async () => {
    const application = await create();
    const throttle = application.container.make("throttle");
    expect(throttle).toBeInstanceOf(Throttle);
    expect(await (await application.fetch(new Request("http://localhost/"))).text()).toBe("true");
    await statuses(application, [{}, {}, {}]);
    expect((await throttle.peek("login", { account: "ann@example.com", address: "203.0.113.7" })).allowed).toBe(false);
    await throttle.reset("login", { account: "ann@example.com", address: "203.0.113.7" });
    expect(await statuses(application, [{}])).toEqual([200]);
  });

  test("without configuration, the default limits exist", async () => {
    const application = await create({ config: {}, providers: [AuthProvider, ThrottleProvider] });
    expect(
      await statuses(
        application,
        Array.from({ length: 6 }, () => ({})),
      ),
    ).toEqual([200, 200, 200, 200, 200, 429]);
  });

  test("without events, it still throttles", async () => {
    const application = await create({ providers: [ThrottleProvider] });
    expect(await statuses(application, [{}, {}, {}, {}])).toEqual([200, 200, 200, 429]);
  });

  test("two applications count separately", async () => {
    const [one, other] = [await create(), await create()];
    expect(await statuses(one, [{}, {}, {}, {}])).toEqual([200, 200, 200, 429]);
    expect(await statuses(other, [{}])).toEqual([200]);
  });

  test("a configuration that cannot work makes startup fail", async () => {
    await expect(create({ config: { throttle: { THROTTLE: { limits: { login: {} } } } } })).rejects.toMatchObject({
      code: "E_INVALID_CONFIGURATION",
    });
  });

  test("an export whose name is misspelled makes startup fail, with a suggestion", async () => {
    await expect(create({ config: { throttle: { THROTLE: THROTTLE } } })).rejects.toMatchObject({
      code: "E_INVALID_CONFIGURATION",
      message: expect.stringContaining('Did you mean "THROTTLE"?'),
    });
  });

  test("an application that has shut down keeps no count", async () => {
    const application = await create();
    await statuses(application, [{}, {}, {}]);
    await application.shutdown();
    const keys = { account: "ann@example.com", address: "203.0.113.7" };
    expect((await application.container.make("throttle").peek("login", keys)).remaining).toBe(3);
  });
});
