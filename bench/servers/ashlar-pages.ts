// Ashlar's page: session, user, CSRF protection, a template, and the security headers, as a new application has them.
import { createApplication, HttpKernel, IpMiddleware, Route, SecurityHeadersMiddleware } from "ashlar";
import { Authenticates, AuthenticationMiddleware, AuthProvider, LoadUserMiddleware } from "ashlar/auth";
import { compose, DatabaseProvider, Model } from "ashlar/database";
import { EventProvider } from "ashlar/events";
import { SessionMiddleware, SessionProvider, VerifyCsrfToken } from "ashlar/session";
import { ViewProvider } from "ashlar/views";
import { DATABASE, SECRET } from "../fixtures.ts";

class User extends compose(Model, Authenticates) {
  static override table = "users";
  static override hidden = ["password", "api_token"];
  declare name: string;
  declare email: string;
}

class Kernel extends HttpKernel {
  override httpMiddleware = [IpMiddleware];
  override routeMiddleware = {
    web: [SecurityHeadersMiddleware, SessionMiddleware, LoadUserMiddleware, VerifyCsrfToken],
    api: [],
    auth: [AuthenticationMiddleware],
  };
}

const application = await createApplication({
  root: import.meta.dirname,
  kernel: Kernel,
  providers: [DatabaseProvider, EventProvider, ViewProvider, SessionProvider, AuthProvider],
  environment: { APP_ENV: "production", APP_URL: "http://127.0.0.1", APP_KEY: SECRET },
  config: {
    // The other servers don't log requests either.
    app: { APP: { name: "bench", log: { requests: false } } },
    database: { DATABASES: { default: "sqlite", sqlite: { driver: "sqlite", path: DATABASE } } },
    auth: { GUARDS: { default: "web", web: { model: User } } },
  },
  routes: [
    Route.get("/json", () => ({ hello: "world" })).withoutMiddleware("web"),
    Route.view("/home", "home").middleware("auth"),
    Route.view("/enter", "enter"),
    Route.post("/enter", async ({ auth, request, response }) => {
      await auth.attempt(request.string("email"), request.string("password"));
      return response.redirect("/home");
    }),
    Route.post("/login", async ({ auth, request }) => {
      const user = await auth.attempt(request.string("email"), request.string("password"));
      return { ok: user !== null };
    }).withoutMiddleware("web"),
  ],
});

await application.listen({ port: Number(process.env.PORT), hostname: "127.0.0.1" });
