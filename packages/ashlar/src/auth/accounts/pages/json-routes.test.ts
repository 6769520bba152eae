import { describe, expect, test } from "vitest";
import { ADA, AdminUser, PASSWORD, testAccounts } from "../../../../test/support/account-application.ts";
import { ACCOUNT_CONTROLLERS } from "../../../../test/support/account-controllers.ts";
import { Route, type RouteEntry } from "../../../routing/index.ts";
import { authRoutes } from "./auth-routes.ts";

const LEFT_OUT = Object.fromEntries(Object.keys(ACCOUNT_CONTROLLERS).map((group) => [group, false])) as object;
const FORMS = ["login", "register", "change_password", "email.verify.notice", "confirm_password", "account.password"];

function namesOf(routes: Iterable<{ readonly attributes: { readonly name: string | null } }>): (string | null)[] {
  return [...routes].map(({ attributes }) => attributes.name);
}

describe("S108 the account routes without pages", () => {
  test("are the others without the forms, and without anything that leads to a page", () => {
    const pages = namesOf(authRoutes(ACCOUNT_CONTROLLERS));
    const json = namesOf(authRoutes(ACCOUNT_CONTROLLERS, { json: true }));
    expect(json).toEqual(
      pages.filter((name) => name !== null && ![...FORMS, "account.email", "account.close"].includes(name)),
    );
    expect(pages).toHaveLength(json.length + FORMS.length + 4);
  });

  test("need no methods that show forms, and leave out groups like the others", () => {
    class Login {
      store() {}
      destroy() {}
    }
    const { home, logins } = ACCOUNT_CONTROLLERS;
    const others = { ...LEFT_OUT, login: undefined, home: undefined, logins: undefined };
    const routes = authRoutes({ login: Login, home, logins } as never, { ...others, json: true } as never);
    expect(namesOf(routes)).toEqual([
      "login.store",
      "logout",
      "home",
      "logins",
      "logins.destroy",
      "logins.destroy_others",
    ]);
  });

  test("S69 serve each guard with its own accounts, and refuse guests instead of sending them to a page", async () => {
    class Admin extends AdminUser {}
    const routes: RouteEntry[] = [
      ...authRoutes(ACCOUNT_CONTROLLERS, { json: true }),
      ...authRoutes(ACCOUNT_CONTROLLERS, { json: true, guard: "admin" }).prefix("/admin"),
      Route.get("/admin/orders", () => "orders")
        .middleware("auth:admin", "verified", "password.confirm")
        .respondsWithJson(),
    ];
    const guards = { admin: { driver: "web", model: Admin, routes: "admin." } };
    const accounts = await testAccounts({ leftOut: LEFT_OUT, routes, guards, models: [Admin] });
    const visitor = accounts.visitor();
    const sent = { email: ADA.email, password: PASSWORD };
    expect(await visitor.post("/login", sent)).toMatchObject({ status: 200, body: { data: { status: "complete" } } });
    expect((await visitor.get("/admin/home")).status).toBe(401);
    expect((await visitor.get("/admin/orders")).body).toMatchObject({ code: "E_UNAUTHENTICATED" });
    await visitor.post("/admin/login", sent);
    expect((await visitor.get("/admin/home")).body).toMatchObject({ data: { user: { email: ADA.email } } });
    expect((await visitor.get("/admin/orders")).body).toMatchObject({ status: 403, code: "E_FORBIDDEN" });
    const { pages } = accounts.application.container.make("accounts");
    expect([pages.urlIfAny("admin", "login"), pages.isOwn("admin", "register")]).toEqual([
      "https://shop.example/admin/login",
      true,
    ]);
  });
});

test('S20 with SESSION.sameSite "none", login and device cookies have SameSite=None too, even when they are deleted', async () => {
  const config = { session: { SESSION: { sameSite: "none" } } };
  const accounts = await testAccounts({ config });
  const visitor = accounts.visitor();
  const { setCookies } = await visitor.post("/login", { email: ADA.email, password: PASSWORD });
  const ended = await visitor.post("/logout");
  const all = [...setCookies, ...ended.setCookies];
  expect(all.map((cookie) => cookie.split("=")[0]).toSorted()).toEqual(
    expect.arrayContaining(["__Host-device", "__Host-session", "__Host-token"]),
  );
  for (const cookie of all) expect(cookie).toMatch(/; Secure; SameSite=None$/);
});
