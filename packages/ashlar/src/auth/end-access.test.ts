import { expect, test } from "vitest";
import { Person } from "../../test/support/people.ts";
import { logOutEverywhere, logOutEverywhereOnProof } from "./end-access.ts";

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
