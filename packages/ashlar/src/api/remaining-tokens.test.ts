import { describe, expect, test } from "vitest";
import {
  FullUser,
  NEW_PASSWORD,
  PASSWORD,
  type TestAccounts,
  testAccounts,
} from "../../test/support/account-application.ts";
import { SECRET } from "../../test/support/api-application.ts";
import { Member, Person } from "../../test/support/people.ts";
import { compose } from "../database/index.ts";
import { Route, type RouteEntry } from "../routing/index.ts";
import { ApiProvider } from "./api-provider.ts";
import { AuthenticatesTokens } from "./authenticates-tokens.ts";

class User extends compose(FullUser, AuthenticatesTokens) {
  static override table = "users";
}
class Editor extends User {}
class Reader extends FullUser {
  static override table = "users";
}
class Admin extends User {
  static override table = "admins";
}

function accountsWithTokens(driver: object, routes: readonly RouteEntry[] = []): Promise<TestAccounts> {
  return testAccounts({
    User: User as unknown as typeof FullUser,
    providers: [ApiProvider],
    config: { api: { DRIVERS: { jwt: { secret: SECRET, model: User, ...driver } } } },
    routes,
  });
}

/** The remaining tokens that are reported for users of several classes whose access has ended. */
async function remaining(driver: object): Promise<Record<string, unknown>> {
  const { application } = await accountsWithTokens(driver);
  const accounts = application.container.make("accounts");
  const classes = { User, Editor, Reader, Admin, Person, Member };
  return Object.fromEntries(Object.entries(classes).map(([name, one]) => [name, accounts.remainingTokens.of(one)]));
}

const nothing = { User: null, Editor: null, Reader: null, Admin: null, Person: null, Member: null };

describe("API tokens that outlive the end of access", () => {
  test.each([
    [{ expires: 30 }, 30],
    [{}, null],
  ])("are reported for users whose rows they belong to, whatever the class: %o", async (driver, expiresInMinutes) => {
    const told = { expiresInMinutes };
    expect(await remaining(driver)).toEqual({ ...nothing, User: told, Editor: told, Reader: told });
    // Classes that aren't the framework's models have no table to share.
    expect(await remaining({ ...driver, model: Member })).toEqual({ ...nothing, Member: told });
  });

  test("are mentioned in the mail about a new password, and available to pages", async () => {
    const routes = [Route.get("/remaining", ({ accounts }) => ({ remaining: accounts.remainingTokens() }))];
    const accounts = await accountsWithTokens({ expires: 30 }, routes);
    const visitor = await accounts.loggedIn();
    expect((await visitor.get("/remaining")).body).toEqual({ remaining: { expiresInMinutes: 30 } });
    const passwords = { password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
    await visitor.post("/account/password", { current_password: PASSWORD, ...passwords });
    const [mail] = await accounts.mails();
    expect(mail?.text).toContain("API tokens issued before then keep working. They expire within 30 minutes.");
  });

  test("are not mentioned if each request looks up the active token", async () => {
    expect(await remaining({ expires: 30, authenticates: true })).toEqual(nothing);
  });
});
