import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ApiProvider, JWTAuthenticationMiddleware } from "../../src/api/index.ts";
import { AuthProvider } from "../../src/auth/index.ts";
import { type Application, Provider, type ProviderClass } from "../../src/boot/index.ts";
import { DatabaseProvider, Model } from "../../src/database/index.ts";
import { EventProvider } from "../../src/events/index.ts";
import { Mailable, type MailContent, MailProvider } from "../../src/mail/index.ts";
import { Route, type RouteEntry } from "../../src/routing/index.ts";
import { generateSecret } from "../../src/security/index.ts";
import { SessionMiddleware, SessionProvider, VerifyCsrfToken } from "../../src/session/index.ts";
import { ValidationError } from "../../src/support/index.ts";
import { createTestApplication, type TestApplicationOptions } from "../../src/testing/index.ts";
import { ViewProvider } from "../../src/views/index.ts";
import { kernelWith, UserWithToken } from "./application-parts.ts";
import { CookieGuard, HeaderGuard } from "./people.ts";

/** All shops in a test file share it. */
const SECRET = generateSecret();

/** A customer of the shop. Each shop extends the class, to use its own database. */
export class Customer extends UserWithToken {
  static override table = "customers";
  static override hidden: readonly string[] = ["password", "api_token"];
  static override fillable: readonly string[] = ["name"];
  declare created_at: Date;
  declare updated_at: Date;
}

/** What a customer bought. */
export class Purchase extends Model {
  static override table = "purchases";
  static override timestamps = false;
  declare id: number;
  declare title: string;
  declare customer_id: number;
}

/** Greets a customer, with a link. */
export class WelcomeMail extends Mailable {
  override subject(): string {
    return "Welcome";
  }

  override content(): MailContent {
    return { text: "welcome", data: { link: this.url("/welcome/7") } };
  }
}

const DATABASE = join(import.meta.dirname, "../../src/database/index.ts");

const MIGRATIONS: Readonly<Record<string, string>> = {
  "2026_01_01_000000_create_customers.ts": `
    import { primaryKey, timestamps } from "${DATABASE}";
    export async function up(database) {
      await database.schema.createTable("customers").$call(primaryKey(database))
        .addColumn("name", "varchar(255)", (column) => column.notNull())
        .addColumn("email", "varchar(254)", (column) => column.notNull().unique())
        .addColumn("password", "varchar(255)", (column) => column.notNull())
        .addColumn("access_epoch", "varchar(43)")
        .addColumn("api_token", "varchar(255)", (column) => column.unique())
        .$call(timestamps(database)).execute();
    }`,
  "2026_01_01_000001_create_purchases.ts": `
    import { primaryKey, reference } from "${DATABASE}";
    export async function up(database) {
      await database.schema.createTable("purchases").$call(primaryKey(database))
        .addColumn("title", "varchar(255)", (column) => column.notNull())
        .addColumn("customer_id", reference(database), (column) => column.references("customers.id")).execute();
    }`,
  "2026_01_01_000002_create_logins.ts": `
    import { primaryKey, reference, timestamp } from "${DATABASE}";
    export async function up(database) {
      const moment = (column) => column.notNull();
      await database.schema.createTable("logins").$call(primaryKey(database))
        .addColumn("user_id", reference(database), (column) => column.notNull())
        .addColumn("guard", "varchar(255)", (column) => column.notNull())
        .addColumn("token_hash", "varchar(64)", (column) => column.notNull().unique())
        .addColumn("access_epoch", "varchar(43)", (column) => column.notNull())
        .addColumn("ip", "varchar(64)").addColumn("user_agent", "varchar(255)")
        .addColumn("authenticated_at", timestamp(database)).addColumn("last_used_at", timestamp(database), moment)
        .addColumn("expires_at", timestamp(database), moment).addColumn("created_at", timestamp(database), moment)
        .execute();
    }`,
  "2026_01_01_000003_create_session_data.ts": `
    import { timestamp } from "${DATABASE}";
    export async function up(database) {
      await database.schema.createTable("session_data")
        .addColumn("id", "varchar(43)", (column) => column.primaryKey())
        .addColumn("data", "text", (column) => column.notNull())
        .addColumn("created_at", timestamp(database), (column) => column.notNull())
        .addColumn("last_used_at", timestamp(database), (column) => column.notNull()).execute();
    }`,
};

const LOGIN = `<nav><form id="search" action="/search"><input name="q" value="tea"></form></nav>
<form id="login" method="post" action="/login">{{ csrf_field }}
  <label>Address <input name="email" type="email" value="{{ old('email') }}"></label>
  @if(errors.email)
    <p>{{ errors.email[0].message }}</p>
  @end
  <input name="password" type="password"><button>Log in</button>
</form>
<form id="logout" method="post" action="/logout">{{ csrf_field }}<button name="all" value="yes">Log out</button></form>`;

const VIEWS: Readonly<Record<string, string>> = {
  login: LOGIN,
  welcome: "Hello. Look at ({{ link }}), and at https://shop.example/terms.",
};

