import { expect, test } from "vitest";
import { ADA, BOB, type FullUser, testAccounts } from "../../../test/support/account-application.ts";
import { Person } from "../../../test/support/people.ts";
import { accountStoreOf } from "../models/model-accounts.ts";
import type { AccountChanges } from "../users/account-store.ts";
import { type AccessEnding, endAccess, type StoredAccount } from "./end-access.ts";
import { rotateAccess, updateEnding } from "./rotate-access.ts";

const END = { what: "everything", reason: "user", proof: "user" } as const;

/** An account that records all operations on it, in order. */
function recording(update: StoredAccount<FullUser>["update"]) {
  const steps: string[] = [];
  const account: StoredAccount<FullUser> = {
    update: async (...given) => {
      steps.push("row");
      return update(...given);
    },
    async transaction(work) {
      steps.push("begin");
      const result = await work();
      steps.push("commit");
      return result;
    },
    async endLogins(_, what) {
      steps.push(`logins: ${what}`);
    },
    audience: {
      guard: "web",
      address: "203.0.113.7",
      events: {
        async emit(name: string, { what, reason, guard, address }: Record<string, unknown>) {
          steps.push([name, what, reason, guard, address].join(" "));
        },
      } as never,
    },
  };
  return { account, steps };
}

async function adasAccount() {
  const accounts = await testAccounts();
  const user = Object.assign(await accounts.user(), {
    async endCredentials() {
      steps.push("credentials");
    },
  });
  const store = accountStoreOf(accounts.User)!;
  const { account, steps } = recording(updateEnding(store, user) as unknown as StoredAccount<FullUser>["update"]);
  return { accounts, user, account, steps };
}

test("S51 access ends in one transaction: the row first, then credentials, then logins, then the caller's work", async () => {
  const { accounts, user, account, steps } = await adasAccount();
  const before = user.accessEpoch();
  const also = async () => void steps.push("also");
  const ended = await endAccess(account, { ...END, what: "others", reason: "password_changed", also });
  expect(ended?.accessEpoch()).not.toBe(before);
  expect((await accounts.user()).accessEpoch()).toBe(ended?.accessEpoch());
  expect(steps).toEqual([
    "begin",
    "row",
    "credentials",
    "logins: others",
    "also",
    "commit",
    "auth.access_ended others password_changed web 203.0.113.7",
  ]);
});

test.each<[string, Partial<AccessEnding<FullUser>>]>([
  ["a condition is not met", { conditions: { email: BOB.email } }],
  ["its own statement decides against it", { write: async () => null }],
  ["its own statement has a condition that is not met", { write: (update) => update({}, { email: BOB.email }) }],
])("S51 access does not end if %s", async (_, ending) => {
  const { accounts, account, steps } = await adasAccount();
  const before = await accounts.rows("users");
  expect(await endAccess(account, { ...END, ...ending })).toBeNull();
  expect(await accounts.rows("users")).toEqual(before);
  expect(steps.filter((step) => step !== "row")).toEqual(["begin", "commit"]);
});

test("S52 if access is ended twice on the same proof, only one takes effect; without a proof, it always does", async () => {
  const { accounts, account } = await adasAccount();
  const stale = recording(
    updateEnding(accountStoreOf(accounts.User)!, await accounts.user()) as unknown as StoredAccount<FullUser>["update"],
  );
  const changes: AccountChanges = { email: "countess@example.com" };
  const ended = await endAccess(account, { ...END, changes, conditions: { email: ADA.email } });
  expect(ended?.email).toBe("countess@example.com");
  expect(await endAccess(stale.account, { ...END, changes: { email: "thief@example.com" } })).toBeNull();
  expect((await accounts.user()).email).toBe("countess@example.com");
  expect(await endAccess(stale.account, { ...END, proof: "none" })).not.toBeNull();
  expect((await accounts.user()).accessEpoch()).not.toBe(ended?.accessEpoch());
});

test("S51 if the caller's own work fails, nothing is announced", async () => {
  const { account, steps } = await adasAccount();
  const also = async () => {
    throw new Error("The disk is full.");
  };
  await expect(endAccess(account, { ...END, also })).rejects.toThrow("The disk is full.");
  expect(steps).toEqual(["begin", "row", "credentials", "logins: everything"]);
});

test.each(["user", "none"] as const)(
  "S51 ending access on the proof '%s' also removes the credentials of a user who can only log in",
  async (proof) => {
    await Person.populate("correct horse battery");
    const ended: object[] = [];
    const user = Object.assign(new Person(Person.rows[0]!), {
      async endCredentials() {
        ended.push(this);
      },
    });
    const before = { ...user.row };
    const account: StoredAccount<Person> = {
      update: async () => ((await rotateAccess(user, proof)) ? user : null),
      transaction: (work) => work(),
      endLogins: async () => {},
      audience: null,
    };
    expect(await endAccess(account, { ...END, proof })).toBe(user);
    expect(ended).toEqual([user]);
    expect(user.row).toEqual(before);
  },
);
