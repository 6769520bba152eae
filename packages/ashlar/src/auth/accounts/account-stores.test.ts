import { describe, expect, onTestFinished, test } from "vitest";
import { type DrizzleUsers, makeDrizzleUsers, User } from "../../../test/extensions/drizzle-users.ts";
import {
  FullUser,
  NEW_PASSWORD,
  PASSWORD,
  type TestAccounts,
  type TestAccountsOptions,
  testAccounts,
  type Visitor,
} from "../../../test/support/account-application.ts";
import { passwordHash } from "../../../test/support/application-parts.ts";
import { Person } from "../../../test/support/people.ts";
import { onEachDatabase } from "../../../test/support/services.ts";
import type { HttpContext } from "../../http/index.ts";
import type { CapturedMail } from "../../mail/index.ts";
import { Route } from "../../routing/index.ts";
import { now, setClock } from "../../support/index.ts";
import type { AuthenticatableClass, UserId } from "../authenticatable.ts";

const CLEO = {
  name: "Cleo",
  email: "cleo@example.com",
  password: PASSWORD,
  password_confirmation: PASSWORD,
};
const CHANGE = { current_password: PASSWORD, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };

/** Finds people, as an object. */
class PersonFinder implements AuthenticatableClass {
  readonly name = "Person";
  readonly userClass = Person;
  readonly identifierColumn = "email";

  findByAuthId(id: UserId): Promise<Person | null> {
    return Person.findByAuthId(id);
  }

  findByIdentifier(email: string): Promise<Person | null> {
    return Person.findByIdentifier(email);
  }
}

interface Shop {
  readonly accounts: TestAccounts;
  readonly store: DrizzleUsers;
  readonly rows: () => object[];
  /** A browser in which a user has registered. */
  readonly cleo: () => Promise<Visitor>;
}

/** An application whose users are in a custom store, in another database. */
async function shop(options: TestAccountsOptions = {}): Promise<Shop> {
  const { store, rows } = makeDrizzleUsers();
  const accounts = await testAccounts({ ...options, guards: { web: { driver: "web", model: store } } });
  const cleo = async () => {
    const visitor = accounts.visitor();
    await visitor.post("/register", CLEO);
    return visitor;
  };
  return { accounts, store, rows, cleo };
}

/** The path of the link in a mail. */
const pathIn = (mail: CapturedMail): string => {
  const { pathname, search } = new URL(/https:\S+/.exec(mail.text)![0]);
  return pathname + search;
};

const isIn = async (visitor: Visitor): Promise<boolean> => (await visitor.get("/logins")).status === 200;

/** Makes the framework's part of a change fail, until the returned function is called. */
function breakLogins({ database }: TestAccounts): () => void {
  return database.onQuery(({ sql }) => {
    if (/^(?:delete from|update) "logins"/.test(sql)) throw new Error("The disk is full.");
  });
}

