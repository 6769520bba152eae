// An application whose database grows: sessions, tokens, accounts and mails as a new application has them.
import {
  type Application,
  createApplication,
  HttpKernel,
  IpMiddleware,
  Route,
  SecurityHeadersMiddleware,
} from "ashlar";
import { ApiProvider, AuthenticatesTokens, JWTAuthenticationMiddleware, many } from "ashlar/api";
import {
  Authenticates,
  AuthenticationMiddleware,
  AuthProvider,
  GuardMiddleware,
  LoadUserMiddleware,
} from "ashlar/auth";
import { compose, DatabaseProvider, Model } from "ashlar/database";
import { EventProvider } from "ashlar/events";
import { Mailable, type MailContent, MailProvider } from "ashlar/mail";
import { SessionMiddleware, SessionProvider, VerifyCsrfToken } from "ashlar/session";
import { ViewProvider } from "ashlar/views";
import { MANY_SECRET, SECRET } from "../fixtures.ts";

class User extends compose(Model, Authenticates, AuthenticatesTokens) {
  static override table = "users";
  static override hidden = ["password", "api_token"];
  declare id: number;
  declare name: string;
  declare email: string;
}

class Kernel extends HttpKernel {
  override httpMiddleware = [IpMiddleware];
  override routeMiddleware = {
    web: [SecurityHeadersMiddleware, SessionMiddleware, LoadUserMiddleware, VerifyCsrfToken],
    api: [JWTAuthenticationMiddleware],
    jwt: [JWTAuthenticationMiddleware],
    auth: [AuthenticationMiddleware],
    guard: [GuardMiddleware],
  };
}

class Greeting extends Mailable {
  override subject(): string {
    return "Hello";
  }

  override content(): MailContent {
    return { text: "greeting" };
  }
}

const outside = ["web"] as const;

/** @param connection the entry of the database in `DATABASES` */
export function growthApplication(connection: object): Promise<Application> {
  return createApplication({
    root: import.meta.dirname,
    kernel: Kernel,
    providers: [
      DatabaseProvider,
      EventProvider,
      ViewProvider,
      SessionProvider,
      MailProvider,
      AuthProvider,
      ApiProvider,
    ],
    environment: { APP_ENV: "production", APP_URL: "http://127.0.0.1", APP_KEY: SECRET },
    config: {
      app: { APP: { name: "bench", log: { requests: false }, server: { maxQueueMs: 0 } } },
      database: { DATABASES: { default: "main", main: connection } },
      auth: { GUARDS: { default: "web", web: { model: User } } },
      api: {
        DRIVERS: {
          jwt: { algorithm: "HS512", secret: SECRET, model: User, expires: null, authenticates: true, version: null },
          many: { secret: MANY_SECRET, model: User, tokens: many({ accessMinutes: 600 }), authenticates: true },
        },
      },
      mail: {
        MAIL: {
          from: { address: "shop@example.com", name: "Shop" },
          // The mail server's side is not measured.
          transport: { deliver: async () => {}, close: () => {} },
        },
      },
    },
    routes: [
      Route.get("/json", () => ({ hello: "world" })).withoutMiddleware(...outside),
      Route.view("/home", "home").middleware("auth"),
      Route.view("/login", "enter"),
      Route.get("/account", ({ request }) => ({ name: (request.user() as User).name }))
        .withoutMiddleware(...outside)
        .middleware("api", "guard:jwt"),
      Route.get("/check", () => ({ checked: true }))
        .withoutMiddleware(...outside)
        .middleware("jwt:many"),
      // The part of a login before the hash, which takes so long that it would hide everything else.
      Route.get("/lookup", async ({ request }) => {
        const user = await User.findByIdentifier(request.string("email") ?? "");
        return { found: user !== null && user.passwordHash() !== null };
      }).withoutMiddleware(...outside),
      Route.get("/mail", async ({ mail, request }) => {
        await mail.queue(new Greeting(), request.string("to") ?? "");
        return { queued: true };
      }).withoutMiddleware(...outside),
    ],
  });
}
