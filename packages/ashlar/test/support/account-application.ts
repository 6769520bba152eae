import {
  Auth,
  type AuthControllers,
  AuthPageMiddleware,
  AuthProvider,
  type AuthRouteGroup,
  ConfirmPasswordMiddleware,
  LoadUserMiddleware,
  MustVerifyEmail,
  type MustVerifyEmailInstance,
  VerifiesEmailMiddleware,
} from "../../src/auth/index.ts";
import type { Application, ProviderClass } from "../../src/boot/index.ts";
import { compose, DatabaseProvider, type Row } from "../../src/database/index.ts";
import { EventProvider } from "../../src/events/index.ts";
import type { RouteMiddleware } from "../../src/kernel/index.ts";
import { type CapturedMail, createMailOutboxTable, MailProvider } from "../../src/mail/index.ts";
import { Route, type RouteEntry } from "../../src/routing/index.ts";
import { SessionMiddleware, SessionProvider } from "../../src/session/index.ts";
import type { Constructor } from "../../src/support/index.ts";
import {
  createRateLimitsTable,
  ThrottleMiddleware,
  ThrottleProvider,
  type ThrottleSettings,
} from "../../src/throttle/index.ts";
import { ViewProvider } from "../../src/views/index.ts";
import { ACCOUNT_CONTROLLERS, GENERATED } from "./account-controllers.ts";
import {
  ADA,
  BOB,
  createUserTable,
  insertUsers,
  ObservedApplication,
  PASSWORD,
  UserWithPassword,
  UserWithToken,
} from "./application-parts.ts";
import { Browser, type BrowserOptions, type Page } from "./browser.ts";
import {
  type BuildOptions,
  buildApplication,
  type DatabaseOptions,
  databasesOf,
  ownDatabases,
} from "./build-application.ts";
import { inPairs } from "./in-pairs.ts";
import { migrationOfStub } from "./migration-folder.ts";
import type { Contents } from "./services.ts";

export { ADA, BOB, PASSWORD };

export const NEW_PASSWORD = "staple battery horse correct";

/** The public URL of a test's application, which every link in a mail must begin with. */
export const APP_URL = "https://shop.example";

type VerifiableModel = typeof UserWithToken & Constructor<MustVerifyEmailInstance>;

const Verifiable: VerifiableModel = compose(UserWithToken, MustVerifyEmail);

/** A user with everything that accounts can use. */
export class FullUser extends Verifiable {
  static override table = "users";
  static override timestamps = false;
}

/** A user without `MustVerifyEmail` and without API tokens. */
export class PlainUser extends UserWithPassword {
  static override table = "users";
  static override timestamps = false;
  declare name: string;
}

/** A user in another table, for a second guard. */
export class AdminUser extends Verifiable {
  static override table = "admins";
  static override timestamps = false;
}

/** How a test's application differs from the default. */
export interface TestAccountsOptions
  extends Pick<BuildOptions, "config" | "environment" | "hasher" | "logged" | "logger" | "atEnd">,
    Pick<DatabaseOptions, "engine" | "settings"> {
  /** Another application whose database this one uses, as after a restart. */
  readonly restarted?: TestAccounts;
  /** The users' class; default: {@link FullUser}. */
  readonly User?: typeof FullUser | typeof PlainUser;
  readonly ACCOUNTS?: object;
  /** Models of other guards, which use the same database. */
  readonly models?: readonly (typeof AdminUser)[];
  /** `GUARDS` in addition to the guard `web`. */
  readonly guards?: Readonly<Record<string, unknown>>;
  /** Routes in addition to the default ones. */
  readonly routes?: readonly RouteEntry[];
  readonly controllers?: Partial<AuthControllers>;
  readonly leftOut?: Readonly<Partial<Record<AuthRouteGroup, false>>>;
  /** Middleware in addition to the default, or replacing it. */
  readonly middleware?: RouteMiddleware;
  /** Providers in addition to the default ones. */
  readonly providers?: readonly ProviderClass[];
  /** Providers that are missing. */
  readonly without?: readonly ProviderClass[];
  /** The limits in `config/throttle.ts`; default: high ones. */
  readonly throttle?: object;
  /** Where attempts are counted; default: in the database. */
  readonly store?: ThrottleSettings["store"];
  /** The name of a second connection, to a database with the same tables and users. */
  readonly secondConnection?: string;
  /** With `true`, the application decides which database its models use. */
  readonly bindsItself?: true;
}