describe("accounts in an application's own store", () => {
  test("a failure after the store has written is rolled back there too", async () => {
    const { accounts, rows, cleo } = await shop();
    const visitor = await cleo();
    const before = rows();
    const mend = breakLogins(accounts);
    expect((await visitor.post("/account/password", CHANGE)).status).toBe(500);
    expect((await visitor.post("/logins", { __method: "DELETE" })).status).toBe(500);
    mend();
    expect(rows()).toEqual(before);
    expect(await isIn(visitor)).toBe(true);
    expect((await visitor.post("/account/password", CHANGE)).headers.get("location")).toBe("/home");
  });

  test("S51 the rest of a request uses the changed user, whose login continues", async () => {
    const changing = async ({ accounts, auth }: HttpContext) => {
      const { current_password, password, password_confirmation } = CHANGE;
      const before = await auth.user();
      await accounts.changePassword(current_password, password, password_confirmation);
      return { isNew: (await auth.user()) !== before, devices: (await auth.logins().list()).length };
    };
    const leaving = async ({ auth }: HttpContext) => {
      return { ended: await auth.logins().endOthers(), devices: (await auth.logins().list()).length };
    };
    const { accounts, cleo } = await shop({ routes: [Route.post("/change", changing), Route.post("/leave", leaving)] });
    const visitor = await cleo();
    expect((await visitor.post("/change")).body).toEqual({ isNew: true, devices: 1 });
    const other = await accounts.loggedIn(CLEO, NEW_PASSWORD);
    expect((await visitor.post("/leave")).body).toEqual({ ended: 1, devices: 1 });
    expect([await isIn(visitor), await isIn(other)]).toEqual([true, false]);
  });

  test("S51 logging out everywhere invalidates links in mails", async () => {
    const leaving = async ({ auth }: HttpContext) => ({ ended: await auth.logins().endAll() });
    const { accounts, cleo } = await shop({ routes: [Route.post("/leave", leaving)] });
    const [here, there] = [await cleo(), await accounts.loggedIn(CLEO)];
    const token = await accounts.resetToken(CLEO);
    expect((await here.post("/leave")).body).toEqual({ ended: 2 });
    expect([await isIn(here), await isIn(there)]).toEqual([false, false]);
    const reset = { token, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
    await accounts.visitor().post("/password_reset", reset);
    await accounts.loggedIn(CLEO);
  });

  const AT_ONCE = 10;
  test("S38 of many concurrent uses of a verification link, only one has an effect", async () => {
    const { accounts, rows, cleo } = await shop();
    await cleo();
    const path = pathIn((await accounts.mails())[0]!);
    await Promise.all(Array.from({ length: AT_ONCE }, () => accounts.visitor().post(path)));
    expect(rows()).toMatchObject([{ verified_at: expect.any(Number) }]);
    expect(await accounts.toldOf("auth.email_verified")).toHaveLength(1);
  });

  test("S39 of many new passwords set concurrently with one link, only one is stored", async () => {
    const { accounts, cleo } = await shop();
    await cleo();
    const token = await accounts.resetToken(CLEO);
    const passwords = Array.from({ length: AT_ONCE }, (_, index) => `a password of number ${index}`);
    const set = (password: string) => {
      return accounts.visitor().post("/password_reset", { token, password, password_confirmation: password });
    };
    const targets = (await Promise.all(passwords.map(set))).map(({ headers }) => headers.get("location"));
    expect(targets.filter((target) => target === "/login")).toHaveLength(1);
    await accounts.loggedIn(CLEO, passwords[targets.indexOf("/login")]);
    expect(await accounts.toldOf("auth.password_reset")).toHaveLength(1);
  });

  test("S51 of many concurrent uses of a link that undoes a change of address, only one has an effect", async () => {
    const { accounts, rows, cleo } = await shop();
    const visitor = await cleo();
    await visitor.get(pathIn((await accounts.mails())[0]!));
    await visitor.post("/account/email", { email: "cleo@example.org", password: PASSWORD });
    await visitor.get(pathIn((await accounts.mails()).find(({ to }) => to === "cleo@example.org")!));
    const path = pathIn((await accounts.mails()).find(({ to }) => to === CLEO.email)!);
    await Promise.all(Array.from({ length: AT_ONCE }, () => accounts.visitor().post(path)));
    expect(rows()).toMatchObject([{ email: CLEO.email, password: "!" }]);
    expect(await accounts.toldOf("auth.email_change_undone")).toHaveLength(1);
  });

  test("S51 ending all access to an account also invalidates links in mails", async () => {
    const blocking = async ({ accounts }: HttpContext) => {
      const user = (await store.findByEmail(CLEO.email))!;
      return { ended: await accounts.endAccess(user), again: await accounts.endAccess(user) };
    };
    const { accounts, store, rows, cleo } = await shop({ routes: [Route.post("/block", blocking)] });
    const visitor = await cleo();
    const token = await accounts.resetToken(CLEO);
    const [before] = rows() as { access_epoch: string }[];
    expect((await accounts.visitor().post("/block")).body).toEqual({ ended: true, again: true });
    expect((rows() as { access_epoch: string }[])[0]?.access_epoch).not.toBe(before?.access_epoch);
    expect([await isIn(visitor), await accounts.rows("logins")]).toEqual([false, []]);
    const reset = { token, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
    await accounts.visitor().post("/password_reset", reset);
    await accounts.loggedIn(CLEO);
  });

  test("S51 everything that ends access also ends the user's own credentials, or changes nothing", async () => {
    const ended: string[] = [];
    let isBroken = false;
    const prototype: object = User.prototype;
    onTestFinished(() => void Reflect.deleteProperty(prototype, "endCredentials"));
    Object.assign(prototype, {
      async endCredentials(this: User): Promise<void> {
        // It is called on the changed user, so that credentials that are issued meanwhile can be told apart.
        ended.push(this.accessEpoch());
        if (isBroken) throw new Error("The disk is full.");
      },
    });
    const { accounts, store, rows, cleo } = await shop({
      routes: [
        Route.post("/end-others", async ({ auth }) => ({ ended: await auth.logins().endOthers() })),
        Route.post("/end-all", async ({ auth }) => ({ ended: await auth.logins().endAll() })),
        Route.post("/block", async ({ accounts: own }) => {
          return { ended: await own.endAccess((await store.findByEmail(CLEO.email))!) };
        }),
      ],
    });
    const visitor = await cleo();
    for (const path of ["/end-others", "/account/password", "/block", "/end-all"]) {
      const browser = path === "/end-all" ? await accounts.loggedIn(CLEO, NEW_PASSWORD) : visitor;
      const before = rows();
      isBroken = true;
      expect([path, (await browser.post(path, CHANGE)).status, rows()]).toEqual([path, 500, before]);
      isBroken = false;
      ended.length = 0;
      await browser.post(path, CHANGE);
      expect([path, ended]).toEqual([path, (rows() as { access_epoch: string }[]).map((row) => row.access_epoch)]);
      expect(rows()).not.toEqual(before);
    }
  });

  test("S70 a user is deleted with all data that the framework keeps about them", async () => {
    const deleting = async ({ accounts, auth }: HttpContext) => {
      const user = (await auth.user())!;
      return { deleted: await accounts.delete(user), again: await accounts.delete(user) };
    };
    const { accounts, rows, cleo } = await shop({ routes: [Route.post("/delete", deleting)] });
    const visitor = await cleo();
    await visitor.post("/account/email", { email: "cleo@example.org", password: PASSWORD });
    const change = (await accounts.mails()).find(({ to }) => to === "cleo@example.org")!;
    await visitor.get(new URL(/https:\S+/.exec(change.text)![0]).pathname);
    await accounts.resetToken({ email: "cleo@example.org" });
    const kept = () => Promise.all(["logins", "password_resets", "email_changes"].map((name) => accounts.rows(name)));
    expect((await kept()).map((found) => found.length)).toEqual([1, 1, 1]);
    expect((await visitor.post("/delete")).body).toEqual({ deleted: true, again: false });
    expect([rows(), await kept()]).toEqual([[], [[], [], []]]);
  });

  test("S70 a user of a model is deleted like with delete()", async () => {
    const deleting = async ({ accounts, auth }: HttpContext) => ({
      deleted: await accounts.delete((await auth.user())!),
    });
    const accounts = await testAccounts({ routes: [Route.post("/delete", deleting)] });
    const visitor = await accounts.loggedIn();
    expect((await visitor.post("/delete")).body).toEqual({ deleted: true });
    expect([(await accounts.rows("users")).length, await accounts.rows("logins")]).toEqual([1, []]);
  });

  test("S71 only the remaining data of users that a query has deleted is pruned", async () => {
    const { accounts, store, cleo } = await shop();
    await cleo();
    const visitor = accounts.visitor();
    await visitor.post("/register", { ...CLEO, email: "dora@example.com" });
    for (const { email } of [CLEO, { email: "dora@example.com" }]) await accounts.resetToken({ email });
    expect(await accounts.application.prune()).toMatchObject({ logins: 0, "password resets": 0 });
    await store.delete((await store.findByEmail(CLEO.email))!);
    expect(await accounts.application.prune()).toMatchObject({ logins: 1, "password resets": 1 });
    expect([await isIn(visitor), (await accounts.rows("password_resets")).length]).toEqual([true, 1]);
  });

  test("S39 mails go to the stored address, even if the store finds a user by one that only looks like it", async () => {
    const { accounts, store, cleo } = await shop();
    const folded = (address: string) => address.normalize("NFD").replaceAll(/\p{M}/gu, "");
    const [findByEmail, existing] = [store.findByEmail.bind(store), store.existing.bind(store)];
    store.findByEmail = (email) => findByEmail(folded(email));
    store.existing = (attribute, values) => existing(attribute, values.map(String).map(folded));
    await cleo();
    const similar = { ...CLEO, email: "cleo@exämple.com" };
    for (const path of ["/change_password", "/register"]) {
      await accounts.mails();
      await accounts.visitor().post(path, similar);
      expect([path, (await accounts.mails()).map(({ to }) => to)]).toEqual([path, [CLEO.email]]);
    }
  });

  test("S58 all registrations get the same response, and the mail contains the result", async () => {
    const { accounts, rows } = await shop({ ACCOUNTS: { preventEnumeration: true } });
    const register = async (name: string, password: string) => {
      const answer = await accounts
        .visitor()
        .post("/register", { ...CLEO, name, password, password_confirmation: password });
      return answer.headers.get("location");
    };
    expect([await register("Eve", PASSWORD), (await accounts.mails()).length, rows().length]).toEqual(["/login", 1, 1]);
    await expect(accounts.loggedIn(CLEO)).rejects.toThrow("The login failed.");
    // Registered again before it is verified, so the first password becomes invalid.
    expect(await register("Cleo", NEW_PASSWORD)).toBe("/login");
    const [mail] = await accounts.mails();
    expect(rows()).toMatchObject([{ name: "Cleo", password: "!", verified_at: null }]);
    const token = new URL(/https:\S+/.exec(mail!.text)![0]).searchParams.get("token");
    const chosen = { token, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
    await accounts.visitor().post("/password_reset", chosen);
    expect(rows()).toMatchObject([{ verified_at: expect.any(Number) }]);
    await accounts.loggedIn(CLEO, NEW_PASSWORD);
  });

  test("S58 an unfinished account is mailed another link without a change to the store if nothing was filled in", async () => {
    const { accounts, store, rows, cleo } = await shop({ ACCOUNTS: { preventEnumeration: true } });
    const dora = { email: "dora@example.com", passwordHash: await passwordHash(), accessEpoch: "-" };
    const user = await store.create({ ...dora, attributes: { name: "Dora" } });
    await store.update(user, { verifiedAt: new Date() }, {});
    for (let time = 0; time < 2; time++) await cleo();
    await accounts.mails();
    const [before, later] = [rows(), now() + 3_600_000];
    setClock(() => later);
    onTestFinished(() => setClock(null));
    const visitor = await accounts.loggedIn(dora);
    await visitor.post("/account/email", { email: CLEO.email, password: PASSWORD });
    expect((await accounts.mails()).map(({ to }) => to)).toContain(CLEO.email);
    expect(rows()).toEqual(before);
  });

  test.each<[string, (context: HttpContext, other: FullUser) => Promise<unknown>]>([
    ["logs in", ({ auth }, other) => auth.loginAs(other)],
    ["ends the access of", ({ accounts }, other) => accounts.endAccess(other)],
    ["deletes", ({ accounts }, other) => accounts.delete(other)],
  ])("S69 a guard %s only users of its store's class", async (_, work) => {
    const doing = async (context: HttpContext) => ({ done: await work(context, await FullUser.findOrFail(1)) });
    const { accounts, rows, cleo } = await shop({ routes: [Route.post("/do", doing)] });
    const visitor = await cleo();
    const before = [rows(), await accounts.rows("users")];
    expect(await accounts.visitor().post("/do", {}, { accept: "application/json" })).toMatchObject({
      status: 500,
      body: { code: "E_INVALID_MODEL" },
    });
    expect([rows(), await accounts.rows("users")]).toEqual(before);
    expect(await isIn(visitor)).toBe(true);
  });
});

await onEachDatabase("an address that a user of a store in another database changes", (engine) => {
  const NEW_EMAIL = "cleo@example.org";

  interface Changing extends Shop {
    /** The user's browser. */
    readonly visitor: Visitor;
    /** The path of the link that makes the change. */
    readonly path: string;
  }

  /** A shop whose user has verified the address, and has requested another one. */
  async function changing(): Promise<Changing> {
    const one = await shop({ engine });
    const { accounts, cleo } = one;
    const visitor = await cleo();
    await visitor.get(pathIn((await accounts.mails())[0]!));
    await visitor.post("/account/email", { email: NEW_EMAIL, password: PASSWORD });
    return { ...one, visitor, path: pathIn((await accounts.mails()).find(({ to }) => to === NEW_EMAIL)!) };
  }

  const emails = ({ rows }: Shop) => (rows() as { readonly email: string }[]).map(({ email }) => email);

  /** The addresses that a link can give back. */
  const restorable = async ({ accounts }: Shop) => {
    await accounts.application.background.settled();
    return (await accounts.rows("email_changes")).map(({ email }) => email);
  };

  /** Does something after the store's next transaction has committed, and before that of the framework does. */
  function afterCommit(store: DrizzleUsers, work: () => Promise<void>): void {
    store.transaction = async (task) => {
      Reflect.deleteProperty(store, "transaction");
      const result = await store.transaction(task);
      await work();
      return result;
    };
  }

  test("S51 is reserved before the store frees it, so that the change can be undone", async () => {
    const one = await changing();
    const { accounts, store, visitor, path } = one;
    const [freed, registered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    afterCommit(store, () => {
      freed.resolve();
      return registered.promise;
    });
    const change = visitor.get(path);
    await freed.promise;
    expect(emails(one)).toEqual([NEW_EMAIL]);
    const thief = accounts.visitor();
    await thief.post("/register", CLEO);
    registered.resolve();
    await change;
    expect([await isIn(thief), emails(one)]).toEqual([false, [NEW_EMAIL]]);
    await accounts.visitor().post(pathIn((await accounts.mails()).find(({ to }) => to === CLEO.email)!));
    expect(emails(one)).toEqual([CLEO.email]);
  });

  test("S51 stays reserved if the framework's part fails after the store has made the change", async () => {
    const one = await changing();
    const { accounts, store, visitor, path } = one;
    afterCommit(store, async () => {
      throw new Error("The disk is full.");
    });
    expect((await visitor.get(path)).status).toBe(500);
    expect([emails(one), await restorable(one)]).toEqual([[NEW_EMAIL], [CLEO.email]]);
    const thief = accounts.visitor();
    await thief.post("/register", CLEO);
    expect([await isIn(thief), emails(one)]).toEqual([false, [NEW_EMAIL]]);
  });

  test.each<[string, number, (one: Changing) => Promise<unknown>]>([
    [
      "the new one is taken",
      302,
      ({ accounts }) => accounts.visitor().post("/register", { ...CLEO, email: NEW_EMAIL }),
    ],
    [
      "the user logs out everywhere",
      302,
      async ({ store }) => {
        const { findByAuthId } = store;
        // After the link was read, and before the change.
        store.findByAuthId = async (id) => {
          Reflect.deleteProperty(store, "findByAuthId");
          const user = await findByAuthId.call(store, id);
          await store.update(user!, { accessEpoch: "the new one" }, {});
          return user;
        };
      },
    ],
    [
      "the store fails",
      500,
      async ({ store }) => {
        store.update = async () => {
          throw new Error("The disk is full.");
        };
      },
    ],
    ["the framework's part fails", 500, async ({ accounts }) => breakLogins(accounts)],
  ])("is not reserved if %s", async (_, status, happen) => {
    const one = await changing();
    await happen(one);
    const before = emails(one);
    expect((await one.visitor.get(one.path)).status).toBe(status);
    expect([emails(one), await restorable(one)]).toEqual([before, []]);
  });

  test("is reserved once if the link is used many times concurrently", async () => {
    const one = await changing();
    await Promise.all(Array.from({ length: 10 }, () => one.accounts.visitor().post(one.path)));
    expect([emails(one), await restorable(one)]).toEqual([[NEW_EMAIL], [CLEO.email]]);
  });
});

describe("a boot with pages about accounts", () => {
  const model = "config/auth.ts: GUARDS.web.model: its users can log in, but not have accounts";
  const booting = (users: object) => testAccounts({ guards: { web: { driver: "web", model: users } } });

  test("fails if users can only log in", async () => {
    await expect(booting(Person)).rejects.toMatchObject({
      code: "E_INVALID_MODEL",
      message: `${model}, which the route "register.store" requires. Declare it as class User extends compose(Model, Authenticates). Or set an AccountStore, or leave the routes out: Auth.routes(controllers, { register: false, … }).`,
    });
  });

  test("fails if a store is not complete", async () => {
    const { store } = makeDrizzleUsers();
    const incomplete = Object.create(store, { update: { value: undefined }, existing: { value: null } }) as object;
    await expect(booting(incomplete)).rejects.toMatchObject({
      code: "E_INVALID_MODEL",
      message: expect.stringContaining(
        `${model}, which the route "register.store" requires. As an AccountStore, it also needs update(), existing().`,
      ),
    });
  });

  test("S9 fails if registrations are to reveal no addresses, but users of the store cannot verify theirs", async () => {
    class Unverified extends Person {}
    const { store } = makeDrizzleUsers();
    const users = Object.create(store, { userClass: { value: Unverified } }) as object;
    const guards = { web: { driver: "web", model: users } };
    await expect(testAccounts({ guards, ACCOUNTS: { preventEnumeration: true } })).rejects.toMatchObject({
      code: "E_INVALID_CONFIGURATION",
      message: expect.stringContaining("Give the class of the users of User the method hasVerifiedEmail()."),
    });
  });

  test("succeeds if a guard without its own pages has users who can only log in", async () => {
    const accounts = await testAccounts({ guards: { hand: { driver: "web", model: Person } } });
    expect((await accounts.visitor().get("/login")).status).toBe(200);
  });

  test.each<[string, object]>([
    ["a class", Person],
    ["an object", new PersonFinder()],
  ])("succeeds without such pages, if %s finds users who log in", async (_, users) => {
    const leftOut = {
      register: false,
      requestPasswordReset: false,
      resetPassword: false,
      verifyEmail: false,
      changePassword: false,
      changeEmail: false,
      undoEmailChange: false,
    } as const;
    const accounts = await testAccounts({ guards: { web: { driver: "web", model: users } }, leftOut });
    await Person.populate(PASSWORD);
    const [here, there] = [await accounts.loggedIn(Person.rows[0]!), await accounts.loggedIn(Person.rows[0]!)];
    expect((await here.post("/logins", { __method: "DELETE" })).headers.get("location")).toBe("/logins");
    expect([await isIn(here), await isIn(there)]).toEqual([true, false]);
  });
});
