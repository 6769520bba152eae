import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  Api,
  ApiProvider,
  JWTAuthenticationMiddleware,
  type TokenBearer,
  type TokenModel,
} from "../../src/public/api.ts";
import { Authenticates, AuthProvider } from "../../src/public/auth.ts";
import { compose, DatabaseProvider, Model, sqlite } from "../../src/public/database.ts";
import { type Application, type HttpContext, HttpKernel, Route } from "../../src/public/index.ts";
import { digest, generateSecret } from "../../src/public/security.ts";
import { createTestApplication, createTestClient, type TestClient } from "../../src/public/testing.ts";

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
class User extends compose(Model, Authenticates) implements TokenBearer {
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
  const model: TokenModel = User;
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
      auth: { GUARDS: { default: "jwt", jwt: { driver: "jwt", model } }, ACCOUNTS: { preventEnumeration: false } },
      api: { DRIVERS: { jwt: { secret: generateSecret(), model, authenticates: true } } },
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
  test("all of them are accepted, and so is the one from the token endpoint", async () => {
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
