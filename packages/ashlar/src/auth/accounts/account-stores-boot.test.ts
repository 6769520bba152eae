import { describe, expect, test } from "vitest";
import { makeDrizzleUsers } from "../../../test/extensions/drizzle-users.ts";
import { PASSWORD, testAccounts } from "../../../test/support/account-application.ts";
import { ACCOUNT_CONTROLLERS } from "../../../test/support/account-controllers.ts";
import { CookieGuard, guardProvider, Person } from "../../../test/support/people.ts";
import { isIn } from "../../../test/support/store-shop.ts";
import type { AuthenticatableClass, UserId } from "../users/authenticatable.ts";
import { authRoutes } from "./pages/auth-routes.ts";

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

/** Leaves out all pages that are about accounts. */
const WITHOUT_ACCOUNTS: Readonly<Record<string, false>> = {
  register: false,
  requestPasswordReset: false,
  resetPassword: false,
  verifyEmail: false,
  changePassword: false,
  changeEmail: false,
  undoEmailChange: false,
};

describe("a boot with pages about accounts", () => {
  const model = "config/auth.ts: GUARDS.web.model: its users can log in, but not have accounts";
  const booting = (users: object) => testAccounts({ guards: { web: { driver: "web", model: users } } });

  test("fails if users can only log in", async () => {
    await expect(booting(Person)).rejects.toMatchObject({
      code: "E_INVALID_MODEL",
      message: `${model}, which the route "register.store" requires. Declare it as class User extends compose(Model, Authenticates). Or set an AccountStore, or leave the routes out: Auth.routes(controllers, { register: false, … }).`,
    });
  });

  test.each([
    ["register", "register.store"],
    ["requestPasswordReset", "change_password.store"],
    ["resetPassword", "password_reset.store"],
    ["verifyEmail", "email.verify"],
    ["changePassword", "account.password.store"],
    ["changeEmail", "account.email.store"],
    ["undoEmailChange", "email.undo"],
  ])("fails with only the pages %s, because of the route %s", async (group, route) => {
    const { [group]: _, ...leftOut } = WITHOUT_ACCOUNTS;
    const boot = testAccounts({ guards: { web: { driver: "web", model: Person } }, leftOut });
    await expect(boot).rejects.toMatchObject({
      code: "E_INVALID_MODEL",
      message: expect.stringContaining(`${model}, which the route "${route}" requires.`),
    });
  });

  test("fails if the users come from the guard's driver", async () => {
    const providers = [guardProvider({ own: CookieGuard }, ["own"])];
    await expect(testAccounts({ guards: { web: { driver: "own" } }, providers })).rejects.toMatchObject({
      code: "E_INVALID_MODEL",
      message: expect.stringContaining(`${model}, which the route "register.store" requires. Declare it as class User`),
    });
  });

  test("fails if a store is incomplete", async () => {
    const { store } = makeDrizzleUsers();
    const incomplete = Object.create(store, { update: { value: undefined }, existing: { value: null } }) as object;
    await expect(booting(incomplete)).rejects.toMatchObject({
      code: "E_INVALID_MODEL",
      message: expect.stringContaining(
        `${model}, which the route "register.store" requires. As an AccountStore, it also needs update(), existing().`,
      ),
    });
  });

  test("S9 fails if registrations must not reveal addresses, but the store's users can't verify theirs", async () => {
    class Unverified extends Person {}
    const { store } = makeDrizzleUsers();
    const users = Object.create(store, { userClass: { value: Unverified } }) as object;
    const guards = { web: { driver: "web", model: users } };
    await expect(testAccounts({ guards, ACCOUNTS: { preventEnumeration: true } })).rejects.toMatchObject({
      code: "E_INVALID_CONFIGURATION",
      message: expect.stringContaining("Give the class of the users of User the method hasVerifiedEmail()."),
    });
  });

  test("fails if another guard with its own pages has users who can only log in", async () => {
    const routes = [authRoutes(ACCOUNT_CONTROLLERS, { guard: "hand" }).prefix("/hand")];
    const boot = testAccounts({ guards: { hand: { driver: "web", model: Person } }, routes });
    await expect(boot).rejects.toMatchObject({
      code: "E_INVALID_MODEL",
      message: expect.stringContaining(
        'GUARDS.hand.model: its users can log in, but not have accounts, which the route "hand.register.store"',
      ),
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
    const leftOut = WITHOUT_ACCOUNTS;
    const accounts = await testAccounts({ guards: { web: { driver: "web", model: users } }, leftOut });
    await Person.populate(PASSWORD);
    const [here, there] = [await accounts.loggedIn(Person.rows[0]!), await accounts.loggedIn(Person.rows[0]!)];
    expect((await here.post("/logins", { __method: "DELETE" })).headers.get("location")).toBe("/logins");
    expect([await isIn(here), await isIn(there)]).toEqual([true, false]);
  });
});