/** All events about accounts. */
const EVENTS = [
  "auth.login",
  "auth.pending",
  "auth.failed",
  "auth.registered",
  "auth.verification_sent",
  "auth.email_verified",
  "auth.email_change_requested",
  "auth.email_changed",
  "auth.email_change_undone",
  "auth.password_reset_requested",
  "auth.password_reset",
  "auth.password_changed",
] as const;

/** An application with accounts on its own database, with the users Ada (1) and Bob (2), both unverified. */
export class TestAccounts extends ObservedApplication {
  readonly User: typeof FullUser;
  readonly #inPairs = inPairs();

  constructor(application: Application, User: typeof FullUser) {
    super(application, EVENTS);
    this.User = User;
  }

  /** A browser that requests pages, as all browsers do. */
  visitor(options: BrowserOptions = {}): Visitor {
    return new Visitor(this.application, { ip: "203.0.113.7", ...options });
  }

  /** A browser in which a user has logged in. */
  async loggedIn({ email }: { readonly email: string } = ADA, password: string = PASSWORD): Promise<Visitor> {
    const visitor = this.visitor();
    const { status, headers } = await this.#inPairs(() => visitor.post("/login", { email, password }));
    if (status !== 302 || headers.get("location") !== "/home") throw new Error("The login failed.");
    return visitor;
  }

  /** The mails since the last call. It waits until all have been sent. */
  async mails(): Promise<readonly CapturedMail[]> {
    await this.application.background.settled();
    // Some are sent by event listeners.
    const { container } = this.application;
    if (container.has("events")) await container.make("events").settled();
    const mailer = container.make("mail");
    await mailer.settled();
    const mails = mailer.captured;
    mailer.clear();
    return mails;
  }

  /** The path of the link in the last mail. */
  async link(): Promise<string> {
    return pathIn((await this.mails()).at(-1));
  }

  /** The token of the reset link mailed to a user. */
  async resetToken({ email }: { readonly email: string } = ADA): Promise<string> {
    await this.visitor().post("/change_password", { email });
    return new URL(linkIn((await this.mails()).at(-1))).searchParams.get("token")!;
  }

  async user(id: number = ADA.id): Promise<FullUser> {
    return this.User.findOrFail(id);
  }

  /** A table's rows, sorted by `id` if there is one, because PostgreSQL moves updated rows. */
  async rows(table: string): Promise<Row[]> {
    const rows = (await this.database.kysely.selectFrom(table).selectAll().execute()) as Row[];
    return rows.toSorted((one, other) => Number(one.id ?? 0) - Number(other.id ?? 0));
  }

  head(path: string): Promise<Response> | Response {
    return this.application.fetch(new Request(new URL(path, APP_URL), { method: "HEAD" }));
  }
}

/** A browser: it prefers pages. */
export class Visitor extends Browser {
  constructor(application: Application, options: BrowserOptions) {
    super(application, { origin: APP_URL, ...options });
  }

  override get(path: string, headers: Record<string, string> = {}): Promise<Page> {
    return super.get(path, { accept: "text/html", ...headers });
  }

  override post(path: string, body: object = {}, headers: Record<string, string> = {}): Promise<Page> {
    return super.post(path, body, { accept: "text/html", ...headers });
  }
}

const OUTCOMES: readonly (readonly [said: RegExp, outcome: string])[] = [
  [/^Your email address is verified\.$/, "verified"],
  [/^The email address of your account is now \S+@\S+\. All other /, "verified"],
  [/^Your email address is already verified\.$/, "already"],
  [/^The email address of your account is already \S+@\S+\.$/, "already"],
  [/^This link is no longer valid\.$/, "invalid"],
];

/**
 * Follows a verification link, presses the button if there is one, and returns what the resulting page says:
 * `verified`, `already` or `invalid`.
 */
export async function outcomeOf(visitor: Visitor, link: string): Promise<string> {
  const page = await visitor.get(link);
  const answer = page.status === 200 ? await visitor.post(buttonOf(page, link)) : page;
  const target = answer.headers.get("location") ?? "";
  const { body } = await visitor.get(target);
  const [, said = ""] = /role="(?:status|alert)"[\s\S]*?>([^<>]*\.)</.exec(String(body)) ?? [];
  return OUTCOMES.find(([words]) => words.test(said))?.[1] ?? `${target}: ${said}`;
}

/** The URL that the button on a verification link's page posts to. */
function buttonOf({ body }: Page, link: string): string {
  const { pathname } = new URL(link, APP_URL);
  if (!String(body).includes(`<form class="card" method="post" action="${pathname}">`)) throw new Error(String(body));
  return pathname;
}

