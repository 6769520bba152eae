import { expect, test } from "vitest";
import { ADA, BOB, FullUser, PASSWORD, testAccounts } from "../../../test/support/account-application.ts";

test("where nobody chooses a password by mail, the owner of an address is told that it is taken", async () => {
  const accounts = await testAccounts({
    ACCOUNTS: { preventEnumeration: true },
    User: class User extends FullUser {},
    leftOut: { register: false, resetPassword: false },
  });
  await (await accounts.user(BOB.id)).markEmailAsVerified();
  const visitor = await accounts.loggedIn(BOB);
  await visitor.post("/account/email", { email: ADA.email, password: PASSWORD });
  const mails = await accounts.mails();
  expect(mails.map(({ to, subject }) => [to, subject])).toEqual([
    [ADA.email, "You already have an account"],
    [BOB.email, "The address of your account is about to change"],
  ]);
});
