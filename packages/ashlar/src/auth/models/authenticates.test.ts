import { hashSync } from "bcryptjs";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { compose, Database, Model, sql } from "../../database/index.ts";
import { DEFAULT_HASHER, hashPassword } from "../../security/index.ts";
import { reread } from "../access/reread.ts";
import { rotateAccess } from "../access/rotate-access.ts";
import { verifyCredentials } from "../passwords/verify-credentials.ts";
import { isAuthenticatableClass } from "../users/authenticatable.ts";
import { Authenticates } from "./authenticates.ts";
import { accountStoreOf } from "./model-accounts.ts";

const PASSWORD = "correct horse battery staple";

class User extends compose(Model, Authenticates) {
  static override timestamps = false;
  declare id: number;
  declare name: string;
  declare email: string;
  declare password: string | null;
}

/** A user who logs in with their name. */
class Named extends User {
  static override table = "users";
  static override identifierColumn = "name";
}

let database: Database;

beforeEach(async () => {
  database = new Database({ default: "memory", memory: { driver: "sqlite", path: ":memory:" } }, "/");
  onTestFinished(() => database.close());
  User.useDatabase(database);
  await database.kysely.schema
    .createTable("users")
    .addColumn("id", "integer", (column) => column.primaryKey())
    .addColumn("name", "text")
    .addColumn("email", "text", (column) => column.unique())
    .addColumn("password", "text")
    .execute();
});

async function ada(): Promise<User> {
  const user = new User().fill({ name: "Ada", email: "ada@example.com" });
  await user.setPassword(PASSWORD);
  return await user.save();
}

/** The stored row, bypassing the model. */
async function stored(id = 1): Promise<Record<string, unknown>> {
  return database.kysely.selectFrom("users").selectAll().where("id", "=", id).executeTakeFirstOrThrow();
}

test("a model with the mixin has everything that auth requires of a user class", () => {
  expect(isAuthenticatableClass(User)).toBe(true);
  expect([isAuthenticatableClass(Model), isAuthenticatableClass(class {}), isAuthenticatableClass({})]).toEqual([
    false,
    false,
    false,
  ]);
});

describe("setPassword()", () => {
  test("hashes, and the hash is stored when the model is saved", async () => {
    const user = new User().fill({ name: "Ada", email: "ada@example.com" });
    await user.setPassword(PASSWORD);
    expect(user.password).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    await user.save();
    expect(await stored()).toMatchObject({ password: user.password });
  });

  test.each([
    ["too short", "seven77", "too short"],
    ["too long", "é".repeat(513), "too long"],
    ["one of the most common", "password", "most common"],
    ["blank", "", "too short"],
    ["not text", ["correct horse battery staple"], "must be text"],
    ["missing", undefined, "must be text"],
  ])("refuses one that is %s", async (_, plain, problem) => {
    const user = await ada();
    const before = user.password;
    await expect(user.setPassword(plain)).rejects.toMatchObject({
      code: "E_INVALID_INPUT",
      errors: { password: [{ message: expect.stringContaining(problem) }] },
    });
    expect(user.password).toBe(before);
  });

  test("refuses the current one", async () => {
    const user = await ada();
    await expect(user.setPassword(PASSWORD)).rejects.toMatchObject({
      errors: { password: [{ rule: "auth.password.unchanged" }] },
    });
  });

  test("accepts any Unicode, untrimmed and unfolded", async () => {
    const user = await ada();
    await user.setPassword("  Пароль 密码 🔑  ");
    expect(await user.verifyPassword("  Пароль 密码 🔑  ")).toBe(true);
    expect(await user.verifyPassword("Пароль 密码 🔑")).toBe(false);
  });
});

test("a password is hashed and verified even without a database", async () => {
  User.leaveDatabase(database);
  const user = new User();
  await user.setPassword(PASSWORD);
  expect(user.passwordHash()).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  expect([await user.verifyPassword(PASSWORD), await user.verifyPassword("wrong")]).toEqual([true, false]);
});

describe("verifyPassword()", () => {
  test("returns true only for the password", async () => {
    const user = await ada();
    expect(await user.verifyPassword(PASSWORD)).toBe(true);
    for (const other of ["wrong", "", `${PASSWORD} `, null, undefined, 1, [PASSWORD], user.password]) {
      expect(await user.verifyPassword(other)).toBe(false);
    }
  });

  test("returns false for a user without a password", async () => {
    const user = await User.create({ name: "Eve", email: "eve@example.com" });
    expect(await user.verifyPassword("")).toBe(false);
    expect([user.passwordHash(), new User().passwordHash()]).toEqual([null, null]);
  });
});

