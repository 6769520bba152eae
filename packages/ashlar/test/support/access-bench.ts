import { Api, ApiProvider, JWTAuthenticationMiddleware, many, personal } from "../../src/api/index.ts";
import { makeAccessEpoch } from "../../src/auth/access/access-epoch.ts";
import type { AccountServices } from "../../src/auth/accounts/account-services.ts";
import { epochDigestOf } from "../../src/auth/accounts/links/account-links.ts";
import type { LoginStep } from "../../src/auth/index.ts";
import type { AccountUser } from "../../src/auth/users/account-store.ts";
import { timestamp } from "../../src/database/index.ts";
import { Route } from "../../src/routing/index.ts";
import { generateSecret } from "../../src/security/index.ts";
import { captureEvents } from "../../src/testing/index.ts";
import { type DrizzleUsers, makeDrizzleUsers } from "../extensions/drizzle-users.ts";
import { FullUser, PASSWORD, type TestAccounts, testAccounts, type Visitor } from "./account-application.ts";
import type { AtEnd } from "./build-application.ts";
import { migrationOfStub } from "./migration-folder.ts";
import type { TestEngine } from "./services.ts";

const [SECRET, OTHER_SECRET] = [generateSecret(), generateSecret()];
const EMAIL = "cleo@example.com";

/** A step that waits if the login asks it to. */
const waiting: LoginStep = {
  name: "waiting",
  page: "waiting",
  check: ({ context }) => (context.request.bodyInput("wait") === "yes" ? "pending" : "passed"),
};

/** Uses one kind of access to the account, and returns whether it still works. */
export type OpenKey = () => Promise<boolean>;

/** An application with one account, and all kinds of access to it. */
export class AccessBench {
  readonly accounts: TestAccounts;
  readonly #store: DrizzleUsers | null;
  #hash: string | null = null;
  /** The owner's browser. */
  owner!: Visitor;
  email: string = EMAIL;

  private constructor(accounts: TestAccounts, store: DrizzleUsers | null) {
    this.accounts = accounts;
    this.#store = store;
  }

  /** @param engine `null` to keep the users in a custom account store */
  static async open(engine: TestEngine | null, ACCOUNTS: object, atEnd: AtEnd): Promise<AccessBench> {
    class User extends FullUser {}
    const store = engine === null ? makeDrizzleUsers().store : null;
    const model = store ?? User;
    const tokens = { secret: SECRET, model, authenticates: true } as const;
    const accounts: TestAccounts = await testAccounts({
      ...(engine === null ? {} : { engine }),
      User,
      ACCOUNTS,
      atEnd,
      providers: [ApiProvider],
      middleware: { jwt: [JWTAuthenticationMiddleware] },
      config: {
        api: {
          DRIVERS: {
            jwt: { ...tokens, personal: personal() },
            several: { ...tokens, secret: OTHER_SECRET, tokens: many() },
          },
        },
      },
      guards: { web: { driver: "web", model, maxPerUser: 4 }, default: "web", steps: [waiting] },
      routes: [
        ...Api.routes(),
        ...Api.routes({ driver: "several" }),
        Route.get("/as-token", () => "yes").middleware("jwt"),
        Route.get("/as-several", () => "yes").middleware("jwt:several"),
        Route.get("/waiting", () => "Wait.").name("waiting"),
        Route.post("/resume", async ({ auth }) => ({ status: (await (await auth.pendingLogin())?.resume())?.status })),
        Route.post("/end-others", async ({ auth }) => void (await auth.logins().endOthers())),
        Route.post("/other-devices", async ({ auth }) => void (await auth.webGuard.logoutOtherDevices(PASSWORD))),
        Route.post("/end-all", async ({ auth }) => void (await auth.logins().endAll())),
        Route.post("/end-one", async ({ auth, request }) => void (await auth.logins().end(request.input("id")))),
        Route.post("/application", async ({ accounts, auth }) => {
          await accounts.endAccess((await auth.user())!);
        }),
        Route.post("/save", async ({ auth }) => {
          const user = (await auth.user()) as unknown as FullUser;
          await user.setPassword("a password of the application");
          await user.save();
          await auth.logins().keepCurrent();
        }),
      ],
    });
    const { kysely } = accounts.database;
    if (store === null) {
      for (const column of ["blocked_at", "closes_at"]) {
        await kysely.schema.alterTable("users").addColumn(column, timestamp(kysely)).execute();
      }
    }
    for (const stub of ["api/create_api_tokens", "tokens/create_personal_tokens"]) {
      await (await migrationOfStub(`${stub}.ts.stub`)).up(kysely);
    }
    return new AccessBench(accounts, store);
  }

  /** Whether the user has the methods of a model. */
  get hasModel(): boolean {
    return this.#store === null;
  }

  get services(): AccountServices {
    return this.accounts.application.container.make("accounts");
  }

