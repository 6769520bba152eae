import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Application } from "../../src/boot/index.ts";
import { captureMail, createTestClient, linksIn, type MailCapture, type TestClient } from "../../src/testing/index.ts";
import type { FullUser } from "./account-application.ts";
import { bootApplication, userClass } from "./booted-application.ts";
import { edit, generateApplication } from "./generated-application.ts";
import { installPersonalTokens } from "./install-personal-tokens.ts";

/** A state that an account can be in. */
export interface AccountState {
  readonly name: string;
  readonly meaning: string;
  /** Whether the visitor starts with a login. */
  readonly isLoggedIn: boolean;
  /** The account's columns, other than name, address and password. */
  readonly columns: Readonly<Record<string, unknown>>;
  /** What happens to the account after the login, and after links were mailed. */
  readonly become?: (user: StateUser) => Promise<void>;
}

export const STATE_PASSWORD = "a password of hers";
const NOW = new Date("2026-11-01T12:00:00Z");

export type StateUser = FullUser & { deleted_at: Date | null; blocked_at: Date | null; closes_at: Date | null };

async function close(user: StateUser): Promise<void> {
  user.deleted_at = new Date();
  await user.save();
}

async function block(user: StateUser): Promise<void> {
  user.blocked_at = new Date();
  await user.save();
}

/** As its owner does on the page, which also ends all access. */
async function schedule(user: StateUser): Promise<void> {
  user.closes_at = new Date(Date.now() + 30 * 86_400_000);
  await user.save();
}

const VERIFIED = { verified_at: NOW };

export const ACCOUNT_STATES: readonly AccountState[] = [
  {
    name: "complete",
    meaning: "an address that is verified, and a password.",
    isLoggedIn: true,
    columns: VERIFIED,
  },
  { name: "unverified", meaning: "the address is not verified.", isLoggedIn: true, columns: {} },
  {
    name: "no address",
    meaning: "a password, but no address.",
    isLoggedIn: true,
    columns: { email: null },
  },
  {
    name: "no password",
    meaning: "a user of an identity provider, with an address that is verified.",
    isLoggedIn: true,
    columns: { password: null, ...VERIFIED },
  },
  {
    name: "neither",
    meaning: "a user of an identity provider who has no address here.",
    isLoggedIn: true,
    columns: { password: null, email: null },
  },
  {
    name: "revoked",
    meaning:
      "the password was made invalid, by `users:void-password` or an undone change of address, for example; both also end its logins.",
    isLoggedIn: true,
    columns: { password: "!", ...VERIFIED },
  },
  {
    name: "invited",
    meaning: "created without a password for someone who has never logged in.",
    isLoggedIn: false,
    columns: { password: null },
  },
  {
    name: "blocked",
    meaning: "`accounts.block` was called, or `blocked_at` was set.",
    isLoggedIn: true,
    columns: VERIFIED,
    become: block,
  },
  {
    name: "closing",
    meaning: "the owner closed it with `accounts.close`, and it is not removed yet.",
    isLoggedIn: true,
    columns: VERIFIED,
    become: schedule,
  },
  { name: "closed", meaning: "`closedColumn` is set.", isLoggedIn: true, columns: VERIFIED, become: close },
];

export type StateGuard = "web" | "admin";

const WIDE = '{ buckets: [{ by: ["address"], attempts: 1_000_000, windowSeconds: 60 }] }';
const LIMITS = [
  "login",
  "register",
  "password_reset",
  "password_reset.show",
  "change_password",
  "email.resend",
  "email.undo",
  "email_taken",
  "logins.destroy_others",
  "personal_tokens",
  "api.reauth",
];

/** An account in a state, the visitor who owns it, and what was mailed before the state began. */
export interface Arrival {
  readonly user: StateUser;
  readonly visitor: TestClient;
  /** The address that forms are filled in with, even if the account has none. */
  readonly email: string;
  readonly resetLink: string | null;
  readonly verificationLink: string | null;
  readonly apiToken: string | null;
}

/** A generated application with two guards, each with its own model, whose accounts can be in any state. */
export class StateShop {
  readonly application: Application;
  readonly mail: MailCapture;
  readonly isJson: boolean;
  readonly #root: string;
  readonly #end: () => Promise<void>;
  #count = 0;

  private constructor(
    application: Application,
    mail: MailCapture,
    isJson: boolean,
    root: string,
    end: () => Promise<void>,
  ) {
    this.application = application;
    this.mail = mail;
    this.isJson = isJson;
    this.#root = root;
    this.#end = end;
  }

  static async open(flavor: "pages" | "json"): Promise<StateShop> {
    const isJson = flavor === "json";
    const { root, remove } = await generateApplication({ pages: !isJson, json: isJson });
    await installPersonalTokens(root);
    await prepareAccounts(root, isJson);
    const { application, end } = await bootApplication(root);
    const mail = await captureMail(application);
    const endAll = async (): Promise<void> => {
      await end();
      await remove();
    };
    return new StateShop(application, mail, isJson, root, endAll);
  }

  close(): Promise<void> {
    return this.#end();
  }

  prefix(guard: StateGuard): string {
    return guard === "web" ? "" : "/admin";
  }

  visitor(): TestClient {
    return createTestClient(this.application);
  }

