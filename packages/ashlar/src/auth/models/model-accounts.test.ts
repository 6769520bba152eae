import { describe, expect, test } from "vitest";
import {
  ADA,
  AdminUser,
  BOB,
  FullUser,
  NEW_PASSWORD,
  PlainUser,
  type TestAccountsOptions,
  testAccounts,
} from "../../../test/support/account-application.ts";
import { Member, Person } from "../../../test/support/people.ts";
import { onEachDatabase } from "../../../test/support/services.ts";
import { Model, tableHasColumn, timestamp } from "../../database/index.ts";
import { accountStoreSuite } from "../../testing/index.ts";
import { accessEpochOf } from "../access/access-epoch.ts";
import type { AccountStore } from "../users/account-store.ts";
import { accountStoreOf, type ModelAccounts } from "./model-accounts.ts";

/** The accounts of a model whose table has no rows yet. */
async function emptied(options: TestAccountsOptions): Promise<AccountStore> {
  class User extends FullUser {
    static override fillable = ["name"];
  }
  const accounts = await testAccounts({ ...options, User });
  await accounts.database.kysely.deleteFrom("users").execute();
  if (!(await tableHasColumn(accounts.User, "blocked_at"))) {
    const { kysely } = accounts.database;
    for (const column of ["blocked_at", "closes_at"]) {
      await kysely.schema.alterTable("users").addColumn(column, timestamp(kysely)).execute();
    }
  }
  return accountStoreOf(accounts.User)!;
}

await onEachDatabase("a model with Authenticates is an account store", (engine) => {
  const attributes = [{ name: "Ada" }, { name: "Grace" }] as const;
  const suite = accountStoreSuite(async () => ({ store: await emptied({ engine }), attributes }));
  for (const { title, run } of suite) test(title, run);
});