/** The one link in a mail. */
export function linkIn(mail: CapturedMail | undefined): string {
  const [url, ...others] = mail?.text.match(/https?:\S+/g) ?? [];
  if (url === undefined || others.length > 0) throw new Error(`One link was expected in: ${mail?.text}`);
  return url;
}

/** The path of the one link in a mail, which leads to the application. */
export function pathIn(mail: CapturedMail | undefined): string {
  const url = linkIn(mail);
  if (!url.startsWith(`${APP_URL}/`)) throw new Error(`The link leads to ${url}.`);
  return url.slice(APP_URL.length);
}

const MIDDLEWARE: RouteMiddleware = {
  web: [SessionMiddleware, LoadUserMiddleware],
  "auth.page": [AuthPageMiddleware],
  throttle: [ThrottleMiddleware],
  verified: [VerifiesEmailMiddleware],
  "password.confirm": [ConfirmPasswordMiddleware],
};

const PROVIDERS: readonly ProviderClass[] = [
  EventProvider,
  DatabaseProvider,
  ViewProvider,
  SessionProvider,
  ThrottleProvider,
  MailProvider,
  AuthProvider,
];

const WIDE = { buckets: [{ by: ["address"], attempts: 100_000, windowSeconds: 60 }] };
const WIDE_LIMITS = Object.fromEntries(
  ["login", "login.account", "register", "password_reset", "change_password", "email.resend", "email.undo"].map(
    (name) => [name, WIDE],
  ),
);

const ROUTES: readonly RouteEntry[] = [Route.get("/me", async ({ auth }) => ({ user: await auth.user() }))];
/** It needs the pages that it redirects to. */
const MEMBERS = Route.get("/members", () => "for members").middleware("verified");

/**
 * Creates an application with accounts and its own database; both are removed after the test, or after all tests that
 * use them.
 */
export async function testAccounts(options: TestAccountsOptions = {}): Promise<TestAccounts> {
  const User = options.User ?? class User extends FullUser {};
  const { restarted, secondConnection, store, ACCOUNTS, without = [], leftOut = {}, controllers = {} } = options;
  const names = secondConnection === undefined ? ["main"] : ["main", secondConnection];
  const application = await buildApplication({
    ...options,
    root: GENERATED,
    routes: [
      ...Auth.routes({ ...ACCOUNT_CONTROLLERS, ...controllers }, leftOut as Record<never, false>),
      ...ROUTES,
      ...(leftOut.login === false || leftOut.verifyEmail === false ? [] : [MEMBERS]),
      ...(options.routes ?? []),
    ],
    middleware: { ...MIDDLEWARE, ...options.middleware },
    providers: [...PROVIDERS, ...(options.providers ?? [])].filter((provider) => !without.includes(provider)),
    config: {
      // So that no background statement runs while a test counts statements.
      mail: { MAIL: { retry: { delaySeconds: 60 }, outbox: { pollSeconds: 3600 } } },
      ...options.config,
      throttle: { THROTTLE: { limits: options.throttle ?? WIDE_LIMITS, ...(store && { store }) } },
      auth: {
        GUARDS: { default: "web", web: { model: User }, ...options.guards },
        ...(ACCOUNTS && { ACCOUNTS }),
      },
    },
    environment: { APP_URL, ...options.environment },
    databases: restarted
      ? databasesOf(restarted.application)
      : await ownDatabases({ ...options, names, contents: USERS }),
    models: options.bindsItself ? [] : [User, AdminUser, ...(options.models ?? [])],
  });
  return new TestAccounts(application, User as typeof FullUser);
}

const USERS: Contents = {
  name: "accounts",
  async fill(database) {
    const { kysely } = database;
    for (const table of ["users", "admins"]) await createUserTable(database, table);
    for (const stub of [
      "create_logins",
      "create_password_resets",
      "create_email_changes",
      "create_maintenance",
      "add_verified_at_to_users",
    ]) {
      const { up } = await migrationOfStub(`auth/migrations/${stub}.ts.stub`);
      await up(kysely);
    }
    await createRateLimitsTable(kysely);
    await createMailOutboxTable(kysely);
    await kysely.schema.alterTable("admins").addColumn("verified_at", "varchar(40)").execute();
    await insertUsers(database, "users", [ADA, BOB]);
    await insertUsers(database, "admins", [{ name: "Root", email: ADA.email }]);
  },
};
