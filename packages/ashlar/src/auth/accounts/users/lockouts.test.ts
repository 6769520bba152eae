import { expect, onTestFinished, test } from "vitest";
import {
  ADA,
  AdminUser,
  type TestAccounts,
  testAccounts,
  type Visitor,
} from "../../../../test/support/account-application.ts";
import { createApplication } from "../../../boot/index.ts";
import { HttpKernel, type RouteMiddleware } from "../../../kernel/index.ts";
import { Route } from "../../../routing/index.ts";
import { accountDigest, type LockoutEvent, ThrottleMiddleware, ThrottleProvider } from "../../../throttle/index.ts";
import { AuthProvider } from "../../auth-provider.ts";

const ONE = { buckets: [{ by: ["account", "address"], attempts: 1, windowSeconds: 60 }] };
const LIMITS = { login: { account: "email", ...ONE }, change_password: { account: "email", ...ONE }, export: ONE };

/** The lockout events of an application, once all listeners are done. */
function lockoutsOf({ application }: TestAccounts): () => Promise<readonly LockoutEvent[]> {
  const events = application.container.make("events");
  const told: LockoutEvent[] = [];
  events.on("auth.lockout", (event) => told.push(event));
  return async () => {
    await events.settled();
    return told;
  };
}

async function twice(visitor: Visitor, path: string, sent: object = {}): Promise<void> {
  expect((await visitor.post(path, sent)).status).not.toBe(429);
  expect((await visitor.post(path, sent)).status).toBe(429);
}

const common = { time: expect.any(Date), address: "203.0.113.7" };

test("S47 a lockout at a guest's form names the guard, and does not look up the account", async () => {
  const accounts = await testAccounts({ throttle: LIMITS });
  const lockouts = lockoutsOf(accounts);
  const visitor = accounts.visitor();
  await twice(visitor, "/login", { email: ADA.email, password: "not hers" });
  await twice(visitor, "/change_password", { email: ADA.email });
  const account = accountDigest(ADA.email);
  expect(await lockouts()).toEqual([
    { ...common, guard: "web", user: null, limit: "login", account },
    { ...common, guard: "web", user: null, limit: "change_password", account },
  ]);
  expect(JSON.stringify(await lockouts())).not.toContain(ADA.email);
});

test("S47 a lockout of a user who is logged in names the user", async () => {
  const accounts = await testAccounts({ throttle: LIMITS });
  const lockouts = lockoutsOf(accounts);
  await twice(await accounts.loggedIn(), "/confirm_password", { password: "not hers" });
  const user = expect.objectContaining({ id: ADA.id });
  expect(await lockouts()).toEqual([
    { ...common, guard: "web", user, limit: "login", account: accountDigest(ADA.email) },
  ]);
});

test("S47 a lockout at the form of another guard names that guard", async () => {
  const routes = [
    Route.post("/admin/login", async ({ auth, request }) => {
      return { user: await auth.attempt(request.input("email"), request.input("password")) };
    }).middleware("guard:admin", "throttle:login"),
  ];
  const accounts = await testAccounts({
    routes,
    guards: { admin: { driver: "web", model: AdminUser } },
    throttle: LIMITS,
  });
  const lockouts = lockoutsOf(accounts);
  await twice(accounts.visitor(), "/admin/login", { email: ADA.email, password: "not hers" });
  expect(await lockouts()).toEqual([
    { ...common, guard: "admin", user: null, limit: "login", account: accountDigest(ADA.email) },
  ]);
});

test("S47 a lockout by a custom limit names the user, but no guard", async () => {
  const routes = [Route.post("/export", () => "exported").middleware("throttle:export")];
  const accounts = await testAccounts({ routes, throttle: LIMITS });
  const lockouts = lockoutsOf(accounts);
  await twice(await accounts.loggedIn(), "/export");
  const user = expect.objectContaining({ id: ADA.id });
  expect(await lockouts()).toEqual([
    { ...common, guard: null, user, limit: "export", account: accountDigest(ADA.email) },
  ]);
});

test("without any guard, too many attempts are still refused", async () => {
  class Kernel extends HttpKernel {
    override routeMiddleware: RouteMiddleware = { web: [], throttle: [ThrottleMiddleware] };
  }
  const application = await createApplication({
    kernel: Kernel,
    routes: [Route.post("/login", () => "welcome").middleware("throttle:login")],
    providers: [ThrottleProvider, AuthProvider],
    config: { throttle: { THROTTLE: { limits: LIMITS } } },
    environment: { APP_ENV: "test" },
  });
  onTestFinished(() => application.shutdown());
  const login = async () =>
    (await application.fetch(new Request("http://localhost/login", { method: "POST" }), { address: "203.0.113.7" }))
      .status;
  expect([await login(), await login()]).toEqual([200, 429]);
});
