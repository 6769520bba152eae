import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { ADA, BOB, FullUser, NEW_PASSWORD, PASSWORD, testAccounts } from "../../../test/support/account-application.ts";
import { testApi } from "../../../test/support/api-application.ts";
import { UserWithPassword } from "../../../test/support/application-parts.ts";
import { onEachDatabase } from "../../../test/support/services.ts";
import { type Application, createApplication } from "../../boot/index.ts";
import { Database, DatabaseProvider } from "../../database/index.ts";
import { Route } from "../../routing/index.ts";
import { argon2id, generateSecret, type PasswordHasher } from "../../security/index.ts";
import { AshlarError } from "../../support/index.ts";
import { createTestApplication, passwordHasherSuite, quickHasher } from "../../testing/index.ts";
import { AuthProvider } from "../auth-provider.ts";

const scryptKey = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt);
let derivations = 0;
function derive(...parameters: Parameters<typeof scryptKey>): Promise<Buffer> {
  derivations++;
  return scryptKey(...parameters);
}
/** Almost no work: these tests are about which passwords are hashed, not about the strength. */
const COST: ScryptOptions = { cost: 2 };
const PREFIX = "$scrypt$";
/** The framework's hashes, if nothing is configured. */
const FRAMEWORKS = /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/;

/** A custom hasher, which records its calls. */
class ScryptHasher implements PasswordHasher {
  readonly calls: unknown[] = [];

  async hash(plain: string): Promise<string> {
    if (plain === "") throw new AshlarError("E_INVALID_PASSWORD");
    this.calls.push(["hash", plain]);
    const salt = randomBytes(16);
    return `${PREFIX}${salt.toString("base64url")}$${(await derive(plain, salt, 32, COST)).toString("base64url")}`;
  }

  async verify(hash: string | null, plain: string): Promise<boolean> {
    this.calls.push(["verify", hash === null ? null : hash.slice(0, PREFIX.length), plain]);
    const match = /^\$scrypt\$([\w-]{22})\$([\w-]{43})$/.exec(hash ?? "");
    const [, salt = "", expected = ""] = match ?? [];
    const tag = await derive(plain, Buffer.from(salt, "base64url"), 32, COST);
    return match !== null && timingSafeEqual(tag, Buffer.from(expected, "base64url"));
  }

  needsRehash(hash: string): boolean {
    return !hash.startsWith(PREFIX);
  }
}

/** One that also accepts the previous hashes. */
class MovingHasher extends ScryptHasher {
  readonly #before: PasswordHasher = quickHasher();

  override async verify(hash: string | null, plain: string): Promise<boolean> {
    return hash?.startsWith("$argon2id$") ? this.#before.verify(hash, plain) : super.verify(hash, plain);
  }
}

/** One that accepts every password, even without a hash. */
class Credulous extends ScryptHasher {
  override async verify(hash: string | null, plain: string): Promise<boolean> {
    await super.verify(hash, plain);
    return true;
  }

  override needsRehash(): boolean {
    return false;
  }
}

/** A class of users in which Ada has no password. */
class WithoutPassword extends FullUser {
  override passwordHash(): string | null {
    return this.id === ADA.id ? null : super.passwordHash();
  }
}

