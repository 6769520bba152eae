import { expect, test } from "vitest";
import { NEW_PASSWORD, testAccounts } from "../../../../test/support/account-application.ts";
import { CLEO, isIn, storeShop } from "../../../../test/support/store-shop.ts";
import { accountStoreOf } from "../../models/model-accounts.ts";
import type { AuthenticatableClass } from "../../users/authenticatable.ts";
import { endAccessToAll, requireEndable } from "./all-access.ts";

test.each([1, 2, 3, 5, 6, 7])("S194 access to each of six accounts is ended once, %i per statement", async (batch) => {
  const accounts = await testAccounts();
  const { kysely } = accounts.database;
  await kysely.deleteFrom("users").execute();
  for (let id = 1; id <= 6; id++) {
    const columns = { id: id * 3, name: "x", email: `u${id}@example.com`, password: "x", access_epoch: `epoch ${id}` };
    await kysely.insertInto("users").values(columns).execute();
  }
  const user = (await accounts.User.findBy("email", "u1@example.com"))!;
  const store = accountStoreOf(user.constructor as unknown as AuthenticatableClass)!;
  expect(await endAccessToAll({ guard: "web", store }, { batch })).toBe(6);
  const rows = await kysely.selectFrom("users").select("access_epoch").execute();
  const epochs = new Set(rows.map((row) => String(row.access_epoch)));
  expect([rows.length, epochs.size, [...epochs].some((epoch) => epoch.startsWith("epoch"))]).toEqual([6, 1, false]);
});

test.each([1, 2, 4])(
  "S205 passwords are voided, and accounts without one stay as they are, %i per statement",
  async (batch) => {
    const accounts = await testAccounts();
    const { kysely } = accounts.database;
    await kysely.deleteFrom("users").execute();
    const passwords = ["hash 1", null, "", "!", "hash 5"];
    for (const [index, password] of passwords.entries()) {
      const columns = { name: "x", email: `u${index}@example.com`, password, access_epoch: `epoch ${index}` };
      await kysely.insertInto("users").values(columns).execute();
    }
    const stored = async () =>
      (await kysely.selectFrom("users").select("password").orderBy("id").execute()).map((row) => row.password);
    const store = accounts.application.container.make("accounts").users.of("web");
    expect([await endAccessToAll({ guard: "web", store }, { batch }), await stored()]).toEqual([5, passwords]);
    expect(await endAccessToAll({ guard: "web", store }, { batch, voidsPasswords: true })).toBe(5);
    expect(await stored()).toEqual(["!", null, "", "!", "!"]);
  },
);

test("S205 passwords of accounts in an application's own store are voided", async () => {
  const { accounts, cleo } = await storeShop();
  await cleo();
  const { users } = accounts.application.container.make("accounts");
  await endAccessToAll({ guard: "web", store: users.of("web") }, { voidsPasswords: true });
  await expect(accounts.loggedIn(CLEO)).rejects.toThrow("The login failed.");
  const token = await accounts.resetToken(CLEO);
  await accounts
    .visitor()
    .post("/password_reset", { token, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD });
  await accounts.loggedIn(CLEO, NEW_PASSWORD);
});

test("S194 access to accounts in an application's own store ends", async () => {
  const { accounts, cleo } = await storeShop();
  const visitor = await cleo();
  const store = accounts.application.container.make("accounts").users.of("web");
  expect(await endAccessToAll({ guard: "web", store })).toBe(1);
  expect(await isIn(visitor)).toBe(false);
  await accounts.loggedIn(CLEO);
  const unlisted = { name: "Users", userClass: class User {} };
  await expect(requireEndable([{ guard: "web", store: unlisted as never }])).rejects.toMatchObject({
    code: "E_INVALID_MODEL",
    message: expect.stringContaining("Users has no method accountsAfter()"),
  });
});
