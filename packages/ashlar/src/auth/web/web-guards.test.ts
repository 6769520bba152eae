import { expect, onTestFinished, test } from "vitest";
import { testApi } from "../../../test/support/api-application.ts";
import { MemoryLogins } from "../../../test/support/memory-logins.ts";
import { Person } from "../../../test/support/people.ts";
import { TestUser, testWeb } from "../../../test/support/web-application.ts";
import { createApplication } from "../../boot/index.ts";
import { HttpKernel } from "../../kernel/index.ts";
import { Route } from "../../routing/index.ts";
import { createTestClient } from "../../testing/index.ts";
import { ThrottleMiddleware, ThrottleProvider } from "../../throttle/index.ts";
import { AuthProvider } from "../auth-provider.ts";
import { AuthenticationMiddleware } from "../requests/authentication-middleware.ts";

test("two guards with the same cookie make startup fail", async () => {
  const booting = testWeb({ guards: { staff: { driver: "web", model: TestUser, cookie: "token" } } });
  await expect(booting).rejects.toThrow(
    'config/auth.ts: GUARDS.staff.cookie: its cookie "token" is also used by the guard "web"',
  );
});

test("an application without a database cannot have a guard with this driver", async () => {
  class Kernel extends HttpKernel {
    override routeMiddleware = { web: [], auth: [AuthenticationMiddleware] };
  }
  const booting = createApplication({
    kernel: Kernel,
    routes: [Route.get("/", () => "").middleware("auth")],
    providers: [AuthProvider],
    config: { auth: { GUARDS: { default: "web", web: { model: Person } } } },
    environment: { APP_ENV: "test" },
  });
  await expect(booting).rejects.toThrow("config/auth.ts: GUARDS: logins need a database.");
});

test("an application without a database can keep logins in its own store", async () => {
  class Kernel extends HttpKernel {
    override routeMiddleware = { web: [] };
  }
  await Person.populate("a password");
  const logins = new MemoryLogins();
  const application = await createApplication({
    kernel: Kernel,
    routes: [
      Route.post("/login", async ({ auth, request }) =>
        auth.loginAs((await Person.findByAuthId(request.string("id", "")))!),
      ),
      Route.post("/end-all", async ({ auth }) => ({ ended: await auth.logins().endAll() })),
    ],
    providers: [AuthProvider],
    config: { auth: { GUARDS: { default: "web", web: { model: Person, logins } } } },
    environment: { APP_ENV: "test" },
  });
  onTestFinished(() => application.shutdown());
  const [here, there] = [createTestClient(application), createTestClient(application)];
  for (const client of [here, there]) await client.postJson("/login", { id: "1" });
  expect(logins.logins.size).toBe(2);
  expect((await here.postJson("/end-all")).json).toEqual({ ended: 2 });
  expect(logins.logins.size).toBe(0);
});

test("S33 without a guard of this driver no device is known: an address over its limit gets a 429 before the body is read", async () => {
  const login = Route.post("/login", () => ({}))
    .middleware("throttle:login")
    .bodyLimit("1kb");
  const api = await testApi({
    routes: [login],
    stack: [],
    middleware: { throttle: [ThrottleMiddleware] },
    providers: [ThrottleProvider],
  });
  const statusOf = async (email: string, ip: string) => (await api.post("/api/login", { email }, { ip })).status;
  const [ip, other] = ["203.0.113.7", "203.0.113.8"];
  const statuses: number[] = [];
  for (let n = 0; n < 100; n++) statuses.push(await statusOf(`u${n}@example.com`, ip));
  expect(statuses).toEqual(Array(100).fill(200));
  const tooLong = "x".repeat(2000);
  expect([await statusOf(tooLong, ip), await statusOf(tooLong, other)]).toEqual([429, 413]);
});
