import { expect, test } from "vitest";
import { ADA, AdminUser, BOB, PASSWORD, testAccounts } from "../../../test/support/account-application.ts";
import { testWeb } from "../../../test/support/web-application.ts";
import { Route } from "../../routing/index.ts";

const TWICE = { account: "email", buckets: [{ by: ["account", "address"], attempts: 2, windowSeconds: 60 }] };

test("S33 a user's own password is limited like the login: a blank one is not a guess, and the right one clears the count", async () => {
  const prove = Route.post("/prove", async ({ auth, request }) => ({
    proved: await auth.webGuard.confirmPassword(request.input("password")),
  }));
  const accounts = await testAccounts({ routes: [prove], throttle: { login: TWICE } });
  const visitor = await accounts.loggedIn();
  const tried = async (...passwords: unknown[]) => {
    const outcomes: unknown[] = [];
    for (const password of passwords) {
      const { status, body } = await visitor.post("/prove", { password });
      outcomes.push(status === 200 ? (body as { readonly proved: boolean }).proved : status);
    }
    return outcomes;
  };
  const told = async () =>
    (await accounts.toldOf("auth.failed")).map(({ guard, user, identifier }) => [
      guard,
      (user as typeof ADA).id,
      identifier,
    ]);
  expect(await tried("", null, ["no text"], "", "wrong")).toEqual(Array(5).fill(false));
  expect(await told()).toEqual(Array(5).fill(["web", ADA.id, null]));
  expect(await tried(PASSWORD, "wrong", "wrong", "wrong", PASSWORD)).toEqual([true, false, false, 429, 429]);
  expect(await told()).toHaveLength(7);
  // It is the login's limit, by account.
  const login = await visitor.post("/login", { email: ADA.email, password: PASSWORD });
  expect(login.status).toBe(429);
});

test("S69 it counts for the user of the guard that asks, regardless of the active guard and of the account in the form", async () => {
  class Admin extends AdminUser {}
  const prove = Route.post("/prove", async ({ auth, request }) => {
    const web = auth.guard("web");
    auth.guard("admin");
    return { proved: await web.confirmPassword(request.input("password")) };
  });
  const accounts = await testAccounts({
    guards: { admin: { driver: "web", model: Admin } },
    models: [Admin],
    routes: [prove],
    throttle: { login: { account: "email", buckets: [{ by: ["account"], attempts: 2, windowSeconds: 60 }] } },
  });
  const visitor = await accounts.loggedIn();
  const statuses: number[] = [];
  for (let time = 0; time < 3; time++) {
    statuses.push((await visitor.post("/prove", { password: "wrong", email: BOB.email })).status);
  }
  expect(statuses).toEqual([200, 200, 429]);
  const logins = [ADA, BOB].map(({ email }) => accounts.visitor().post("/login", { email, password: PASSWORD }));
  expect((await Promise.all(logins)).map(({ status }) => status)).toEqual([429, 302]);
});

test("a user's own password is verified without limits too", async () => {
  const web = await testWeb();
  const browser = await web.loggedIn();
  const outcomes: unknown[] = [];
  for (const password of ["", "wrong", PASSWORD]) outcomes.push((await browser.post("/confirm", { password })).body);
  expect(outcomes).toEqual([{ done: false }, { done: false }, { done: true }]);
  const guest = await web.browser().post("/confirm", { password: PASSWORD });
  expect(guest.body).toEqual({ done: false });
});