  /** Creates the account again, and logs its owner in. */
  async reset(): Promise<void> {
    await this.accounts.mails();
    const users = this.services.users.of("web");
    for (const email of [EMAIL, "new@example.com"]) {
      const former = await users.findByEmail(email);
      if (former !== null) await this.services.deletion.ofGuard("web", former);
    }
    for (const table of ["logins", "email_changes", "password_resets", "api_tokens", "personal_tokens"]) {
      await this.accounts.database.kysely.deleteFrom(table).execute();
    }
    this.#hash ??= await this.accounts.application.container.make("auth").hasher.hash(PASSWORD);
    const account = { email: EMAIL, passwordHash: this.#hash, accessEpoch: makeAccessEpoch() };
    const created = await users.create({ ...account, attributes: { name: "Cleo" } });
    await users.update(created, { verifiedAt: new Date() }, {});
    this.email = EMAIL;
    this.owner = await this.loggedIn();
  }

  async user(): Promise<AccountUser> {
    return (await this.services.users.of("web").findByEmail(this.email))!;
  }

  /** Makes the address unverified, as after a registration. */
  async unverify(): Promise<void> {
    const id = (await this.user()).authId();
    if (this.#store !== null) await this.#store.write(Number(id), { verified_at: null });
    else await this.accounts.User.where("id", Number(id)).update({ verified_at: null });
  }

  async loggedIn(fields: object = {}): Promise<Visitor> {
    const visitor = this.accounts.visitor();
    await visitor.post("/login", { email: this.email, password: PASSWORD, ...fields });
    return visitor;
  }

  async isIn(visitor: Visitor): Promise<boolean> {
    return (await visitor.get("/logins")).status === 200;
  }

  /** Asks for a new address, and returns the link to it. */
  async changeLink(email: string): Promise<string> {
    await this.accounts.mails();
    await this.owner.post("/account/email", { email, password: PASSWORD });
    const mail = (await this.accounts.mails()).find(({ to }) => String(to).includes(email));
    return new URL(/https?:\S+/.exec(mail!.text)![0]).pathname;
  }

  /** The access that ended while `work` ran, and why, according to the events. */
  async ended(work: () => Promise<unknown>): Promise<readonly string[]> {
    using captured = captureEvents(this.accounts.application);
    await work();
    await this.accounts.mails();
    return captured.of("auth.access_ended").map(({ what, reason }) => `${what}: ${reason}`);
  }

  /** All kinds of access by name, with a function that creates it for the account. */
  get keys(): Readonly<Record<string, () => Promise<OpenKey>>> {
    const token = async (path: string) => {
      const { body } = await this.accounts.visitor().post(path, { username: this.email, password: PASSWORD });
      return body as { readonly data: string; readonly refresh: string };
    };
    const accepts = (path: string, bearer: string) => async () => {
      const page = await this.accounts.visitor().get(path, { authorization: `Bearer ${bearer}` });
      return page.status === 200;
    };
    const opens = (path: string) => async () => (await this.accounts.visitor().get(path)).status === 200;
    return {
      "another login": async () => {
        const visitor = await this.loggedIn();
        return () => this.isIn(visitor);
      },
      "a remembered login": async () => {
        const visitor = await this.loggedIn({ remember: "1" });
        return () => this.isIn(visitor);
      },
      "the login that did it": async () => () => this.isIn(this.owner),
      "a copy of its cookie": async () => {
        const copy = this.owner.copy();
        return async () => (await copy.get("/logins", { accept: "text/html" })).status === 200;
      },
      "a login that waits": async () => {
        const visitor = await this.loggedIn({ wait: "yes" });
        return async () => ((await visitor.post("/resume")).body as { status?: string }).status === "complete";
      },
      "a single API token": async () => accepts("/as-token", (await token("/api/auth")).data),
      "one of many API tokens": async () => accepts("/as-several", (await token("/api/several/auth")).data),
      "a refresh token": async () => {
        const { refresh } = await token("/api/several/auth");
        return async () =>
          (await this.accounts.visitor().post("/api/several/reauth", { token: refresh })).status === 200;
      },
      "a personal token": async () => {
        const service = this.accounts.application.container.make("apiDrivers").personal();
        const issued = await service.issue(await this.user(), { name: "backup", abilities: null, days: 30 });
        return accepts("/as-token", issued!.token);
      },
      "a reset link": async () =>
        opens(`/password_reset?token=${await this.services.tokens.issue("web", await this.user())}`),
      "a device link": async () => {
        const user = await this.user();
        const claim = { guard: "web", id: String(user.authId()), epoch: epochDigestOf(user) };
        return opens(`/login/device/${encodeURIComponent(this.services.links.device(claim))}`);
      },
      "a link to a new address": async () => {
        const user = await this.user();
        const url = this.services.pages.verificationUrl("web", user, "another@example.com");
        return opens(new URL(url).pathname);
      },
    };
  }
}