describe("finding users", () => {
  test("by primary key, as a number or as text", async () => {
    await ada();
    expect(await User.findByAuthId(1)).toMatchObject({ email: "ada@example.com" });
    expect(await User.findByAuthId("1")).toMatchObject({ email: "ada@example.com" });
  });

  test.each(["1 ", " 1", "01", "1.0", "1e0", "1 or 1=1", "", "ada@example.com"])("not by %j", async (id) => {
    await ada();
    expect(await User.findByAuthId(id)).toBeNull();
  });

  test("by the identifier's column", async () => {
    await ada();
    expect(await User.findByIdentifier("ada@example.com")).toMatchObject({ id: 1 });
    expect(await User.findByIdentifier("Ada")).toBeNull();
    expect(await Named.findByIdentifier("Ada")).toMatchObject({ id: 1 });
  });

  test("by exactly their identifier, even if the column treats another text as equal", async () => {
    await ada();
    await sql`create table members (id integer primary key, email text collate nocase)`.execute(database.kysely);
    await sql`insert into members values (1, 'ada@example.com')`.execute(database.kysely);
    class Folded extends User {
      static override table = "members";
    }
    expect(await Folded.findBy("email", "ADA@example.com")).toMatchObject({ id: 1 });
    expect(await Folded.findByIdentifier("ADA@example.com")).toBeNull();
    expect(await Folded.findByIdentifier("ada@example.com")).toMatchObject({ id: 1 });
  });

  test("credentials of a model are verified, and a hash with other parameters is replaced in the table", async () => {
    const user = await ada();
    await database.kysely
      .updateTable("users")
      .set({ password: hashSync(PASSWORD, 4) })
      .execute();
    expect(await verifyCredentials(DEFAULT_HASHER, User, "ADA@example.com", PASSWORD)).toMatchObject({ valid: true });
    const { password } = await stored();
    expect(password).toMatch(/^\$argon2id\$/);
    expect(password).not.toBe(user.password);
    expect(await verifyCredentials(DEFAULT_HASHER, User, "ada@example.com", PASSWORD)).toMatchObject({ valid: true });
  });
});

describe("the column of the hash", () => {
  test("is never in JSON, hidden or not", async () => {
    expect(JSON.parse(JSON.stringify(await ada()))).toEqual({ id: 1, name: "Ada", email: "ada@example.com" });
  });

  test("can have another name, and is not in JSON then either", async () => {
    class Keyed extends User {
      static override table = "users";
      static override passwordColumn = "name";
    }
    await ada();
    const user = (await Keyed.findByAuthId(1))!;
    await user.setPassword("another horse, another battery");
    expect([user.name, user.passwordHash()]).toEqual([expect.stringMatching(/^\$argon2id\$/), user.name]);
    expect(Object.keys(user.toJSON())).not.toContain("name");
  });

  test("is replaced by storePasswordHash() only while the caller's verified hash is still stored", async () => {
    const user = await ada();
    const [old, next] = [user.password!, await hashPassword("another horse, another battery")];
    await user.storePasswordHash("$never", "$something else");
    expect(await stored()).toMatchObject({ password: old });
    await user.storePasswordHash(next, old);
    expect([user.password, await stored()]).toMatchObject([next, { password: next }]);
  });
});

