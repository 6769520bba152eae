import { expect, test } from "vitest";
import { BOB, testAccounts } from "../../test/support/account-application.ts";
import { Person } from "../../test/support/people.ts";
import { endAccess, logOutEverywhere, logOutEverywhereOnProof } from "./end-access.ts";
import { accountStoreOf } from "./model-accounts.ts";

test("S51 all access of a user ends no matter when the user was read, and no other user's does", async () => {
  const accounts = await testAccounts();
  const stale = await accounts.user();
  const other = (await accounts.user(BOB.id)).accessEpoch();
  await (await accounts.user()).endAccess();
  const between = (await accounts.user()).accessEpoch();
  await endAccess(accountStoreOf(accounts.User)!, stale as never);
  expect((await accounts.user()).accessEpoch()).not.toBe(between);
  expect((await accounts.user(BOB.id)).accessEpoch()).toBe(other);
});

test.each([
  ["on a proof", logOutEverywhereOnProof],
  ["regardless of any proof", logOutEverywhere],
])("S51 logging out everywhere %s also removes the credentials of a user who can only log in", async (_, logOut) => {
  await Person.populate("correct horse battery");
  const ended: object[] = [];
  const user = Object.assign(new Person(Person.rows[0]!), {
    async endCredentials() {
      ended.push(this);
    },
  });
  const before = { ...user.row };
  const result = await logOut(Person, user);
  expect(ended).toEqual([user]);
  expect(user.row).toEqual(before);
  if (logOut === logOutEverywhereOnProof) expect(result).toBe(user);
});
