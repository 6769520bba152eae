// Ashlar with its defaults: the api stack checks the token, the model fetches the row.
import { createApplication, HttpKernel, Route } from "ashlar";
import { ApiProvider, AuthenticatesTokens, JWTAuthenticationMiddleware } from "ashlar/api";
import { Authenticates, AuthProvider, GuardMiddleware } from "ashlar/auth";
import { compose, DatabaseProvider, Model } from "ashlar/database";
import { EventProvider } from "ashlar/events";
import { DATABASE, SECRET } from "../fixtures.ts";
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

const application = await createApplication({
  kernel: Kernel,
  providers: [EventProvider, DatabaseProvider, AuthProvider, ApiProvider],
  environment: { APP_ENV: "production", APP_URL: "http://127.0.0.1", APP_KEY: SECRET },
  config: {
    // The other servers don't log requests either.
    app: { APP: { name: "bench", url: "http://127.0.0.1", key: SECRET, log: { requests: false } } },
    database: { DATABASES: { default: "sqlite", sqlite: { driver: "sqlite", path: DATABASE } } },
    api: {
      DRIVERS: {
        jwt: {
          algorithm: "HS512",
          secret: SECRET,
          model: User,
          expires: null,
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
    Route.get("/accounts/@id", ({ request }) => {
      const user = request.user() as User;
      return { id: request.param("id"), name: user.name, email: user.email };
    }).middleware("api", "guard:jwt"),
  ],
});

await application.listen({ port: Number(process.env.PORT), hostname: "127.0.0.1" });
