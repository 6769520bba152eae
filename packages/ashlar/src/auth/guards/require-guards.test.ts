import { describe, expect, test } from "vitest";
import { type ApplicationOptions, createApplication } from "../../boot/index.ts";
import { HttpKernel, type MiddlewareEntry } from "../../kernel/index.ts";
import { Route } from "../../routing/index.ts";
import { VerifiesEmailMiddleware } from "../accounts/addresses/verifies-email-middleware.ts";
import { AuthProvider } from "../auth-provider.ts";
import {
  AuthenticationMiddleware,
  GuardMiddleware,
  LoadUserMiddleware,
} from "../requests/authentication-middleware.ts";
import { ConfirmPasswordMiddleware } from "../requests/confirm-password-middleware.ts";

const EACH: readonly [name: string, middleware: MiddlewareEntry][] = [
  ["guard:jwt", GuardMiddleware],
  ["auth", AuthenticationMiddleware],
  ["user", LoadUserMiddleware],
  ["password.confirm", ConfirmPasswordMiddleware],
  ["verified", VerifiesEmailMiddleware],
];

function boot(use: string, entry: MiddlewareEntry, options: ApplicationOptions = {}): Promise<unknown> {
  class Kernel extends HttpKernel {
    override routeMiddleware = { web: [], [use.split(":")[0]!]: [entry] };
  }
  const routes = [Route.get("/", () => "x").middleware(use)];
  return createApplication({ kernel: Kernel, routes, environment: { APP_ENV: "test" }, ...options });
}

describe("middleware that requires a guard makes startup fail, not the first request", () => {
  test.each(EACH)("%s without AuthProvider", async (use, entry) => {
    await expect(boot(use, entry)).rejects.toMatchObject({
      code: "E_UNKNOWN_SERVICE",
      message: expect.stringMatching(
        /require-guards\.test\.ts:\d+: GET \/: The application has no guards\. Add AuthProvider to PROVIDERS in config\/providers\.ts\.$/,
      ),
    });
  });

  test.each(EACH)("%s without any guard in GUARDS", async (use, entry) => {
    await expect(boot(use, entry, { providers: [AuthProvider] })).rejects.toMatchObject({
      code: "E_UNKNOWN_GUARD",
      message: expect.stringMatching(/: The application has no guard\. Name one in config\/auth\.ts: GUARDS\.$/),
    });
  });
});
