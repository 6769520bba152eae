import { expect, test, vi } from "vitest";
import { ADA, BOB, testAccounts } from "../../../test/support/account-application.ts";
import { Person } from "../../../test/support/people.ts";
import { testWeb } from "../../../test/support/web-application.ts";
import type { AccessConditions } from "./access-epoch.ts";
import { rotateAccess } from "./rotate-access.ts";

test("S51 access ends by one statement that also sets other changes, if the proof still holds", async () => {
  const accounts = await testAccounts();
  const [stale, user] = [await accounts.user(), await accounts.user()];
  const before = user.accessEpoch();
  expect(await rotateAccess(user, "user", { email: "countess@example.com" })).toBe(true);
  const after = await accounts.user();
  expect([after.email, after.accessEpoch() === before]).toEqual(["countess@example.com", false]);
  expect(await rotateAccess(stale, "user", { email: "thief@example.com" })).toBe(false);
  expect((await accounts.user()).toJSON()).toEqual(after.toJSON());
});

test("S51 access does not end if an additional condition is not met, whether or not a login has replaced the hash", async () => {
  const accounts = await testAccounts();
  await accounts.User.where("id", ADA.id).update({ access_epoch: null } as object);
  const [user, login] = [await accounts.user(), await accounts.user()];
  const rotate = (conditions: AccessConditions) => rotateAccess(user, "user", { name: "Countess" }, conditions);
  // The second one also contradicts what the user's own proof requires.
  const unmet = [{ name: BOB.name }, { email: BOB.email }];
  for (const conditions of unmet) expect(await rotate(conditions)).toBe(false);
  await login.storePasswordHash("a newer hash", login.passwordHash()!);
  for (const conditions of unmet) expect(await rotate(conditions)).toBe(false);
  expect((await accounts.user()).name).toBe(ADA.name);
  expect(await rotate({ name: ADA.name, email: ADA.email })).toBe(true);
});

test("S52 a proof based on a hash still holds if a login has replaced it with a newer hash of the same password", async () => {
  const accounts = await testAccounts();
  await accounts.User.where("id", ADA.id).update({ access_epoch: null } as object);
  const [user, login] = [await accounts.user(), await accounts.user()];
  await login.storePasswordHash("a newer hash", login.passwordHash()!);
  const between = await accounts.user();
  expect(await rotateAccess(user, "user", { email: "countess@example.com" })).toBe(true);
  const after = await accounts.user();
  expect([after.email, after.passwordHash()]).toEqual(["countess@example.com", "a newer hash"]);
  expect(after.accessEpoch()).not.toBe(between.accessEpoch());
});

test("S52 a proof based on a hash no longer holds if access ends while the newer hash is read", async () => {
  const accounts = await testAccounts();
  await accounts.User.where("id", ADA.id).update({ access_epoch: null } as object);
  const [user, login] = [await accounts.user(), await accounts.user()];
  await login.storePasswordHash("a newer hash", login.passwordHash()!);
  const { findByAuthId } = accounts.User;
  vi.spyOn(accounts.User, "findByAuthId").mockImplementation(async (id) => {
    const read = await findByAuthId.call(accounts.User, id);
    await (await accounts.user()).endAccess();
    return read;
  });
  expect(await rotateAccess(user, "user", { email: "countess@example.com" })).toBe(false);
  expect((await accounts.user()).email).toBe(ADA.email);
});

test("S51 a proof no longer holds once its user is deleted", async () => {
  const accounts = await testAccounts();
  const user = await accounts.user();
  await (await accounts.user()).delete();
  expect(await rotateAccess(user, "user", { email: "countess@example.com" })).toBe(false);
  expect(await rotateAccess(user, "none")).toBe(false);
});

test("S51 all of a user's access ends whenever the user was read, and no other user's does", async () => {
  const accounts = await testAccounts();
  const stale = await accounts.user();
  const other = (await accounts.user(BOB.id)).accessEpoch();
  await (await accounts.user()).endAccess();
  const between = (await accounts.user()).accessEpoch();
  expect(await rotateAccess(stale, "none")).toBe(true);
  expect((await accounts.user(ADA.id)).accessEpoch()).not.toBe(between);
  expect((await accounts.user(BOB.id)).accessEpoch()).toBe(other);
});

test("S51 for a user without an epoch, only the other changes are written", async () => {
  const web = await testWeb();
  await web.database.kysely.schema.alterTable("users").dropColumn("access_epoch").execute();
  const user = (await web.User.find(ADA.id))!;
  web.forgetQueries();
  expect(await rotateAccess(user, "user")).toBe(true);
  expect(await rotateAccess(user, "none")).toBe(true);
  expect(web.queries).toEqual([]);
  expect(await rotateAccess(user, "user", { email: "countess@example.com" })).toBe(true);
  expect((await web.User.find(ADA.id))!.email).toBe("countess@example.com");
});

test("if access cannot be ended, the caller gets the error", async () => {
  const accounts = await testAccounts();
  const user = await accounts.user();
  await accounts.database.kysely.schema.dropTable("users").execute();
  await expect(rotateAccess(user, "none")).rejects.toThrow();
  await expect(rotateAccess(user, "user")).rejects.toThrow();
});

test("for a user of another class without access methods, nothing changes", async () => {
  await Person.populate("correct horse battery");
  const ada = new Person(Person.rows[0]!);
  const before = { ...ada.row };
  expect(await rotateAccess(ada, "user")).toBe(true);
  expect(await rotateAccess(ada, "none")).toBe(true);
  expect(ada.row).toEqual(before);
});

test.each(["accessEpoch", "accessConditions", "accessChanges"])(
  "for a user of another class without %s, nothing changes",
  async (missing) => {
    await Person.populate("correct horse battery");
    const holder = {
      accessEpoch: () => "its own",
      accessConditions: () => ({}),
      accessChanges: () => ({ epoch: "new" }),
    };
    const ada = Object.assign(new Person(Person.rows[0]!), holder, { [missing]: undefined });
    expect(await rotateAccess(ada, "user")).toBe(true);
    expect(await rotateAccess(ada, "none")).toBe(true);
  },
);
