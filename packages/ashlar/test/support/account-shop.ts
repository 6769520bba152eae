import type { Application } from "../../src/boot/index.ts";
import type { DialectSource, Row } from "../../src/database/index.ts";
import {
  captureMail,
  createTestClient,
  linksIn,
  type MailCapture,
  type TestClient,
  type TestResponse,
} from "../../src/testing/index.ts";
import type { FullUser } from "./account-application.ts";
import { bootApplication, userClass } from "./booted-application.ts";
import { edit, generateApplication } from "./generated-application.ts";
import { emptyTables, type TestEngine } from "./services.ts";

/** The address and the password of the only account. */
export const EMAIL = "ada@example.com";
export const PASSWORD = "a password of hers";
export const NEW_PASSWORD = "another password altogether";

const WIDE = { buckets: [{ by: ["address"], attempts: 100_000, windowSeconds: 60 }] };
const LIMITS = [
  "login",
  "login.account",
  "register",
  "password_reset",
  "change_password",
  "email.resend",
  "email.undo",
  "api.reauth",
];
const WIDE_LIMITS = Object.fromEntries(LIMITS.map((name) => [name, WIDE]));

/** How a test's application differs from the generated one. */
export interface AccountShopOptions {
  /** `ACCOUNTS.preventEnumeration`. */
  readonly preventEnumeration?: boolean;
  /** `THROTTLE.limits`; default: too high for tests to reach. */
  readonly limits?: object;
  /** `THROTTLE.sharedNetworks`. */
  readonly sharedNetworks?: Readonly<Record<string, number>>;
  /** Changes the generated files in a folder before the application boots. */
  readonly change?: (root: string) => Promise<void>;
}

/** A generated application with one account, on its own database. */
export class AccountShop {
  readonly application: Application;
  readonly User: typeof FullUser;
  readonly mail: MailCapture;
  readonly #remove: () => Promise<void>;
  /** The account's row. */
  #account: Row | null = null;

  private constructor(application: Application, User: typeof FullUser, mail: MailCapture, remove: () => Promise<void>) {
    this.application = application;
    this.User = User;
    this.mail = mail;
    this.#remove = remove;
  }

  static async open(
    engine: TestEngine | DialectSource,
    { preventEnumeration = false, limits = WIDE_LIMITS, sharedNetworks = {}, change }: AccountShopOptions = {},
  ): Promise<AccountShop> {
    const database = typeof engine === "function" ? "sqlite" : engine.name;
    const { root, remove } = await generateApplication({ database });
    if (preventEnumeration) {
      await edit(root, "config/auth.ts", ["preventEnumeration: false", "preventEnumeration: true"]);
    }
    await edit(root, "routes/web.ts", [
      "export const ROUTES: RouteEntry[] = [",
      `export const ROUTES: RouteEntry[] = [
  Route.get("/vault", () => "the vault").middleware("auth", "password.confirm:1"),`,
    ]);
    await change?.(root);
    const { application, end } = await bootApplication(root, {
      engine,
      config: { throttle: { THROTTLE: { limits, sharedNetworks } } },
    });
    return new AccountShop(application, await userClass(root), await captureMail(application), async () => {
      await end();
      await remove();
    });
  }

  close(): Promise<void> {
    return this.#remove();
  }

  /** Empties the database, and creates the account. */
  async reset(): Promise<void> {
    // First, it waits for the previous test's background work, including mails.
    await this.mail.clear();
    await emptyTables(this.application);
    const { kysely } = this.application.container.make("database");
    // Hashed once, because a hash takes as long as the rest of a test.
    if (this.#account === null) {
      const user = new this.User().fill({ name: "Ada", email: EMAIL });
      await user.setPassword(PASSWORD);
      await user.save();
      const { id: _, ...columns } = (await kysely.selectFrom("users").selectAll().executeTakeFirstOrThrow()) as Row;
      this.#account = columns;
    } else {
      await kysely.insertInto("users").values(this.#account).execute();
    }
    await this.mail.clear();
  }

  visitor(): TestClient {
    return createTestClient(this.application, { address: "203.0.113.7" });
  }

  /** Sends the registration form, and waits for the work after the response. */
  async register(email: string, password: string, client: TestClient = this.visitor()): Promise<TestResponse> {
    const fields = { name: "Ada", email, password, password_confirmation: password };
    const answer = await this.send(client, "/register", fields);
    await this.application.background.settled();
    return answer;
  }

  /** The account, even if its address has changed. */
  async user(): Promise<FullUser | null> {
    return (await this.User.rows().orderBy("id").get())[0] ?? null;
  }

  /** Fills in and sends a page's form. */
  async send(client: TestClient, path: string, fields = {}, form = `[action="${path}"]`): Promise<TestResponse> {
    const page = await client.get(path);
    page.assertStatus(200);
    return client.submit(page, form, fields);
  }

  /** Tries to log in, and returns whether that worked. */
  async logsIn(client: TestClient, email: string, password: string, fields = {}): Promise<boolean> {
    const { location } = Object.fromEntries(
      (await this.send(client, "/login", { email, password, ...fields })).headers,
    );
    return location === "/home";
  }

  /** Logs in, and waits for the mail about it, which might otherwise arrive after later ones. */
  async loggedIn(email: string = EMAIL, password: string = PASSWORD, fields = {}): Promise<TestClient> {
    const client = this.visitor();
    if (!(await this.logsIn(client, email, password, fields))) throw new Error("The login failed.");
    await this.mail.all();
    return client;
  }

  /** Returns whether a client can open a page for users. */
  async isIn(client: TestClient): Promise<boolean> {
    return (await client.get("/logins")).status === 200;
  }

  /** The path of the first link in the latest mail to an address. */
  async linkTo(email: string): Promise<string> {
    const latest = (await this.mail.all()).findLast(({ to }) => to === email);
    const [url] = latest === undefined ? [] : linksIn(latest);
    if (url === undefined) throw new Error(`No mail with a link went to ${email}.`);
    return url.replace(/^https?:\/\/[^/]+/, "");
  }

  async resetLink(email: string): Promise<string> {
    await this.send(this.visitor(), "/change_password", { email });
    return this.linkTo(email);
  }

  /** Sets a password with a reset link, and returns whether that worked. */
  async resetsPassword(link: string, password: string): Promise<boolean> {
    const fields = { password, password_confirmation: password };
    const client = this.visitor();
    const page = await client.get(link);
    if (page.status !== 200) return false;
    const answer = await client.submit(page, '[action="/password_reset"]', fields);
    return answer.headers.get("location") === "/login";
  }

  /** Requests a new address, and returns the link mailed to it. */
  async changeLink(client: TestClient, email: string, password: string = PASSWORD): Promise<string> {
    (await this.send(client, "/account/email", { email, password })).assertRedirect("/home");
    return this.linkTo(email);
  }

  /** Follows a link to a new address, or one that verifies an address; presses the button if there is one. */
  async verify(link: string, client: TestClient = this.visitor()): Promise<TestResponse> {
    const page = await client.get(link);
    return page.status === 200 ? client.submit(page, '[action*="/email/verify/"]') : page;
  }

  /** Follows a link that undoes a change of address, and presses its button. */
  async undo(link: string, client: TestClient = this.visitor()): Promise<TestResponse> {
    const page = await client.get(link);
    return page.status === 200 ? client.submit(page, '[action*="/email/undo/"]') : page;
  }
}