describe("S51 access to an account", () => {
  const addColumn = () => database.kysely.schema.alterTable("users").addColumn("access_epoch", "text").execute();
  const epochOf = async () => (await User.findOrFail(1)).accessEpoch();
  const setRow = (values: object) => database.kysely.updateTable("users").set(values).execute();

  test("has its own epoch from the first save on, which no form can set and JSON never shows", async () => {
    await addColumn();
    const user = await ada();
    expect(await stored()).toMatchObject({ access_epoch: expect.stringMatching(/^[\w-]{22}$/) });
    expect(user.accessEpoch()).toBe((await stored()).access_epoch);
    user.fill({ password: "chosen", access_epoch: "chosen" } as object);
    expect([user.isDirty(), user.toJSON()]).toEqual([false, { id: 1, name: "Ada", email: "ada@example.com" }]);
  });

  test("ends when a new password, address or identifier is saved, and by no other change", async () => {
    await addColumn();
    await ada();
    const endsBy = async (model: typeof User, change: object): Promise<boolean> => {
      const before = await epochOf();
      await Object.assign(await model.findOrFail(1), change).save();
      return (await epochOf()) !== before;
    };
    expect([
      await endsBy(User, { name: "Augusta" }),
      await endsBy(User, {}),
      await endsBy(User, { password: "another hash" }),
      await endsBy(User, { email: "augusta@example.com" }),
      await endsBy(Named, { name: "Ada" }),
      await endsBy(Named, { email: "ada@example.com" }),
    ]).toEqual([false, false, true, true, true, true]);
  });

  test("ends by endAccess(), which returns whether the row existed", async () => {
    await addColumn();
    const user = await ada();
    const before = user.accessEpoch();
    expect(await user.endAccess()).toBe(true);
    expect(user.accessEpoch()).not.toBe(before);
    const between = await epochOf();
    expect(between).toBe(user.accessEpoch());
    expect([await rotateAccess(user, "user"), (await epochOf()) === between]).toEqual([true, false]);
    await database.kysely.deleteFrom("users").execute();
    expect(await user.endAccess()).toBe(false);
  });

  test("cannot be ended by endAccess() without the column, which is an error, and then nothing changes", async () => {
    const user = await ada();
    const before = await stored();
    await expect(user.endAccess()).rejects.toMatchObject({
      code: "E_INVALID_MODEL",
      message:
        "The table of the class User lacks access_epoch, so endAccess() of a user ends nothing. " +
        "Add the column, or call accounts.endAccess(user).",
    });
    expect([await rotateAccess(user, "user"), await stored()]).toEqual([true, before]);
  });

  test("S51 cannot be ended with a user who was read without the column, which is an error", async () => {
    await addColumn();
    await ada();
    const before = await stored();
    const partial = async (): Promise<User> => {
      const query = database.kysely.selectFrom("users").select(["id", "name", "email", "password"]);
      return User.fromRow((await query.executeTakeFirstOrThrow()) as Record<string, unknown>);
    };
    const rejection = {
      code: "E_INVALID_MODEL",
      message:
        "A user of the class User was read without access_epoch, so access to the account cannot end. Read the whole row.",
    };
    await expect((await partial()).endAccess()).rejects.toMatchObject(rejection);
    const user = await partial();
    await user.setPassword("staple battery horse correct");
    await expect(user.save()).rejects.toMatchObject(rejection);
    const store = accountStoreOf(User as never)!;
    await expect(store.update((await partial()) as never, { accessEpoch: "new" }, {})).rejects.toMatchObject(rejection);
    expect(await stored()).toEqual(before);
    await Object.assign(await partial(), { name: "Augusta" }).save();
    expect(await stored()).toEqual({ ...before, name: "Augusta" });
  });

  test("ends together with a base class's additions", async () => {
    class Tagged extends Model {
      accessChanges(): object {
        return { name: "ended" };
      }
    }
    class Member extends compose(Tagged, Authenticates) {
      static override table = "users";
      static override timestamps = false;
    }
    Member.useDatabase(database);
    await ada();
    expect(await rotateAccess(await Member.findOrFail(1), "user")).toBe(true);
    expect(await stored()).toMatchObject({ name: "ended" });
    await addColumn();
    await setRow({ name: "Ada", access_epoch: "first" });
    expect(await (await Member.findOrFail(1)).endAccess()).toBe(true);
    expect(await stored()).toMatchObject({ name: "ended", access_epoch: expect.stringMatching(/^[\w-]{22}$/) });
  });

  test.each([true, false])("outlasts a hash that replaces one of the same password, with an epoch: %s", async (has) => {
    await addColumn();
    const { password } = await ada();
    if (!has) await setRow({ access_epoch: null });
    const user = await User.findOrFail(1);
    const before = user.accessEpoch();
    await user.storePasswordHash("$another", password!);
    expect([await stored(), await epochOf()]).toMatchObject([{ password: "$another", access_epoch: before }, before]);
  });

  test.each([
    [null, { access_epoch: "another" }],
    [null, { email: "augusta@example.com" }],
    ["first", { access_epoch: "another" }],
  ])(
    "that has ended since the user was read, with the epoch %o, by %o, is not restored with a new hash",
    async (epoch, change) => {
      await addColumn();
      const { password } = await ada();
      await setRow({ access_epoch: epoch });
      const user = await User.findOrFail(1);
      await setRow(change);
      await user.storePasswordHash("$another", password!);
      expect(await stored()).toMatchObject({ password, ...change });
    },
  );

  test("is based on hash and address without an epoch, if they were read, even if they are empty", async () => {
    const user = await ada();
    const epochs = [await epochOf()];
    for (const values of [{ password: null }, { email: "augusta@example.com" }, { email: null }]) {
      await setRow(values);
      epochs.push(await epochOf());
    }
    expect(new Set(epochs).size).toBe(4);
    await addColumn();
    expect(await rotateAccess(await User.findOrFail(1), "user")).toBe(true);
    await setRow({ access_epoch: null, password: user.password });
    expect(await rotateAccess(User.fromRow({ id: 1, password: user.password, access_epoch: null }), "user")).toBe(true);
  });

  test("is based on the address and on the identifier without an epoch", async () => {
    await ada();
    const epochs: string[] = [];
    for (const values of [{ name: "Ada" }, { name: "Augusta" }, { email: "augusta@example.com" }]) {
      await setRow(values);
      epochs.push((await Named.findOrFail(1)).accessEpoch());
    }
    expect(new Set(epochs).size).toBe(3);
  });

  test("cannot be determined for a user who was read without the epoch and the hash", async () => {
    await ada();
    const user = User.fromRow({ id: 1, email: "ada@example.com" });
    for (const ask of [() => user.accessEpoch(), () => user.accessConditions()]) {
      expect(ask).toThrow(expect.objectContaining({ code: "E_INVALID_MODEL" }));
    }
  });
});

