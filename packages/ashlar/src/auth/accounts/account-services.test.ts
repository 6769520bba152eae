import { expect, onTestFinished, test } from "vitest";
import {
  ADA,
  AdminUser,
  APP_URL,
  FullUser,
  type TestAccountsOptions,
  testAccounts,
} from "../../../test/support/account-application.ts";
import { ACCOUNT_CONTROLLERS } from "../../../test/support/account-controllers.ts";
import { HeaderGuard, Person } from "../../../test/support/people.ts";
import { createApplication, Provider } from "../../boot/index.ts";
import type { HttpContext } from "../../http/index.ts";
import { Route } from "../../routing/index.ts";
import { AuthProvider } from "../auth-provider.ts";
import type { GuardSettings } from "../guards/guard-table.ts";
import type { AccountServices } from "./account-services.ts";
import { epochDigestOf } from "./links/account-links.ts";
import { authRoutes } from "./pages/auth-routes.ts";

/**
 * Adds the driver `people`, whose users are of a class that the configuration leaves out, and `devices` for any class.
 */
class PeopleProvider extends Provider {
  override boot(): void {
    const make = ({ name, model }: GuardSettings) => {
      return (context: HttpContext) => new HeaderGuard(name, context, model);
    };
    const auth = this.application.container.make("auth");
    auth.registerDriver("people", make, Person);
    auth.registerDriver("devices", make);
  }
}

async function servicesOf(options: TestAccountsOptions = {}): Promise<AccountServices> {
  return (await testAccounts(options)).application.container.make("accounts");
}

test("users of guards are in the tables of their models, if these are models", async () => {
  class User extends FullUser {}
  class Elsewhere extends AdminUser {
    static override connection = "people";
  }
  class Member extends User {}
  const accounts = await testAccounts({
    User,
    secondConnection: "people",
    guards: {
      elsewhere: { driver: "web", model: Elsewhere },
      hand: { driver: "web", model: Person },
      members: { driver: "web", model: Member },
    },
  });
  const { users } = accounts.application.container.make("accounts");
  const [main, people] = [accounts.database.connection(), accounts.database.connection("people")];
  expect([users.tableOf("hand"), users.tableOf("nobody")]).toEqual([null, null]);
  expect(users.tableOf("web")).toEqual({ connection: main, table: "users", primaryKey: "id", closedColumn: null });
  expect(users.tableOf("elsewhere")).toEqual({
    connection: people,
    table: "admins",
    primaryKey: "id",
    closedColumn: null,
  });
  const beside = ["web", "elsewhere", "hand", "nobody"].map((guard) => users.tableBesideAuth(guard)?.table ?? null);
  expect(beside).toEqual(["users", null, null, null]);
  expect(users.models).toEqual([User, Elsewhere, Person, Member]);
  expect([User, Elsewhere, Person].map((model) => users.guardsKeeping(model))).toEqual([
    ["web", "members"],
    ["elsewhere"],
    ["hand"],
  ]);
  expect([users.named("web")?.userClass, users.named("nobody")]).toEqual([User, null]);
  expect(() => users.named("hand")).toThrow('The model of the guard "hand" cannot have accounts.');
  expect(() => users.of("nobody")).toThrow("config/auth.ts: GUARDS.nobody: its users cannot have accounts.");
  expect(users.guards).toEqual(["web", "elsewhere", "hand", "members"]);
  const logins = accounts.application.container.make("logins");
  expect(["web", "nobody"].map((guard) => logins.has(guard))).toEqual([true, false]);
});

test("S40 a page's URL is under APP_URL, unless its route has its own domain", async () => {
  const admin = { model: AdminUser, driver: "web" };
  const routes = [authRoutes(ACCOUNT_CONTROLLERS, { guard: "admin" }).domain("admin.example")];
  const { pages } = await servicesOf({ guards: { admin }, routes, leftOut: { requestPasswordReset: false } });
  expect(pages.url("web", "email.verify", { token: "x" })).toBe(`${APP_URL}/email/verify/x`);
  expect(pages.url("web", "password_reset", {}, { token: "x" })).toBe(`${APP_URL}/password_reset?token=x`);
  expect(pages.url("admin", "login", {})).toBe("https://admin.example/login");
  expect(["web", "admin"].map((guard) => pages.urlIfAny(guard, "change_password"))).toEqual([
    null,
    "https://admin.example/change_password",
  ]);
});