  /** Creates an account in a given state, with its owner's browser. */
  async arrive(guard: StateGuard, state: AccountState): Promise<Arrival> {
    const Users = (await userClass(this.#root, guard === "web" ? "User" : "Admin")) as typeof FullUser;
    const email = `person${++this.#count}@example.com`;
    const user = new Users().fill({ name: "Ada" }) as StateUser;
    user.email = email;
    await user.setPassword(STATE_PASSWORD);
    await user.save();
    const resetLink = await this.#mailed(guard, email, "change_password");
    const visitor = this.visitor();
    const columns = { ...state.columns };
    if (Object.keys(columns).length > 0) await Users.where("id", user.id).update(columns as never);
    const before = (await Users.findOrFail(user.id)) as StateUser;
    if (state.isLoggedIn)
      await visitor.actingAs(before as never, {
        guard,
        ...(before.passwordHash() !== null && { by: "password" }),
      });
    await this.mail.clear();
    const path = `${this.prefix(guard)}/email/resend`;
    let verificationLink: string | null = null;
    if (state.isLoggedIn && before.verified_at === null) {
      await visitor.withCsrfToken().postJson(path);
      verificationLink = await this.lastLink(email);
    }
    const apiToken = guard === "web" && state.isLoggedIn ? await this.#apiToken(before) : null;
    await state.become?.(before);
    await this.mail.clear();
    return {
      user: before,
      visitor,
      email,
      resetLink: before.email === null ? null : resetLink,
      verificationLink,
      apiToken,
    };
  }

  async #apiToken(user: StateUser): Promise<string> {
    return this.application.container.make("api").issueUnasked(user as never, null);
  }

  async #mailed(guard: StateGuard, email: string, page: string): Promise<string | null> {
    await this.visitor()
      .withCsrfToken()
      .postJson(`${this.prefix(guard)}/${page}`, { email });
    return this.lastLink(email);
  }

  /** The path of the first link with a token, in the last mail to an address that has one. */
  async lastLink(email: string): Promise<string | null> {
    const mails = (await this.mail.all()).filter(({ to }) => to === email);
    const link = mails
      .flatMap((mail) => linksIn(mail))
      .findLast((one) => /token=|\/email\/(?:verify|undo)\//.test(one));
    if (link === undefined) return null;
    const { pathname, search } = new URL(link);
    return pathname + search;
  }
}

/** The changes that an author makes: nullable columns, accounts that can be blocked and closed, a second guard. */
async function prepareAccounts(root: string, isJson: boolean): Promise<void> {
  const users = (
    table: string,
    name: string,
  ): string => `import { type Kysely, primaryKey, sql, timestamp, timestamps } from "ashlar/database";

export async function up(database: Kysely<unknown>): Promise<void> {
  await database.schema
    .createTable("${table}")
    .$call(primaryKey(database))
    .addColumn("name", "varchar(255)", (column) => column.notNull())
    .addColumn("email", "varchar(254)")
    .addColumn("password", "varchar(255)")
    .addColumn("access_epoch", "varchar(43)")
    .addColumn("api_token", "varchar(255)", (column) => column.unique())
    .addColumn("verified_at", timestamp(database))
    .addColumn("blocked_at", timestamp(database))
    .addColumn("closes_at", timestamp(database))
    .addColumn("deleted_at", timestamp(database))
    .$call(timestamps(database))
    .execute();
  await sql\`create unique index ${name} on ${table} (email) where deleted_at is null\`.execute(database);
}
`;
  const folder = join(root, "database/migrations");
  const own = (await readdir(folder)).find((file) => file.endsWith("create_users.ts"))!;
  await writeFile(join(folder, own), users("users", "users_open"));
  await writeFile(join(folder, "2030_01_01_000000_create_admins.ts"), users("admins", "admins_open"));
  const states = `  static override closedColumn = "deleted_at";
  static override casts = { deleted_at: "datetime", blocked_at: "datetime", verified_at: "datetime" } as const;
  declare deleted_at: Date | null;
  declare blocked_at: Date | null;
  declare closes_at: Date | null;
`;
  await edit(root, "app/models/user.ts", ["  declare id: number;", `${states}  declare id: number;`]);
  await writeFile(
    join(root, "app/models/admin.ts"),
    `import { Authenticates, MustVerifyEmail } from "ashlar/auth";
import { compose, Model } from "ashlar/database";

export class Admin extends compose(Model, Authenticates, MustVerifyEmail) {
  static override table = "admins";
  static override fillable = ["name"];
${states}  declare id: number;
  declare name: string;
  declare email: string;
}
`,
  );
  await edit(
    root,
    "config/auth.ts",
    ["  web: { model: User },", '  web: { model: User },\n  admin: { driver: "web", model: Admin },'],
    [
      'import { User } from "../app/models/user.ts";',
      'import { Admin } from "../app/models/admin.ts";\nimport { User } from "../app/models/user.ts";',
    ],
  );
  const limits = LIMITS.map((name) => `"${name}": ${WIDE}`).join(", ");
  await writeFile(join(root, "config/throttle.ts"), `export const THROTTLE = { limits: { ${limits} } };\n`);
  const options = isJson ? "json: true, " : "";
  const responds = isJson ? ".respondsWithJson()" : "";
  const guarded = (prefix: string, auth: string): string => {
    const route = (path: string, use: string) =>
      `  Route.get("${prefix}${path}", () => "for ${use}").middleware("${auth}", "${use}")${responds},`;
    return [route("/verified", "verified"), route("/confirmed", "password.confirm")].join("\n");
  };
  await edit(root, "routes/web.ts", [
    "  ...Csrf.routes(),",
    `  ...Csrf.routes(),
  ...Auth.routes(AuthControllers, { ${options}guard: "admin" }).prefix("/admin"),
${guarded("", "auth")}
${guarded("/admin", "auth:admin")}`,
  ]);
}
