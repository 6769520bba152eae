import { expect, test } from "vitest";
import { Person } from "../../../test/support/people.ts";
import { TestUser, testWeb } from "../../../test/support/web-application.ts";
import { createApplication } from "../../boot/index.ts";
import { HttpKernel } from "../../kernel/index.ts";
import { Route } from "../../routing/index.ts";
import { AuthProvider } from "../auth-provider.ts";
import { AuthenticationMiddleware } from "../authentication-middleware.ts";

test("two guards with the same cookie make the boot fail", async () => {
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
