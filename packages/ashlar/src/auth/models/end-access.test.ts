import { expect, test } from "vitest";
import { ADA, BOB, testAccounts } from "../../../test/support/account-application.ts";
import { Person } from "../../../test/support/people.ts";
import { endAccessOnProof, logOutEverywhere, logOutEverywhereOnProof } from "./end-access.ts";
import { accountStoreOf } from "./model-accounts.ts";

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

test("S51 access does not end on a proof if a further condition is not met", async () => {
  const accounts = await testAccounts();
  const user = await accounts.user();
  const before = await accounts.rows("users");
  const changes = { email: "countess@example.com" };
  expect(await endAccessOnProof(accountStoreOf(accounts.User)!, user, changes, { email: BOB.email })).toBeNull();
  expect(await accounts.rows("users")).toEqual(before);
  const changed = await endAccessOnProof(accountStoreOf(accounts.User)!, user, changes, { email: ADA.email });
  expect(changed?.email).toBe("countess@example.com");
});
