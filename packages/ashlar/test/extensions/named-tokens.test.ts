import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import {
  Api,
  ApiProvider,
  type DriversSettings,
  JWTAuthenticationMiddleware,
  type TokenHolder,
} from "../../src/public/api.ts";
import { Authenticates, AuthProvider, type CredentialHolder } from "../../src/public/auth.ts";
import { compose, DatabaseProvider, Model, sqlite } from "../../src/public/database.ts";
import { type Application, type HttpContext, HttpKernel, Route } from "../../src/public/index.ts";
import { digest, generateSecret } from "../../src/public/security.ts";
import {
  createTestApplication,
  createTestClient,
  type TestClient,
  travel,
  travelBack,
} from "../../src/public/testing.ts";
import {
  NEW_PASSWORD,
  PASSWORD as OLD_PASSWORD,
  PlainUser,
  ADA as PRESENT,
  type TestAccounts,
  testAccounts,
  type Visitor,
} from "../support/account-application.ts";

const EMAIL = "ada@example.com";
const PASSWORD = "a password of hers";

class Token extends Model {
  static override table = "tokens";
  static override timestamps = false;
  declare id: number;
  declare digest: string;
  declare epoch: string;
  declare name: string;
  declare user_id: number;
}

/** A user with any number of tokens, each with a name: another class for `DRIVERS.jwt.model`. */
class User extends compose(Model, Authenticates) implements TokenHolder {
  static override table = "users";
  static override timestamps = false;
  declare id: number;
  declare email: string;

  /** @returns the token, which is not stored */
  async createToken(application: Application, name: string): Promise<string> {
    const token = application.container.make("api").issue(this.id);
    await this.activateToken(digest(token), name);
    return token;
  }

