import { expect, test, vi } from "vitest";
import { ADA, PASSWORD, testAccounts } from "../../../test/support/account-application.ts";
import { testWeb } from "../../../test/support/web-application.ts";
import type { HttpContext, Next } from "../../http/index.ts";
import { Route } from "../../routing/index.ts";
import { generateSecret } from "../../security/index.ts";
import { ThrottleMiddleware } from "../../throttle/index.ts";

const tryPassword = async ({ auth }: HttpContext) => ({ in: (await auth.attempt(ADA.email, "a guess")) !== null });

/** A bucket that allows this many attempts per address in an hour. */
const hourly = (attempts: number) => ({ by: ["address"], attempts, windowSeconds: 3600 });

function warnings(environment: "development" | "test", ...paths: readonly string[]) {
  return warningsWith({}, environment, ...paths);
}

/** The log lines about requests to these paths, in an application that also has these limits. */
async function warningsWith(limits: object, environment: "development" | "test", ...paths: readonly string[]) {
  const accounts = await testAccounts({
    environment: { APP_ENV: environment, APP_KEY: generateSecret() },
    throttle: {
      own: { buckets: [{ by: ["address"], attempts: 1000, windowSeconds: 60 }] },
      other: { buckets: [hourly(601)] },
      strict: { buckets: [hourly(600)] },
      mixed: { buckets: [hourly(5000), { ...hourly(500), by: ["account", "address"] }] },
      ...limits,
    },
    middleware: { throttle: [ThrottleMiddleware] },
    routes: [
      Route.post("/own", tryPassword),
      Route.post("/other/@id", async ({ auth }) => ({ status: (await auth.login(ADA.email, PASSWORD)).status })),
      Route.post("/limited", tryPassword).middleware("throttle:login"),
      Route.post("/weak", tryPassword).middleware("throttle:own" as never),
      Route.post("/strict", tryPassword).middleware("throttle:strict" as never),
      Route.post("/mixed", tryPassword).middleware("throttle:mixed" as never),
      Route.post("/two", tryPassword).middleware("throttle:own" as never, "throttle:other" as never),
      Route.any("/any", tryPassword).middleware("throttle:own" as never),
      Route.post("/both", tryPassword).middleware("throttle:own" as never, "throttle:login"),
      Route.post("/counted", async (context) => {
        await context.throttle.hit(context, "login", { account: ADA.email });
        return tryPassword(context);
      }),
      Route.post("/forgotten", async ({ accounts, request }) => {
        await accounts.requestPasswordReset(request.input("email"));
        return { sent: true };
      }),
    ],
  });
  const warn = vi.spyOn(accounts.application.logger, "warn");
  const visitor = await accounts.loggedIn();
  const statuses: number[] = [];
  for (const path of paths) statuses.push((await visitor.post(path, { email: ADA.email })).status);
  expect(statuses).toEqual(paths.map(() => 200));
  return aboutLimits(warn.mock.calls);
}

const aboutLimits = (calls: readonly (readonly unknown[])[]) =>
  calls.map((call) => call.at(-1)).filter((line) => String(line).includes(" has no limit"));

const lacking = (label: string, limit: string) =>
  `${label} has no limit, so passwords or mails can be tried without limit. Add .middleware("${limit}") to the route.`;

test.each(["development", "test"] as const)(
  "S53 in %s, a route that tries passwords without a limit is reported once",
  async (environment) => {
    const paths = ["/own", "/own", "/other/1", "/other/2", "/forgotten"];
    expect(await warnings(environment, ...paths)).toEqual([
      lacking("POST /own", "throttle:login"),
      lacking("POST /other/@id", "throttle:login"),
      lacking("POST /forgotten", "throttle:change_password"),
    ]);
  },
);

test("a route with a limit is not reported, whether its middleware or its handler counts", async () => {
  expect(await warnings("test", "/limited", "/counted")).toEqual([]);
});

test("S53 a route whose limits allow too many attempts is reported", async () => {
  expect(await warnings("test", "/weak", "/weak", "/both")).toEqual([
    "POST /weak has no limit but throttle:own, which allows too many attempts at passwords or mails. " +
      'Add .middleware("throttle:login") to the route.',
  ]);
});

test("S53 a route with a strict limit of the author's is not reported, even if only one bucket is strict", async () => {
  expect(await warnings("test", "/strict", "/mixed")).toEqual([]);
});

test("S53 a limit that the author has loosened under the expected name is not reported", async () => {
  expect(await warningsWith({ login: { buckets: [hourly(60_000)] } }, "test", "/limited")).toEqual([]);
});

test("S53 the line names all weak limits of a route, and all of its methods", async () => {
  const [two, any] = await warnings("test", "/two", "/any");
  expect(two).toMatch(/^POST \/two has no limit but throttle:own, throttle:other, which allows too many attempts /);
  expect(any).toMatch(/^\w+(?:\|\w+)*\|POST\b\S* \/any has no limit but throttle:own, which /);
});

test.each([
  ["production", 0],
  ["test", 1],
])("without limits at all, in %s, it logs %i warnings", async (APP_ENV, count) => {
  const web = await testWeb({
    environment: { APP_ENV, APP_URL: "https://shop.example", APP_KEY: generateSecret() },
    routes: [Route.post("/own", tryPassword)],
  });
  const warn = vi.spyOn(web.application.logger, "warn");
  const response = await web.browser({ origin: "https://shop.example" }).post("/own", {});
  expect([response.status, aboutLimits(warn.mock.calls).length]).toEqual([200, count]);
});

/** An author's own middleware with the same name as the framework's. */
class PerMinute {
  handle(_context: HttpContext, next: Next): unknown {
    return next();
  }
}

test.each([
  ["/spaced", "throttle: login", "/spaced", ThrottleMiddleware],
  ["/of/@limit", "throttle:@limit", "/of/login", ThrottleMiddleware],
  ["/own", "throttle:10", "/own", PerMinute],
])("a password on the route %s is compared behind %j", async (pattern, middleware, path, throttle) => {
  const enter = async ({ auth }: HttpContext) => ({ status: (await auth.login(ADA.email, PASSWORD)).status });
  const accounts = await testAccounts({
    environment: { APP_ENV: "test", APP_KEY: generateSecret() },
    throttle: {},
    middleware: { throttle: [throttle as never] },
    routes: [Route.post(pattern, enter).middleware(middleware as never)],
  });
  const visitor = accounts.visitor();
  expect([(await visitor.post(path, {})).status, (await visitor.post(path, {})).status]).toEqual([200, 200]);
});
