import { Api, ApiProvider, AuthenticatesTokens, JWTAuthenticationMiddleware, many } from "../../src/api/index.ts";
import { Authenticates, AuthProvider } from "../../src/auth/index.ts";
import { type Application, createApplication } from "../../src/boot/index.ts";
import { compose, DatabaseProvider, Model } from "../../src/database/index.ts";
import { HttpKernel, type MiddlewareEntry, type RouteMiddleware } from "../../src/kernel/index.ts";
import { Route } from "../../src/routing/index.ts";
import { quickHasher } from "../../src/testing/index.ts";

/**
 * An application with logins, and API tokens of both kinds, on a database that several processes share.
 *
 * @param databases `DATABASES`
 * @param secrets the application key and the two drivers' secrets, which all processes share
 * @param around the middleware around every request
 */
export async function killableApplication(
  databases: object,
  [key, single, several]: readonly string[],
  around: readonly MiddlewareEntry[] = [],
): Promise<Application> {
  class User extends compose(Model, Authenticates, AuthenticatesTokens) {
    static override table = "users";
    static override timestamps = false;
    declare id: number;
    declare email: string;
  }
  class Kernel extends HttpKernel {
    override httpMiddleware: readonly MiddlewareEntry[] = around;
    override routeMiddleware: RouteMiddleware = { web: [], jwt: [JWTAuthenticationMiddleware] };
  }
  const open = () => ({});
  return createApplication({
    kernel: Kernel,
    providers: [DatabaseProvider, AuthProvider, ApiProvider],
    routes: [
      ...Api.routes(),
      ...Api.routes({ driver: "many" }),
      Route.get("/open", open).middleware("jwt:jwt"),
      Route.get("/many/open", open).middleware("jwt:many"),
      Route.post("/login", async ({ auth, request }) => {
        const { email, password } = request.all();
        return { user: await auth.attempt(email, password, { remember: true }) };
      }),
      Route.get("/me", async ({ auth }) => ({ user: ((await auth.user()) as User | null)?.email ?? null })),
      Route.post("/confirm", async ({ auth, request }) => ({
        done: await auth.webGuard.confirmPassword(request.input("password")),
      })),
    ],
    config: {
      database: { DATABASES: databases },
      auth: { GUARDS: { default: "web", web: { model: User } }, PASSWORDS: { hasher: quickHasher() } },
      api: {
        DRIVERS: {
          jwt: { secret: single, model: User, expires: 60, authenticates: true },
          many: { secret: several, model: User, tokens: many(), authenticates: true },
        },
      },
    },
    environment: { APP_ENV: "test", APP_KEY: key! },
  });
}