class GuardProvider extends Provider {
  override boot(): void {
    const guards = this.application.container.make("auth");
    const { registerDriver } = guards;
    registerDriver.call(
      guards,
      "header",
      ({ name, model }) =>
        (context) =>
          new HeaderGuard(name, context, model),
    );
    registerDriver.call(
      guards,
      "cookie",
      ({ name, model }) =>
        (context) =>
          new CookieGuard(name, context, model),
    );
  }
}

/** How a test's shop differs from the default. */
export interface TestShopOptions extends Pick<TestApplicationOptions, "database" | "environment"> {
  readonly routes?: readonly RouteEntry[];
  readonly session?: object;
  /** Options of `DRIVERS.jwt`. */
  readonly jwt?: object;
  readonly providers?: readonly ProviderClass[];
}

/** An application with everything that the testing helpers support, and a function to remove it. */
export interface TestShop {
  readonly application: Application;
  readonly Customer: typeof Customer;
  readonly Purchase: typeof Purchase;
  readonly root: string;
  close(): Promise<void>;
}

/**
 * Creates a shop. Its guards are `web` (the default), `staff` (a second web guard), `jwt`, `header` (which cannot log
 * users in) and `cookie`.
 */
export async function testShop(options: TestShopOptions = {}): Promise<TestShop> {
  const root = await mkdtemp(join(tmpdir(), "ashlar-shop-"));
  await write(join(root, "database", "migrations"), MIGRATIONS);
  await write(
    join(root, "views"),
    Object.fromEntries(Object.entries(VIEWS).map(([name, text]) => [`${name}.edge`, text])),
  );
  const ShopCustomer = class extends Customer {};
  const ShopPurchase = class extends Purchase {};
  const application = await createTestApplication({
    root,
    kernel: Kernel,
    routes: [...ROUTES, ...(options.routes ?? [])],
    providers: [
      DatabaseProvider,
      EventProvider,
      ViewProvider,
      SessionProvider,
      MailProvider,
      AuthProvider,
      ApiProvider,
      GuardProvider,
      ...(options.providers ?? []),
    ],
    config: {
      api: { DRIVERS: { jwt: { secret: SECRET, model: ShopCustomer, ...options.jwt } } },
      auth: {
        GUARDS: {
          default: "web",
          web: { model: ShopCustomer },
          staff: { driver: "web", model: ShopCustomer },
          header: { model: ShopCustomer },
          cookie: { model: ShopCustomer },
        },
      },
      session: { SESSION: options.session ?? {} },
    },
    environment: { APP_URL: "", ...options.environment },
    ...(options.database === undefined ? {} : { database: options.database }),
  });
  const database = application.container.make("database");
  ShopCustomer.useDatabase(database);
  ShopPurchase.useDatabase(database);
  return {
    application,
    Customer: ShopCustomer,
    Purchase: ShopPurchase,
    root,
    async close() {
      await application.shutdown();
      await rm(root, { recursive: true, force: true });
    },
  };
}

async function write(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
}

const Kernel = kernelWith({ web: [SessionMiddleware, VerifyCsrfToken], api: [JWTAuthenticationMiddleware] });

const ROUTES: readonly RouteEntry[] = [
  Route.view("/login", "login").name("login"),
  Route.post("/login", async ({ auth, request, session, response }) => {
    const email = request.string("email");
    const user = await auth.attempt(email, request.input("password"));
    if (user === null) throw new ValidationError({ email: ["The address and the password do not belong together."] });
    session.flash("status", "Logged in.");
    session.put("logins", [{ email }]);
    return response.redirect("/home");
  }),
  Route.post("/logout", async ({ auth, request, response }) => {
    await auth.logout();
    return response.redirect(`/login?all=${request.input("all") ?? ""}`);
  }),
  Route.get("/home", ({ request, session }) => {
    return `<title>Home</title><p>Hello, <b>${(request.user() as Customer).name}</b>. ${session.flashed("status", "")}</p>`;
  }).middleware("auth"),
  Route.get("/search", ({ request }) => ({ found: request.input("q") })),
  Route.get("/visits", ({ session }) => {
    session.put("visits", Number(session.get("visits", 0)) + 1);
    return { visits: session.get("visits") };
  }),
  Route.get("/me/@guard", async ({ auth, request }) => {
    const { guardName } = auth;
    return { inForce: guardName, user: await auth.guard(request.param("guard")!).user() };
  }),
  Route.get("/confirmed-at", async ({ auth, response }) => {
    return response.json(await auth.guard("web").confirmedAt());
  }),
  Route.get("/staff", ({ request }) => request.user()).middleware("auth:staff"),
  Route.get("/headed", ({ request }) => request.user()).middleware("guard:header", "auth"),
  Route.any("/echo", ({ request }) => ({
    method: request.getRequestMethod(),
    query: request.query,
    body: request.body,
    headers: Object.fromEntries(request.raw.headers),
    address: request.remoteAddress,
  })).withoutMiddleware("web"),
  Route.group({ prefix: "/api", middleware: ["api"], withoutMiddleware: ["web"] }, [
    Route.get("/me", async ({ auth }) => auth.user()),
  ]).respondsWithJson(),
];