describe("a custom hasher", () => {
  describe("keeps its promises", () => {
    for (const { title, run } of passwordHasherSuite(() => new ScryptHasher(), { work: () => derivations }))
      test(title, run);
  });

  test("S31 registers, logs in, confirms, changes and resets: no other hasher is used", async () => {
    const hasher = new ScryptHasher();
    const accounts = await testAccounts({ hasher });
    const cleo = { name: "Cleo", email: "cleo@example.com", password: PASSWORD, password_confirmation: PASSWORD };
    await accounts.visitor().post("/register", cleo);
    const hashes = [(await accounts.user(3)).password];
    const visitor = await accounts.loggedIn(cleo);
    await visitor.post("/confirm_password", { password: PASSWORD });
    const passwords = { password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
    await visitor.post("/account/password", { current_password: PASSWORD, ...passwords });
    hashes.push((await accounts.user(3)).password);
    const token = await accounts.resetToken(cleo);
    const third = { password: `${PASSWORD}!`, password_confirmation: `${PASSWORD}!` };
    await accounts.visitor().post("/password_reset", { token, ...third });
    hashes.push((await accounts.user(3)).password);
    expect(new Set(hashes).size).toBe(3);
    for (const hash of hashes) expect(hash).toMatch(/^\$scrypt\$/);
    await accounts.loggedIn(cleo, third.password);
    expect(hasher.calls).toEqual([
      ["hash", PASSWORD],
      ["verify", PREFIX, PASSWORD],
      ["verify", PREFIX, PASSWORD],
      ["verify", PREFIX, PASSWORD],
      ["verify", PREFIX, NEW_PASSWORD],
      ["hash", NEW_PASSWORD],
      ["verify", PREFIX, third.password],
      ["hash", third.password],
      ["verify", PREFIX, third.password],
    ]);
  });

  test("S31 verifies the password for an API token", async () => {
    const hasher = new MovingHasher();
    const api = await testApi({ hasher });
    const { status } = await api.post("/api/auth", { username: ADA.email, password: PASSWORD });
    expect(status).toBe(200);
    expect((await api.User.findOrFail(ADA.id)).passwordHash()).toMatch(/^\$scrypt\$/);
  });

  test("S31 hashes passwords that are set on a user's model, even outside of requests", async () => {
    const accounts = await testAccounts({ hasher: new MovingHasher() });
    const user = await accounts.user();
    await user.setPassword(NEW_PASSWORD);
    expect(user.password).toMatch(/^\$scrypt\$/);
    expect([await user.verifyPassword(NEW_PASSWORD), await user.verifyPassword(PASSWORD)]).toEqual([true, false]);
    await user.save();
    await accounts.loggedIn(ADA, NEW_PASSWORD);
  });

  test("replaces previous hashes at the next login", async () => {
    const accounts = await testAccounts({ hasher: new MovingHasher() });
    expect((await accounts.user()).password).toMatch(/^\$argon2id\$/);
    await accounts.loggedIn();
    expect((await accounts.user()).password).toMatch(/^\$scrypt\$/);
    await accounts.loggedIn();
  });

  test("S32 does the same work for an unknown address and for an account without a password", async () => {
    const hasher = new ScryptHasher();
    const accounts = await testAccounts({ hasher, User: WithoutPassword });
    for (const email of ["nobody@example.com", ADA.email]) {
      await accounts.visitor().post("/login", { email, password: PASSWORD });
    }
    expect(hasher.calls).toEqual(Array(2).fill(["verify", null, PASSWORD]));
  });

  test("S31 that accepts a missing hash does not open accounts without a password", async () => {
    const accounts = await testAccounts({ hasher: new Credulous(), User: WithoutPassword });
    await accounts.loggedIn(BOB, "any password");
    for (const email of ["nobody@example.com", ADA.email]) {
      const visitor = accounts.visitor();
      await visitor.post("/login", { email, password: PASSWORD });
      expect((await visitor.get("/me")).body).toEqual({ user: null });
    }
  });

  test("S31 that accepts a missing hash confirms no password for a guest, or for a user without one", async () => {
    const hasher = new Credulous();
    const enter = Route.post("/enter", async ({ auth, response }) => {
      await auth.loginAs(await accounts.user());
      return response.noContent();
    });
    const prove = Route.post("/prove", async ({ auth, request }) => ({
      proved: await auth.webGuard.confirmPassword(request.input("password")),
    }));
    const accounts = await testAccounts({ hasher, User: WithoutPassword, routes: [enter, prove] });
    const visitor = accounts.visitor();
    expect((await visitor.post("/prove", { password: PASSWORD })).body).toEqual({ proved: false });
    await visitor.post("/enter");
    expect((await visitor.get("/me")).body).toMatchObject({ user: { id: ADA.id } });
    expect((await visitor.post("/prove", { password: PASSWORD })).body).toEqual({ proved: false });
    // There is nothing to verify, which the user knows.
    expect(hasher.calls).toEqual([["verify", null, PASSWORD]]);
  });
});

describe("unexpected results of a custom hasher", () => {
  /** A hasher with one method that returns something else. */
  const odd = (method: keyof PasswordHasher, answer: unknown): PasswordHasher => {
    const hasher = new MovingHasher();
    Object.defineProperty(hasher, method, { value: () => answer });
    return hasher;
  };

  test.each([
    ["text", "no"],
    ["a number", 1],
    ["an object", { ok: false }],
    ["nothing", undefined],
  ])("S31 %s instead of true or false logs no one in", async (_, answer) => {
    const logged: Record<string, unknown>[] = [];
    const accounts = await testAccounts({ hasher: odd("verify", answer), logged });
    const visitor = accounts.visitor();
    expect((await visitor.post("/login", { email: ADA.email, password: "wrong" })).status).toBe(500);
    expect((await visitor.get("/me")).body).toEqual({ user: null });
    expect(JSON.stringify(logged)).toContain("PASSWORDS.hasher: verify() returned neither true nor false.");
  });

  test.each([
    ["nothing", ""],
    ["the placeholder of a revoked password", "!"],
    ["the password itself", NEW_PASSWORD],
    ["more than a column holds", "x".repeat(256)],
    ["a number", 42],
    ["bytes", Buffer.from("bytes")],
  ])("S31 %s instead of a hash is not stored", async (_, answer) => {
    const accounts = await testAccounts({ hasher: odd("hash", answer) });
    const before = (await accounts.user()).password;
    const user = await accounts.user();
    await expect(user.setPassword(NEW_PASSWORD)).rejects.toMatchObject({
      code: "E_INTERNAL",
      message: expect.stringContaining("PASSWORDS.hasher: hash() returned something that is not a hash"),
    });
    expect([user.password, (await accounts.user()).password]).toEqual([before, before]);
  });

  test.each(["$1", `$x$${"x".repeat(252)}`])(
    "text of 2 to 255 characters is accepted as a hash: %s",
    async (answer) => {
      const accounts = await testAccounts({ hasher: odd("hash", answer) });
      const user = await accounts.user();
      await user.setPassword(NEW_PASSWORD);
      await user.save();
      expect((await accounts.user()).password).toBe(answer);
    },
  );

  test("returning a promise instead of true or false throws an error that says so", async () => {
    const accounts = await testAccounts({ hasher: odd("needsRehash", Promise.resolve(false)) });
    const { auth } = { auth: accounts.application.container.make("auth") };
    expect(() => auth.hasher.needsRehash("$scrypt$")).toThrow("needsRehash() returned neither true nor false.");
  });

  test.each(["E_OVERLOADED", "E_INVALID_PASSWORD"] as const)(
    "a previous hash is kept until the next login if the new one can't be created: %s",
    async (code) => {
      const hasher = new MovingHasher();
      hasher.hash = () => Promise.reject(new AshlarError(code));
      const accounts = await testAccounts({ hasher });
      await accounts.loggedIn();
      expect((await accounts.user()).password).toMatch(/^\$argon2id\$/);
    },
  );

  test("S32 a revoked password, and an empty one, cost as much as an unknown address, and open nothing", async () => {
    class Credulous extends ScryptHasher {
      override async verify(hash: string | null, plain: string): Promise<boolean> {
        this.calls.push(["verify", hash, plain]);
        return true;
      }
    }
    const hasher = new Credulous();
    const accounts = await testAccounts({ hasher });
    for (const password of ["!", ""]) {
      await accounts.database.kysely.updateTable("users").set({ password }).where("id", "=", ADA.id).execute();
      const visitor = accounts.visitor();
      await visitor.post("/login", { email: ADA.email, password: PASSWORD });
      expect((await visitor.get("/me")).body).toEqual({ user: null });
      expect(await (await accounts.user()).verifyPassword(PASSWORD)).toBe(false);
    }
    expect(hasher.calls).toEqual(Array(2).fill(["verify", null, PASSWORD]));
  });
});

describe("the hasher of an application", async () => {
  test.each([
    ["after the database's", [DatabaseProvider, AuthProvider]],
    ["before the database's", [AuthProvider, DatabaseProvider]],
    ["missing, as in a worker", [DatabaseProvider]],
  ])("S31 hashes for its models with AuthProvider %s", async (_, providers) => {
    class Customer extends UserWithPassword {}
    const application = await createApplication({
      providers,
      config: {
        database: { DATABASES: { default: "main", main: { driver: "sqlite", path: ":memory:" } } },
        auth: { PASSWORDS: { hasher: new ScryptHasher() } },
      },
      environment: { APP_ENV: "test", APP_KEY: generateSecret() },
    });
    onTestFinished(() => application.shutdown());
    const customer = new Customer();
    await customer.setPassword(PASSWORD);
    expect(customer.password).toMatch(/^\$scrypt\$/);
  });

  test("S31 hashes for its models even if they were given another database", async () => {
    const accounts = await testAccounts({ hasher: new MovingHasher() });
    const database = new Database({ default: "main", main: { driver: "sqlite", path: ":memory:" } }, ".");
    onTestFinished(() => database.close());
    accounts.User.useDatabase(database);
    const user = new accounts.User();
    await user.setPassword(NEW_PASSWORD);
    expect(user.password).toMatch(/^\$scrypt\$/);
  });

  /** Boots an application for each of these hashers. */
  async function bootEach(...hashers: readonly PasswordHasher[]): Promise<void> {
    for (const hasher of hashers) {
      const application = await createApplication({
        config: { auth: { PASSWORDS: { hasher } } },
        environment: { APP_ENV: "test", APP_KEY: generateSecret() },
      });
      onTestFinished(() => application.shutdown());
    }
  }

  test("is not guessed if a class may belong to several applications", async () => {
    class Customer extends UserWithPassword {}
    await bootEach(new ScryptHasher(), new ScryptHasher(), argon2id());
    await expect(new Customer().setPassword(PASSWORD)).rejects.toMatchObject({
      code: "E_INVALID_CONFIGURATION",
      message: expect.stringContaining("several applications of this process have different password hashers"),
    });
  });

  test("S31 hashes for a class that may belong to several applications with the same hasher", async () => {
    class Customer extends UserWithPassword {}
    const hasher = new ScryptHasher();
    await bootEach(hasher, hasher);
    const customer = new Customer();
    await customer.setPassword(PASSWORD);
    expect(customer.password).toMatch(/^\$scrypt\$/);
  });

  test("S31 hashes in its requests, even if there are other applications, except for classes of another one", async () => {
    class Customer extends UserWithPassword {}
    class Member extends FullUser {}
    const hashes = Route.get("/hashes", async () => {
      const customer = new Customer();
      const member = new Member();
      await customer.setPassword(PASSWORD);
      await member.setPassword(PASSWORD);
      return { customer: customer.password, member: member.password };
    });
    const routes = [hashes];
    const scrypt = await testAccounts({ User: Member, hasher: new ScryptHasher(), routes });
    const argon2 = await testAccounts({ hasher: quickHasher(), routes });
    for (const [accounts, customer] of [
      [scrypt, /^\$scrypt\$/],
      [argon2, /^\$argon2id\$/],
    ] as const) {
      expect((await accounts.visitor().get("/hashes")).body).toEqual({
        customer: expect.stringMatching(customer),
        member: expect.stringMatching(/^\$scrypt\$/),
      });
    }
  });

  test("S31 is the framework's if it has no config/auth.ts", async () => {
    const application = await createApplication({ environment: { APP_ENV: "test", APP_KEY: generateSecret() } });
    onTestFinished(() => application.shutdown());
    const user = new UserWithPassword();
    await user.setPassword(PASSWORD);
    expect(user.password).toMatch(FRAMEWORKS);
  });

  await onEachDatabase("replaces a hash", (engine) => {
    test("is used for several concurrent logins, all of which succeed", async () => {
      const accounts = await testAccounts({ engine, hasher: new MovingHasher() });
      await accounts.database.kysely.updateTable("users").set({ access_epoch: null }).execute();
      const logins = await Promise.all(Array.from({ length: 6 }, () => accounts.loggedIn()));
      for (const login of logins) expect((await login.get("/me")).body).toMatchObject({ user: { id: ADA.id } });
    });
  });
});

describe("PASSWORDS", () => {
  async function boot(PASSWORDS: unknown, APP_ENV = "test"): Promise<Application> {
    const application = await createApplication({
      providers: [AuthProvider],
      config: { auth: { PASSWORDS } },
      environment: { APP_ENV, APP_KEY: generateSecret(), APP_URL: "https://shop.example" },
    });
    onTestFinished(() => application.shutdown());
    return application;
  }

  test.each([
    ["left out", undefined, FRAMEWORKS],
    ["empty", {}, FRAMEWORKS],
    ["without a hasher", { hasher: null }, FRAMEWORKS],
    ["with a hasher of its own", { hasher: new ScryptHasher() }, /^\$scrypt\$/],
  ])("can be %s", async (_, passwords, expected) => {
    for (const environment of ["test", "production"]) {
      const { container } = await boot(passwords, environment);
      expect(await container.make("auth").hasher.hash(PASSWORD)).toMatch(expected);
    }
  });

  test.each([
    ["it is a function", argon2id, "config/auth.ts: PASSWORDS"],
    ["it is misspelled", { hashr: argon2id() }, 'Did you mean "hasher"?'],
    ["the hasher is a name", { hasher: "argon2id" }, "it has no hash(), no verify(), no needsRehash()."],
    [
      "it was not called",
      { hasher: argon2id },
      "Write argon2id(), or an object with the methods of PasswordHasher, or leave it out.",
    ],
    [
      "it lacks a method",
      { hasher: { hash() {}, verify() {} } },
      "config/auth.ts: PASSWORDS.hasher: is not a PasswordHasher: it has no needsRehash().",
    ],
  ])("makes startup fail if %s", async (_, passwords, message) => {
    await expect(boot(passwords)).rejects.toMatchObject({
      code: "E_INVALID_CONFIGURATION",
      message: expect.stringContaining(message),
    });
  });

  test("makes startup fail if its own name is misspelled, and only then", async () => {
    await expect(boot({ hasher: argon2id() })).resolves.toBeDefined();
    const config = { auth: { PASSWORD: { hasher: argon2id() } } };
    await expect(createApplication({ providers: [AuthProvider], config })).rejects.toMatchObject({
      code: "E_INVALID_CONFIGURATION",
      message: expect.stringContaining('Did you mean "PASSWORDS"?'),
    });
  });

  test("S31 in production, the hasher for tests makes startup fail", async () => {
    await expect(boot({ hasher: quickHasher() }, "production")).rejects.toMatchObject({
      code: "E_INVALID_CONFIGURATION",
      message:
        "config/auth.ts: PASSWORDS.hasher: is the hasher for tests: an attacker with the table could try passwords " +
        "quickly. Write hasher: argon2id(), or leave it out.",
    });
    await expect(boot({ hasher: argon2id({ passes: 3 }) }, "production")).resolves.toBeDefined();
  });
});

describe("createTestApplication", () => {
  const own = new ScryptHasher();

  test.each([
    ["quickly unless told otherwise", undefined, /^\$argon2id\$v=19\$m=8,t=1,p=1\$/],
    [
      "quickly instead of with the framework's hasher",
      { hasher: argon2id({ passes: 3 }) },
      /^\$argon2id\$.*m=8,t=1,p=1\$/,
    ],
    ["with a custom hasher", { hasher: own }, /^\$scrypt\$/],
  ])("hashes %s", async (_, PASSWORDS, expected) => {
    const application = await createTestApplication({
      providers: [AuthProvider],
      config: { auth: PASSWORDS === undefined ? {} : { PASSWORDS } },
    });
    onTestFinished(() => application.shutdown());
    expect(await application.container.make("auth").hasher.hash(PASSWORD)).toMatch(expected);
  });
});