describe("the accounts of users", () => {
  test("belong to a model with the mixin, or to a store; a class that can only log in has none", () => {
    class Bare extends Model {}
    expect([FullUser, PlainUser].map((model) => accountStoreOf(model)?.userClass)).toEqual([FullUser, PlainUser]);
    expect([Person, Member, Bare].map((users) => accountStoreOf(users as typeof Person))).toEqual([null, null, null]);
    expect(accountStoreOf(FullUser)).toBe(accountStoreOf(FullUser));
  });

  test("S57 a registration sets the columns that fill sets, and never the key", async () => {
    class User extends FullUser {
      static override casts = { tags: "json" } as const;
      static override fillable = ["id", "name", "tags"];
    }
    await testAccounts({ User });
    const store = accountStoreOf(User)!;
    const names = ["name", "tags", "id", "password", "access_epoch", "verified_at", "api_token"];
    expect(names.map((name) => store.attributeKind(name))).toEqual(["value", "json", null, null, null, null, null]);
  });

  test("S68 after a rollback, a user has the stored values", async () => {
    const accounts = await testAccounts();
    const [store, user] = [accountStoreOf(accounts.User)!, await accounts.user()];
    const before = user.accessEpoch();
    const work = accounts.database.transaction(async () => {
      expect(await store.update(user, { email: "countess@example.com", accessEpoch: "new" }, {})).toBe(user);
      throw new Error("rolled back");
    });
    await expect(work).rejects.toThrow("rolled back");
    expect([user.email, user.accessEpoch()]).toEqual([ADA.email, before]);
  });

  test("without a column for the epoch are left as they are when only the epoch changes", async () => {
    class User extends PlainUser {}
    const accounts = await testAccounts({ User });
    await accounts.database.kysely.schema.alterTable("users").dropColumn("access_epoch").execute();
    const [store, user] = [accountStoreOf(User)!, (await User.find(ADA.id))!];
    const before = await accounts.rows("users");
    expect(await store.update(user as never, { accessEpoch: "new" }, {})).toBe(user);
    expect(await accounts.rows("users")).toEqual(before);
  });

  test("without a column for the epoch are created without one", async () => {
    class User extends PlainUser {
      static override fillable = ["name"];
    }
    const accounts = await testAccounts({ User });
    await accounts.database.kysely.schema.alterTable("users").dropColumn("access_epoch").execute();
    const account = { email: "cleo@example.com", passwordHash: "!", accessEpoch: "new", attributes: { name: "Cleo" } };
    expect(await accountStoreOf(User)!.create(account)).toMatchObject({ id: 3, name: "Cleo" });
  });

  test("S51 lose everything that their class lists when their access ends", async () => {
    class User extends FullUser {
      override accessChanges() {
        return { ...super.accessChanges(), api_token: null };
      }
    }
    const accounts = await testAccounts({ User });
    await accounts.User.where("id", ADA.id).update({ api_token: "of Ada" } as object);
    const store = accountStoreOf(accounts.User)!;
    await store.update(await accounts.user(), { email: "countess@example.com" }, {});
    expect((await accounts.user()).api_token).toBe("of Ada");
    await store.update(await accounts.user(), { accessEpoch: "new" }, {});
    const { api_token, access_epoch } = (await accounts.rows("users"))[0]!;
    expect([api_token, access_epoch]).toEqual([null, "new"]);
  });

  test("S52 change on a proof based on a hash, even if a login has replaced it by a newer one", async () => {
    const accounts = await testAccounts();
    await accounts.User.where("id", ADA.id).update({ access_epoch: null } as object);
    const [store, user, login] = [accountStoreOf(accounts.User)!, await accounts.user(), await accounts.user()];
    await login.storePasswordHash("a newer hash", login.passwordHash()!);
    const changes = { email: "countess@example.com", accessEpoch: "new" };
    expect(await store.update(user, changes, { accessEpoch: accessEpochOf(user) })).toBe(user);
    expect((await accounts.user()).email).toBe("countess@example.com");
  });

  test.each([
    ["on a proof", true],
    ["when access ends on a proof", true, "new"],
    ["without a proof", false],
  ] as const)(
    "S52 without an epoch, change only if their address is the expected one, %s",
    async (_, isProved, epoch?: string) => {
      const accounts = await testAccounts();
      await accounts.User.where("id", ADA.id).update({ access_epoch: null } as object);
      const [store, user] = [accountStoreOf(accounts.User)!, await accounts.user()];
      const changes = { email: "countess@example.com", ...(epoch && { accessEpoch: epoch }) };
      const update = (email: string) =>
        store.update(user, changes, { email, ...(isProved && { accessEpoch: accessEpochOf(user) }) });
      expect(await update(BOB.email)).toBeNull();
      expect((await accounts.user()).email).toBe(ADA.email);
      expect(await update(ADA.email)).toBe(user);
    },
  );

  test("S51 keep their password when the hash of a new one is made", async () => {
    const accounts = await testAccounts();
    const [store, user] = [accountStoreOf(accounts.User) as ModelAccounts, await accounts.user()];
    const before = user.passwordHash();
    expect(await store.hashPasswordOf(user, NEW_PASSWORD)).not.toBe(before);
    await user.save();
    expect([user.passwordHash(), (await accounts.user()).passwordHash()]).toEqual([before, before]);
  });

  test("exist under their key, whatever its column is", async () => {
    class User extends FullUser {
      static override primaryKey = "name";
    }
    await testAccounts({ User });
    const store = accountStoreOf(User)!;
    expect(await store.existing("id", [ADA.name, ADA.id, "Cleo"])).toEqual([ADA.name]);
  });

  test("of another connection are found and changed there", async () => {
    class Elsewhere extends AdminUser {
      static override connection = "people";
    }
    const accounts = await testAccounts({
      secondConnection: "people",
      guards: { elsewhere: { driver: "web", model: Elsewhere } },
      models: [Elsewhere],
    });
    const store = accountStoreOf(Elsewhere)!;
    const root = (await store.findByEmail(ADA.email))!;
    const failing = store.transaction(async () => {
      await store.update(root, { passwordHash: "!" }, {});
      throw new Error("rolled back");
    });
    await expect(failing).rejects.toThrow("rolled back");
    expect((await store.findByAuthId(root.authId()))?.passwordHash()).not.toBe("!");
    await store.update(root, { email: "root@example.com" }, {});
    expect(await store.existing("email", ["root@example.com", ADA.email])).toEqual(["root@example.com"]);
    expect(await accounts.rows("admins")).toMatchObject([{ email: ADA.email }]);
  });
});

test("a model without Authenticates is not an account store, whatever methods it has, because its create() takes columns", () => {
  const methods = { findByEmail() {}, attributeKind() {}, update() {}, delete() {}, existing() {}, transaction() {} };
  class Account extends Model {}
  expect(accountStoreOf(Object.assign(Account, methods) as never)).toBeNull();
});
