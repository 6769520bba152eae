import { AuthProvider, ConfirmPasswordMiddleware } from "../../src/auth/index.ts";
import type { Application, ProviderClass } from "../../src/boot/index.ts";
import { DatabaseProvider, primaryKey, type Row } from "../../src/database/index.ts";
import { EventProvider } from "../../src/events/index.ts";
import type { HttpContext } from "../../src/http/index.ts";
import type { MiddlewareEntry } from "../../src/kernel/index.ts";
import { Route, type RouteEntry } from "../../src/routing/index.ts";
import { accessEpoch, ObservedApplication, PASSWORD, passwordHash, UserWithPassword } from "./application-parts.ts";
import { Browser, type BrowserOptions } from "./browser.ts";
import {
  type BuildOptions,
  buildApplication,
  type DatabaseOptions,
  databasesOf,
  ownDatabases,
} from "./build-application.ts";
import { migrationOfStub } from "./migration-folder.ts";
import type { Contents } from "./services.ts";

export { PASSWORD };

/** What `GET /me` returns for the two users. */
export const ADA: { readonly id: number; readonly email: string } = { id: 1, email: "ada@example.com" };
export const BOB: { readonly id: number; readonly email: string } = { id: 2, email: "bob@example.com" };

/** A user of the test's applications. Each application extends it, to use its own database. */
export class TestUser extends UserWithPassword {
  static override table = "users";
  static override hidden: readonly string[] = ["password"];
  static override timestamps = false;
}

/** How a test's application differs from the default. */
export interface TestWebOptions
  extends Pick<BuildOptions, "environment" | "httpMiddleware" | "logger">,
    Pick<DatabaseOptions, "engine" | "settings"> {
  /** The users' class, which gets the application's database. */
  readonly User?: typeof TestUser;
  /** Another application whose database this one shares, like a second process. */
  readonly sharing?: TestWeb;
  /** Options of `GUARDS.web`, in addition to the model. */
  readonly guard?: object;
  /** Guards in addition to `web`. */
  readonly guards?: Readonly<Record<string, object>>;
  /** `SESSION`, with `SessionProvider`. */
  readonly session?: object;
  /** Providers after those of auth. */
  readonly providers?: readonly ProviderClass[];
  /** The middleware around every route. */
  readonly stack?: readonly MiddlewareEntry[];
  /** Routes in addition to the default ones. */
  readonly routes?: readonly RouteEntry[];
}

/** An application with the guard `web` on its own database, with the users Ada (1) and Bob (2). */
export class TestWeb extends ObservedApplication {
  readonly User: typeof TestUser;

  constructor(application: Application, User: typeof TestUser) {
    super(application, EVENTS);
    this.User = User;
  }

  browser(options: BrowserOptions = {}): Browser {
    return new Browser(this.application, options);
  }

  /** A browser in which a user has logged in. */
  async loggedIn(user: { readonly id: number } = ADA, options: BrowserOptions = {}): Promise<Browser> {
    const browser = this.browser(options);
    await browser.post(`/login/${user.id}`);
    return browser;
  }

  /** The rows of the table `logins`, in order of creation. */
  async rows(): Promise<Row[]> {
    return (await this.database.kysely.selectFrom("logins").selectAll().orderBy("id").execute()) as Row[];
  }
}

const EVENTS = ["auth.login", "auth.failed", "auth.logout", "auth.new_device", "auth.logins_ended"] as const;

const form = ({ request }: HttpContext): Record<string, unknown> => request.all();

const ROUTES: readonly RouteEntry[] = [
  Route.get("/plain", () => ({ plain: true })),
  Route.get("/me", async ({ auth }) => ({ user: await auth.user() })),
  Route.post("/login", async (context) => {
    const { email, password, remember } = form(context);
    return { user: await context.auth.attempt(email, password, { remember: remember === true }) };
  }),
  Route.post("/login/@id", async ({ auth, request }) => {
    return { user: await auth.attemptById(request.param("id")!, { remember: request.input("remember") === true }) };
  }),
  Route.post("/logout", async ({ auth, request }) => {
    await auth.logout();
    return { user: await auth.user(), known: request.user() };
  }),
  Route.get("/logins", async ({ auth }) => auth.logins().list()),
  Route.post("/logins/end", async (context) => ({ ended: await context.auth.logins().end(form(context).id) })),
  Route.post("/logins/end-others", async ({ auth }) => ({ ended: await auth.logins().endOthers() })),
  Route.post("/logins/end-all", async ({ auth }) => ({
    ended: await auth.logins().endAll(),
    user: await auth.user(),
  })),
  Route.post("/logout-others", async (context) => ({
    done: await context.auth.webGuard.logoutOtherDevices(form(context).password),
  })),
  Route.post("/confirm", async (context) => ({
    done: await context.auth.webGuard.confirmPassword(form(context).password),
  })),
  Route.any("/danger", () => ({ danger: true })).middleware("password.confirm"),
  Route.get("/danger-soon", () => ({ danger: true })).middleware("password.confirm:30"),
  Route.get("/home", () => ({ home: true })).middleware("auth"),
  Route.get("/login", () => "log in"),
  Route.get("/confirm_password", () => "confirm the password"),
];

/** Creates an application with the guard `web` and its own database; both are removed when the test is finished. */
export async function testWeb(options: TestWebOptions = {}): Promise<TestWeb> {
  const User = options.User ?? class User extends TestUser {};
  const application = await buildApplication({
    ...options,
    routes: [...ROUTES, ...(options.routes ?? [])],
    middleware: { web: options.stack ?? [], "password.confirm": [ConfirmPasswordMiddleware] },
    providers: [EventProvider, DatabaseProvider, AuthProvider, ...(options.providers ?? [])],
    config: {
      auth: { GUARDS: { default: "web", web: { model: User, ...options.guard }, ...options.guards } },
      ...(options.session && { session: { SESSION: options.session } }),
    },
    databases:
      options.sharing === undefined
        ? await ownDatabases({ ...options, contents: USERS_AND_LOGINS })
        : databasesOf(options.sharing.application),
    models: [User],
  });
  return new TestWeb(application, User);
}

const USERS_AND_LOGINS: Contents = {
  name: "web",
  async fill({ kysely }) {
    const password = await passwordHash();
    await kysely.schema
      .createTable("users")
      .$call(primaryKey(kysely))
      .addColumn("email", "varchar(254)", (column) => column.notNull().unique())
      .addColumn("password", "varchar(255)", (column) => column.notNull())
      .addColumn("access_epoch", "varchar(43)")
      .execute();
    await kysely
      .insertInto("users")
      .values([ADA, BOB].map((user) => ({ ...user, password, access_epoch: accessEpoch(user.id) })))
      .execute();
    const { up } = await migrationOfStub("auth/migrations/create_logins.ts.stub");
    await up(kysely);
  },
};
