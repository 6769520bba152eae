// Ashlar with its defaults: the api stack checks the token, the model fetches the row.
import { createApplication, HttpKernel, Route } from "ashlar";
import { ApiProvider, AuthenticatesTokens, JWTAuthenticationMiddleware, many } from "ashlar/api";
import { Authenticates, AuthProvider, GuardMiddleware } from "ashlar/auth";
import { compose, DatabaseProvider, Model } from "ashlar/database";
import { EventProvider } from "ashlar/events";
import { ACCESS_MINUTES, DATABASE, PRIVATE_PEM, SECRET } from "../fixtures.ts";
import { spin } from "./spin.ts";

class User extends compose(Model, Authenticates, AuthenticatesTokens) {
  static override table = "users";
  static override hidden = ["password", "api_token"];
  declare id: number;
  declare name: string;
  declare email: string;
}

class Kernel extends HttpKernel {
  override routeMiddleware = { web: [], api: [JWTAuthenticationMiddleware], guard: [GuardMiddleware] };
}

/** The token driver that a scenario needs. */
const DRIVERS = {
  single: { algorithm: "HS512", secret: SECRET, expires: null },
  many: { algorithm: "HS512", secret: SECRET, tokens: many({ accessMinutes: ACCESS_MINUTES }) },
  signed: { algorithm: "EdDSA", secret: PRIVATE_PEM, expires: null },
} as const;

const application = await createApplication({
  kernel: Kernel,
  providers: [EventProvider, DatabaseProvider, AuthProvider, ApiProvider],
  environment: { APP_ENV: "production", APP_URL: "http://127.0.0.1", APP_KEY: SECRET },
  config: {
    // The other servers don't log requests either.
    app: {
      APP: {
        name: "bench",
        url: "http://127.0.0.1",
        key: SECRET,
        log: { requests: false },
        server: { maxQueueMs: Number(process.env.MAX_LOOP_DELAY ?? 0) },
      },
    },
    database: { DATABASES: { default: "sqlite", sqlite: { driver: "sqlite", path: DATABASE } } },
    api: {
      DRIVERS: {
        jwt: {
          ...DRIVERS[(process.env.DRIVER ?? "single") as keyof typeof DRIVERS],
          model: User,
          authenticates: process.env.AUTHENTICATES === "true",
          version: null,
        },
      },
    },
  },
  routes: [
    Route.get("/json", () => ({ hello: "world" })),
    Route.get("/busy/@ms:int", ({ request }) => {
      spin(Number(request.param("ms")));
      return { hello: "world" };
    }),
    Route.get("/users/@id", ({ request, apiToken }) => ({
      id: request.param("id"),
      user: apiToken.claims?.sub,
    })).middleware("api"),
    Route.get("/signed/@id", ({ request, apiToken }) => ({
      id: request.param("id"),
      user: apiToken.claims?.sub,
    })).middleware("api"),
    ...["/accounts/@id", "/devices/@id"].map((path) =>
      Route.get(path, ({ request }) => {
        const user = request.user() as User;
        return { id: request.param("id"), name: user.name, email: user.email };
      }).middleware("api", "guard:jwt"),
    ),
  ],
});

await application.listen({ port: Number(process.env.PORT), hostname: "127.0.0.1" });