describe("writeColumns()", () => {
  test("writes columns, and leaves other changes unsaved", async () => {
    const user = await ada();
    user.name = "Augusta";
    expect(await user.writeColumns({ email: "augusta@example.com" })).toBe(true);
    expect(await stored()).toMatchObject({ name: "Ada", email: "augusta@example.com" });
    expect([user.name, user.email, user.isDirty("name"), user.isDirty("email")]).toEqual([
      "Augusta",
      "augusta@example.com",
      true,
      false,
    ]);
  });

  test("writes even if the model already has the value", async () => {
    const [stale, fresh] = [await ada(), (await User.find(1))!];
    await fresh.writeColumns({ name: "Augusta" });
    expect(await stale.writeColumns({ name: "Ada" })).toBe(true);
    expect(await stored()).toMatchObject({ name: "Ada" });
  });

  test("returns false if the row is gone", async () => {
    const user = await ada();
    await (await User.find(1))!.delete();
    expect(await user.writeColumns({ name: "Augusta" })).toBe(false);
  });
});

test("reread() reads the current row, but keeps other unsaved changes", async () => {
  const user = await ada();
  user.name = "Augusta";
  user.email = "unsaved@example.com";
  await database.kysely
    .updateTable("users")
    .set({ name: "Byron", email: "new@example.com", password: "a hash" })
    .execute();
  await reread(user, "email");
  expect([user.name, user.email, user.password]).toEqual(["Augusta", "new@example.com", "a hash"]);
  expect([user.isDirty("name"), user.isDirty("email"), user.isDirty("password")]).toEqual([true, false, false]);
});

describe("a new user", () => {
  test("keeps the epoch that it was given, and otherwise gets one", async () => {
    await database.kysely.schema.alterTable("users").addColumn("access_epoch", "text").execute();
    const epochs = [{ access_epoch: "given" }, {}];
    for (const given of epochs) await Object.assign(new User(), { password: "!", ...given }).save();
    expect([await stored(1), await stored(2)]).toMatchObject([
      { access_epoch: "given" },
      { access_epoch: expect.stringMatching(/^[\w-]{22}$/) },
    ]);
  });
});

test("S51 the credentials of a user are removed after the row was written, and not if it no longer exists", async () => {
  const ended: unknown[] = [];
  class Holder extends User {
    static override table = "users";

    async endCredentials(): Promise<void> {
      ended.push((await stored()).access_epoch);
    }
  }
  Holder.useDatabase(database);
  await database.kysely.schema.alterTable("users").addColumn("access_epoch", "text").execute();
  await ada();
  const user = await Holder.findOrFail(1);
  expect(await user.endAccess()).toBe(true);
  expect(ended).toEqual([user.accessEpoch()]);
  await Holder.where("id", 1).delete();
  expect(await user.endAccess()).toBe(false);
  expect(ended).toHaveLength(1);
});
