import { expect, test } from "vitest";
import { AdminUser, FullUser, PASSWORD, testAccounts } from "../support/account-application.ts";
import { MemoryLogins } from "../support/memory-logins.ts";

test("logins stored by your own store before `methods` existed can be confirmed and listed", async () => {
  class User extends FullUser {}
  const logins = new MemoryLogins();
  const accounts = await testAccounts({
    User,
    guards: { web: { model: User, logins }, admin: { driver: "web", model: AdminUser } },
  });
  const visitor = await accounts.loggedIn();
  for (const [id, { methods: _, ...login }] of logins.logins) logins.logins.set(id, login as never);
  const listed = await visitor.get("/logins");
  const confirmed = await visitor.post("/confirm_password", { password: PASSWORD });
  expect([listed.status, confirmed.status]).toEqual([200, 302]);
});