  // Bound to the access epoch, so that everything that ends access to the account ends them all.
  async holdsToken(digest: string): Promise<boolean> {
    return (await this.#tokens.where("digest", digest).where("epoch", this.accessEpoch()).first()) !== null;
  }

  async activateToken(digest: string, name = "login"): Promise<void> {
    await Token.create({ digest, epoch: this.accessEpoch(), name, user_id: this.id });
  }

  async revokeToken(digest?: string): Promise<void> {
    await (digest === undefined ? this.#tokens : this.#tokens.where("digest", digest)).delete();
  }

  static async replaceToken(id: number | string | bigint, replaced: string, digest: string): Promise<boolean> {
    const user = await User.find(id);
    const token = Token.where("user_id", Number(id)).where("digest", replaced);
    // A token of an old epoch stays ended, whatever replaces it.
    return user !== null && (await token.where("epoch", user.accessEpoch()).update({ digest })) === 1;
  }

  get #tokens() {
    return Token.where("user_id", this.id);
  }
}

class Kernel extends HttpKernel {
  override routeMiddleware = { web: [], jwt: [JWTAuthenticationMiddleware] };
}

let application: Application;
let client: TestClient;
let user: User;

beforeEach(async () => {
  const DRIVERS = { jwt: { secret: generateSecret(), model: User, authenticates: true } } satisfies DriversSettings;
  application = await createTestApplication({
    kernel: Kernel,
    providers: [DatabaseProvider, AuthProvider, ApiProvider],
    routes: [
      ...Api.routes(),
      Route.get("/me", ({ auth }: HttpContext) => auth.check().then((known) => ({ known }))).middleware("jwt"),
      Route.post("/logout", async ({ auth }: HttpContext) => {
        await auth.guard("jwt").logout();
        return {};
      }).middleware("jwt"),
    ],
    config: {
      database: { DATABASES: { default: "main", main: sqlite({ path: ":memory:" }) } },
      auth: {
        GUARDS: { default: "jwt", jwt: { driver: "jwt", model: User } },
        ACCOUNTS: { preventEnumeration: false },
      },
      api: { DRIVERS },
      throttle: {},
    },
  });
  const { kysely } = application.container.make("database");
  await kysely.schema
    .createTable("users")
    .addColumn("id", "integer", (column) => column.primaryKey())
    .addColumn("email", "text", (column) => column.unique())
    .addColumn("password", "text")
    .addColumn("access_epoch", "text")
    .execute();
  await kysely.schema
    .createTable("tokens")
    .addColumn("id", "integer", (column) => column.primaryKey())
    .addColumn("user_id", "integer")
    .addColumn("name", "text")
    .addColumn("digest", "text", (column) => column.unique())
    .addColumn("epoch", "text")
    .execute();
  user = new User().fill({ email: EMAIL });
  await user.setPassword(PASSWORD);
  await user.save();
  client = createTestClient(application);
});

afterEach(() => application.shutdown());

const status = async (token: string) => (await client.withToken(token).get("/me")).status;

async function post(path: string, body: object): Promise<string> {
  const answer = await client.post(path, body);
  return (answer.json as { readonly data: string }).data;
}

describe("an application's own user class, with several named tokens", () => {
  test("all of them are accepted, and so is the token endpoint's token", async () => {
    const laptop = await user.createToken(application, "laptop");
    const phone = await user.createToken(application, "phone");
    const login = await post("/api/auth", { username: EMAIL, password: PASSWORD });
    expect([await status(laptop), await status(phone), await status(login)]).toEqual([200, 200, 200]);
    const tokens = await Token.where("user_id", user.id).orderBy("id").get();
    expect(tokens.map(({ name }) => name)).toEqual(["laptop", "phone", "login"]);
  });

  test("renews one of them, once, under the same name", async () => {
    const [laptop, phone] = [
      await user.createToken(application, "laptop"),
      await user.createToken(application, "phone"),
    ];
    const renewed = await post("/api/reauth", { token: laptop });
    expect([await status(laptop), await status(phone), await status(renewed)]).toEqual([401, 200, 200]);
    // The answer may have been lost: for a minute, the same one is given again.
    expect(await post("/api/reauth", { token: laptop })).toBe(renewed);
    onTestFinished(travelBack);
    travel(2);
    (await client.post("/api/reauth", { token: laptop })).assertStatus(401);
    expect((await Token.findBy("digest", digest(renewed)))?.name).toBe("laptop");
  });

  test("logs out of one of them", async () => {
    const [laptop, phone] = [
      await user.createToken(application, "laptop"),
      await user.createToken(application, "phone"),
    ];
    (await client.withToken(laptop).post("/logout")).assertStatus(200);
    expect([await status(laptop), await status(phone)]).toEqual([401, 200]);
  });

  test.each<[string, (user: User) => Promise<unknown>]>([
    [
      "a new password",
      async (one) => {
        await one.setPassword("another password altogether");
        await one.save();
      },
    ],
    ["endAccess()", (one) => one.endAccess()],
  ])("loses all of them to %s", async (_, end) => {
    const [laptop, phone] = [
      await user.createToken(application, "laptop"),
      await user.createToken(application, "phone"),
    ];
    await end(user);
    expect([await status(laptop), await status(phone)]).toEqual([401, 401]);
    (await client.post("/api/reauth", { token: laptop })).assertStatus(401);
  });
});

describe("an application's own user class, whose tokens only endCredentials() ends", () => {
  class OwnToken extends Model {
    static override table = "tokens";
    static override timestamps = false;
    declare digest: string;
    declare user_id: number;
  }

  class OwnUser extends PlainUser implements TokenHolder, CredentialHolder {
    async holdsToken(digest: string): Promise<boolean> {
      return (await this.#tokens.where("digest", digest).first()) !== null;
    }

    async activateToken(digest: string): Promise<void> {
      await OwnToken.create({ digest, user_id: this.id });
    }

    async revokeToken(digest?: string): Promise<void> {
      await (digest === undefined ? this.#tokens : this.#tokens.where("digest", digest)).delete();
    }

    endCredentials(): Promise<void> {
      return this.revokeToken();
    }

    static async replaceToken(id: number | string | bigint, replaced: string, digest: string): Promise<boolean> {
      return (await OwnToken.where("user_id", Number(id)).where("digest", replaced).update({ digest })) === 1;
    }

    get #tokens() {
      return OwnToken.where("user_id", this.id);
    }
  }

  interface Shop {
    readonly accounts: TestAccounts;
    /** The user's own browser, logged in. */
    readonly visitor: Visitor;
    /** Logs in at the token endpoint, and returns whether the token is still accepted each time it is asked. */
    readonly token: (username?: string) => Promise<() => Promise<boolean>>;
  }

  /** Calls that end access without a page. */
  const ENDINGS: Readonly<Record<string, (user: OwnUser) => Promise<unknown>>> = {
    "user.endAccess()": (one) => one.endAccess(),
    "setPassword() and save()": async (one) => {
      await one.setPassword(NEW_PASSWORD);
      await one.save();
    },
    "a new address and save()": (one) => one.fill({ email: "countess@example.com" }).save(),
  };

  async function open(): Promise<Shop> {
    const accounts = await testAccounts({
      User: OwnUser,
      providers: [ApiProvider],
      guards: { jwt: { driver: "jwt", model: OwnUser } },
      middleware: { jwt: [JWTAuthenticationMiddleware] },
      config: { api: { DRIVERS: { jwt: { secret: generateSecret(), model: OwnUser, authenticates: true } } } },
      routes: [
        ...Api.routes(),
        Route.get("/mine", () => ({})).middleware("jwt"),
        Route.post("/end-all", async ({ auth }) => ({ ended: await auth.logins().endAll() })),
        Route.post("/end-others", async ({ auth }) => ({
          done: await auth.webGuard.logoutOtherDevices(OLD_PASSWORD),
        })),
        Route.post("/block", async ({ accounts: own, auth }) => ({ done: await own.endAccess((await auth.user())!) })),
      ],
    });
    OwnToken.useDatabase(accounts.database);
    await accounts.database.kysely.schema
      .createTable("tokens")
      .addColumn("id", "integer", (column) => column.primaryKey())
      .addColumn("user_id", "integer")
      .addColumn("digest", "text", (column) => column.unique())
      .execute();
    const send = (authorization: string) => accounts.visitor().get("/mine", { authorization, accept: "*/*" });
    const token = async (username: string = PRESENT.email) => {
      const fields = { username, password: OLD_PASSWORD };
      const { body } = await accounts.visitor().post("/api/auth", fields, { accept: "application/json" });
      const { data } = body as { readonly data: string };
      return async () => (await send(`Bearer ${data}`)).status === 200;
    };
    return { accounts, visitor: await accounts.loggedIn(), token };
  }

  /** Changes the address by a request and the link that is mailed; returns the path of the link that undoes it. */
  async function changeAddress({ accounts, visitor }: Shop): Promise<string> {
    await visitor.post("/account/email", { email: "countess@example.com", password: OLD_PASSWORD });
    const pathTo = async (email: string) => {
      const { text } = (await accounts.mails()).findLast(({ to }) => to === email)!;
      return new URL(/https:\S+/.exec(text)![0]).pathname;
    };
    await visitor.get(await pathTo("countess@example.com"));
    return pathTo(PRESENT.email);
  }

  const passwords = { password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };

  test.each<[string, (shop: Shop) => Promise<unknown>]>([
    [
      "a new password",
      ({ visitor }) => visitor.post("/account/password", { current_password: OLD_PASSWORD, ...passwords }),
    ],
    [
      "a forgotten password",
      async ({ accounts }) => {
        await accounts.visitor().post("/password_reset", { token: await accounts.resetToken(), ...passwords });
      },
    ],
    ["a new address", changeAddress],
    ["a logout of all other devices", ({ visitor }) => visitor.post("/logins", { __method: "DELETE" })],
    ["logoutOtherDevices()", ({ visitor }) => visitor.post("/end-others")],
    ["auth.logins().endAll()", ({ visitor }) => visitor.post("/end-all")],
    ["accounts.endAccess()", ({ visitor }) => visitor.post("/block")],
    ...Object.entries(ENDINGS).map(([title, end]): [string, (shop: Shop) => Promise<unknown>] => [
      title,
      async ({ accounts }) => end((await accounts.user()) as unknown as OwnUser),
    ]),
  ])("S51 loses them to %s", async (_, end) => {
    const shop = await open();
    const [laptop, phone] = [await shop.token(), await shop.token()];
    expect([await laptop(), await phone()]).toEqual([true, true]);
    await end(shop);
    expect([await laptop(), await phone()]).toEqual([false, false]);
  });

  test("S51 loses them when a change of address is undone", async () => {
    const shop = await open();
    const undo = await changeAddress(shop);
    const thief = await shop.token("countess@example.com");
    expect(await thief()).toBe(true);
    await shop.accounts.visitor().post(undo);
    expect([await thief(), (await shop.accounts.user()).email]).toEqual([false, PRESENT.email]);
  });

  test("keeps them when something else is saved, along with another user's", async () => {
    const shop = await open();
    const [ada, bob] = [await shop.token(), await shop.token("bob@example.com")];
    const one = (await shop.accounts.user()) as unknown as OwnUser;
    await one.fill({ name: "Countess" }).save();
    expect(await ada()).toBe(true);
    await one.endAccess();
    expect([await ada(), await bob()]).toEqual([false, true]);
  });

  test.each(Object.entries(ENDINGS))("S51 %s changes nothing if the tokens cannot be ended", async (_, end) => {
    const { accounts, token } = await open();
    const isAccepted = await token();
    const before = await accounts.rows("users");
    const revoke = OwnUser.prototype.endCredentials;
    onTestFinished(() => void Object.assign(OwnUser.prototype, { endCredentials: revoke }));
    OwnUser.prototype.endCredentials = async function () {
      await revoke.call(this);
      throw new Error("The disk is full.");
    };
    await expect(end((await accounts.user()) as unknown as OwnUser)).rejects.toThrow("The disk is full.");
    expect([await accounts.rows("users"), await isAccepted()]).toEqual([before, true]);
  });
});
