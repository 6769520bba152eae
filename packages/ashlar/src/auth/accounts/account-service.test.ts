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
import type { GuardSettings } from "../guard-registry.ts";
import { epochDigestOf } from "./account-links.ts";
import type { AccountService } from "./account-service.ts";
import { authRoutes } from "./auth-routes.ts";

/** Brings the driver `people`, whose users are of a class that the configuration leaves out, and `devices` for any. */
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

async function serviceOf(options: TestAccountsOptions = {}): Promise<AccountService> {
  return (await testAccounts(options)).application.container.make("accounts");
}

test("users of guards are where their models say, as far as they are models", async () => {
  class User extends FullUser {}
  class Elsewhere extends AdminUser {
    static override connection = "people";
  }
  class Member extends User {}
  const service = await serviceOf({
    User,
    secondConnection: "people",
    guards: {
      elsewhere: { driver: "web", model: Elsewhere },
      hand: { driver: "web", model: Person },
      members: { driver: "web", model: Member },
    },
  });
  const [main, people] = [service.database.connection(), service.database.connection("people")];
  expect([service.usersOf("hand"), service.usersOf("nobody")]).toEqual([null, null]);
  expect(service.usersOf("web")).toEqual({ connection: main, table: "users", primaryKey: "id" });
  expect(service.usersOf("elsewhere")).toEqual({ connection: people, table: "admins", primaryKey: "id" });
  const beside = ["web", "elsewhere", "hand", "nobody"].map((guard) => service.usersBesideAuth(guard)?.table ?? null);
  expect(beside).toEqual(["users", null, null, null]);
  expect(service.models).toEqual([User, Elsewhere, Person, Member]);
  expect([User, Elsewhere, Person].map((model) => service.guardsKeeping(model))).toEqual([
    ["web", "members"],
    ["elsewhere"],
    ["hand"],
  ]);
  expect([service.modelNamed("web"), service.modelNamed("nobody")]).toEqual([User, null]);
  expect(() => service.modelNamed("hand")).toThrow('The model of the guard "hand" cannot have accounts.');
  expect(() => service.modelOf("nobody")).toThrow("config/auth.ts: GUARDS.nobody: its users cannot have accounts.");
  expect(service.guardNames).toEqual(["web", "elsewhere", "hand", "members"]);
  expect(["web", "nobody"].map((guard) => service.keepsLogins(guard))).toEqual([true, false]);
});

test("S40 the URL of a page is under APP_URL, unless its route has a domain of its own", async () => {
  const admin = { model: AdminUser, driver: "web" };
  const routes = [authRoutes(ACCOUNT_CONTROLLERS, { guard: "admin" }).domain("admin.example")];
  const service = await serviceOf({ guards: { admin }, routes, leftOut: { requestPasswordReset: false } });
  expect(service.url("web", "email.verify", { token: "x" })).toBe(`${APP_URL}/email/verify/x`);
  expect(service.url("web", "password_reset", {}, { token: "x" })).toBe(`${APP_URL}/password_reset?token=x`);
  expect(service.url("admin", "login", {})).toBe("https://admin.example/login");
  expect([service.newPasswordUrl("web"), service.newPasswordUrl("admin")]).toEqual([
    null,
    "https://admin.example/change_password",
  ]);
});

test("a verification link leads to the page of the default guard before that of one listed earlier", async () => {
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

test("no API tokens remain, unless the API says which", async () => {
  const service = await serviceOf();
  expect(service.remainingTokensOf(FullUser)).toBeNull();
  service.tellRemainingTokensBy((model) => ({ expiresInMinutes: model === FullUser ? 5 : null }));
  expect(service.remainingTokensOf(FullUser)).toEqual({ expiresInMinutes: 5 });
});

test("guards that name no model, or keep no logins, are passed over when those of a user are ended", async () => {
  class User extends FullUser {}
  const guards = { people: {}, devices: { model: User } };
  const service = await serviceOf({ User, guards, providers: [PeopleProvider] });
  expect([service.models, service.guardsKeeping(User)]).toEqual([
    [User, User],
    ["web", "devices"],
  ]);
  expect([service.loginGuardsOf(new User()), service.hasLogins]).toEqual([["web"], true]);
});

test("a verification link says whose address it is about, and which one replaces it", async () => {
  const accounts = await testAccounts();
  const service = accounts.application.container.make("accounts");
  const user = await accounts.user();
  const claim = { guard: "web", id: String(ADA.id), epoch: epochDigestOf(user), email: ADA.email };
  for (const newEmail of [null, "ada@example.org"]) {
    const token = new URL(service.verificationUrl("web", user, newEmail)).pathname.split("/").at(-1);
    expect(service.links.readVerification(token)).toEqual({ ...claim, newEmail });
  }
});

test("AuthProvider that is listed twice is one", async () => {
  const accounts = await testAccounts({ providers: [AuthProvider] });
  const visitor = await accounts.loggedIn();
  expect(await visitor.get("/me")).toMatchObject({ body: { user: { id: ADA.id } } });
});

test("an application without config/auth.ts has no guards, and no accounts to prune", async () => {
  const application = await createApplication({ providers: [AuthProvider], environment: { APP_ENV: "test" } });
  onTestFinished(() => application.shutdown());
  const service = application.container.make("accounts");
  expect([service.guardNames, service.models, service.hasLogins]).toEqual([[], [], false]);
  expect(await application.prune()).toEqual({});
});