test("a verification link leads to the page of the default guard rather than to that of one listed earlier", async () => {
  class User extends FullUser {}
  class Admin extends AdminUser {}
  const mailed = async ({ request }: HttpContext) => {
    await (await User.findOrFail(1)).verifyEmail(accounts.application.container.make("mail"), request);
    return { done: true };
  };
  const guards = {
    people: {},
    admin: { driver: "web", model: Admin },
    staff: { driver: "web", model: User },
    default: "staff",
  };
  const accounts = await testAccounts({
    User,
    models: [Admin],
    guards,
    providers: [PeopleProvider],
    routes: [Route.post("/as-admin", mailed).middleware("guard:admin")],
  });
  expect((await accounts.visitor().post("/as-admin")).status).toBe(200);
  expect(await accounts.toldOf("auth.verification_sent")).toMatchObject([{ guard: "staff" }]);
});

test("no API tokens remain unless the API reports them", async () => {
  const { remainingTokens } = await servicesOf();
  expect(remainingTokens.of(FullUser)).toBeNull();
  remainingTokens.use((model) => ({ expiresInMinutes: model === FullUser ? 5 : null }));
  expect(remainingTokens.of(FullUser)).toEqual({ expiresInMinutes: 5 });
});

test("guards without a model, or without logins, are skipped when a user's logins are ended", async () => {
  class User extends FullUser {}
  const guards = { people: {}, devices: { model: User } };
  const { application } = await testAccounts({ User, guards, providers: [PeopleProvider] });
  const { users } = application.container.make("accounts");
  expect([users.models, users.guardsKeeping(User)]).toEqual([
    [User, User],
    ["web", "devices"],
  ]);
  const logins = application.container.make("logins");
  expect([users.guardsKeeping(User).filter((guard) => logins.has(guard)), logins.all.length]).toEqual([["web"], 1]);
});

test("a verification link contains the user, and the address that replaces the current one", async () => {
  const accounts = await testAccounts();
  const service = accounts.application.container.make("accounts");
  const user = await accounts.user();
  const claim = { guard: "web", id: String(ADA.id), epoch: epochDigestOf(user), email: ADA.email };
  for (const newEmail of [null, "ada@example.org"]) {
    const token = new URL(service.pages.verificationUrl("web", user, newEmail)).pathname.split("/").at(-1);
    expect(service.links.readVerification(token)).toEqual({ ...claim, newEmail });
  }
});

test("AuthProvider can be listed twice without effect", async () => {
  const accounts = await testAccounts({ providers: [AuthProvider] });
  const visitor = await accounts.loggedIn();
  expect(await visitor.get("/me")).toMatchObject({ body: { user: { id: ADA.id } } });
});

test("an application without config/auth.ts has no guards, and no accounts to prune", async () => {
  const application = await createApplication({ providers: [AuthProvider], environment: { APP_ENV: "test" } });
  onTestFinished(() => application.shutdown());
  const { users } = application.container.make("accounts");
  expect([users.guards, users.models, application.container.make("logins").all]).toEqual([[], [], []]);
  expect(await application.prune()).toEqual({});
});

test("a guard whose users the configuration doesn't name has no tokens that remain", async () => {
  const accounts = await testAccounts({
    guards: { people: { driver: "people" } },
    providers: [PeopleProvider],
    routes: [
      Route.get("/remaining", async ({ accounts: services, auth }) => {
        auth.guard("people");
        return { remaining: services.remainingTokens() };
      }),
    ],
  });
  expect((await accounts.visitor().get("/remaining")).body).toEqual({ remaining: null });
});

test("a change to a guard's users and to the auth tables beside them is one transaction", async () => {
  const accounts = await testAccounts();
  accounts.forgetQueries();
  await accounts.application.container.make("accounts").users.transaction("web", async () => {
    await accounts.user();
  });
  expect(accounts.queries).toEqual(["begin immediate", expect.stringMatching(/^select /), "commit"]);
});
