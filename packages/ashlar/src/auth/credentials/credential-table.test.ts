import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { accessEpoch, PASSWORD } from "../../../test/support/application-parts.ts";
import { Person } from "../../../test/support/people.ts";
import { type Contents, onEachDatabase, type TestEngine } from "../../../test/support/services.ts";
import { ADA, BOB, TestUser } from "../../../test/support/web-application.ts";
import { type Database, longText, primaryKey, timestamp } from "../../database/index.ts";
import { now, setClock } from "../../support/index.ts";
import { accessEpochOf } from "../access/access-epoch.ts";
import type { Authenticatable, AuthenticatableClass, UserId } from "../users/authenticatable.ts";
import { createCredentialTable } from "./create-credential-table.ts";
import type { CredentialTableOptions, CredentialValues } from "./credential.ts";
import { CredentialTable } from "./credential-table.ts";

interface Columns {
  readonly name: string;
  readonly credential_id: string;
  readonly counter: number;
  readonly is_trusted: boolean;
  readonly transports: readonly string[];
  readonly checked_at: Date | null;
}

interface Hidden {
  readonly secret_hash: string | null;
}

type Passkeys = CredentialTable<Columns, Hidden>;

/** What the tests need from a class's users. */
interface TestUsers {
  readonly model: AuthenticatableClass;
  endAccess(id: number): Promise<void>;
  remove(id: number): Promise<void>;
}

const NOON = Date.parse("2030-01-01T12:00:00.123Z");
const HOUR = 3_600_000;

const CONTENTS: Contents = {
  name: "credentials",
  async fill({ kysely }) {
    await kysely.schema
      .createTable("users")
      .$call(primaryKey(kysely))
      .addColumn("email", "varchar(254)", (column) => column.notNull())
      .addColumn("password", "varchar(255)")
      .addColumn("access_epoch", "varchar(43)")
      .execute();
    const users = [ADA, BOB].map((user) => ({ ...user, password: "-", access_epoch: accessEpoch(user.id) }));
    await kysely.insertInto("users").values(users).execute();
    await createCredentialTable(kysely, "passkeys", (table) =>
      table
        .addColumn("name", "varchar(100)", (column) => column.notNull())
        .addColumn("credential_id", "varchar(100)", (column) => column.notNull().unique())
        .addColumn("counter", "integer", (column) => column.notNull())
        .addColumn("is_trusted", "boolean", (column) => column.notNull())
        .addColumn("transports", longText(kysely), (column) => column.notNull())
        .addColumn("checked_at", timestamp(kysely))
        .addColumn("secret_hash", "varchar(43)", (column) => column.unique())
        .addColumn("revoked_at", timestamp(kysely)),
    );
  },
};

beforeEach(async () => {
  await Person.populate(PASSWORD);
  setClock(() => NOON);
});
afterEach(() => setClock(null));

async function opened(engine: TestEngine): Promise<Database> {
  const { database, drop } = await engine.open({}, CONTENTS);
  onTestFinished(drop);
  return database;
}

function rowsBeside(database: Database): TestUsers {
  class User extends TestUser {}
  User.useDatabase(database);
  const { kysely } = database;
  return {
    model: User,
    endAccess: async (id) => {
      await kysely.updateTable("users").set({ access_epoch: "another" }).where("id", "=", id).execute();
    },
    remove: async (id) => void (await kysely.deleteFrom("users").where("id", "=", id).execute()),
  };
}

function elsewhere(): TestUsers {
  return {
    model: Person,
    endAccess: async (id) => {
      // Users that were read before keep the rows that they were read from.
      Person.rows = Person.rows.map((row) => (row.id === id ? { ...row, hash: "another" } : row));
    },
    remove: async (id) => {
      Person.rows = Person.rows.filter((row) => row.id !== id);
    },
  };
}

const USERS: readonly [where: string, usersOf: (database: Database) => TestUsers][] = [
  ["rows next to the table", rowsBeside],
  ["not rows", elsewhere],
];

function passkeysOf(
  database: Database,
  users: AuthenticatableClass,
  own: Partial<CredentialTableOptions<Columns, Hidden>> = {},
): Passkeys {
  return new CredentialTable<Columns, Hidden>({
    database,
    guard: "web",
    users,
    table: "passkeys",
    columns: {
      name: "text",
      credential_id: "text",
      counter: "integer",
      is_trusted: "boolean",
      transports: "json",
      checked_at: "datetime",
    },
    hidden: ["secret_hash"],
    keepsRevoked: true,
    ...own,
  });
}

let made = 0;

function values(own: Partial<CredentialValues<Columns, Hidden>> = {}): CredentialValues<Columns, Hidden> {
  return {
    name: "Phone",
    credential_id: `credential ${++made}`,
    counter: 0,
    is_trusted: false,
    transports: [],
    checked_at: null,
    secret_hash: null,
    ...own,
  };
}

async function userOf({ model }: TestUsers, id: UserId = ADA.id): Promise<Authenticatable> {
  return (await model.findByAuthId(id))!;
}

/** Stores credentials of Ada, and returns their keys. */
async function stored(passkeys: Passkeys, users: TestUsers, all: readonly object[] = [{}]): Promise<readonly string[]> {
  const ids: string[] = [];
  for (const own of all) ids.push((await passkeys.insert(await userOf(users), values(own)))!);
  return ids;
}

async function idsOf({ kysely }: Database): Promise<readonly string[]> {
  const rows = await kysely.selectFrom("passkeys").select("id").orderBy("id").execute();
  return rows.map(({ id }) => String(id));
}

/** Runs work this many times concurrently. */
function atOnce<T>(count: number, work: () => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, work));
}

function statementsOf(database: Database): string[] {
  const statements: string[] = [];
  database.onQuery(({ sql }) => statements.push(sql.replaceAll("`", '"')));
  return statements;
}

await onEachDatabase("credentials", (engine) => {
  describe.each(USERS)("of users who are %s", (_, usersOf) => {
    async function setup(own: Partial<CredentialTableOptions<Columns, Hidden>> = {}) {
      const database = await opened(engine);
      const users = usersOf(database);
      return { database, users, passkeys: passkeysOf(database, users.model, own) };
    }

    test("come back as they were stored: text to the character, times to the millisecond, other values by type", async () => {
      const { users, passkeys } = await setup();
      const ada = await userOf(users);
      const own = {
        name: "Adas Schlüssel 🔑 ",
        credential_id: "aA-_ ",
        counter: 4_294_967,
        is_trusted: true,
        transports: ["usb", "nfc"],
        checked_at: new Date(NOON - 1),
      };
      const times = { last_used_at: new Date(NOON + 1), expires_at: new Date(NOON + HOUR + 2) };
      const id = await passkeys.insert(ada, { ...own, ...times, secret_hash: "a secret" });
      const found = (await passkeys.find("credential_id", "aA-_ "))!;
      const { user_id, ...others } = Object.fromEntries(
        ["id", "user_id", "access_epoch", "created_at", "revoked_at", ...Object.keys({ ...own, ...times })].map(
          (name) => [name, found.credential[name as keyof typeof found.credential]],
        ),
      );
      expect(others).toEqual({
        id,
        access_epoch: accessEpochOf(ada),
        created_at: new Date(NOON),
        revoked_at: null,
        ...own,
        ...times,
      });
      expect([String(user_id), found.user?.authId()]).toEqual([String(ADA.id), ADA.id]);
      for (const other of ["aa-_ ", "aA-_", "AA-_ "]) expect(await passkeys.find("credential_id", other)).toBeNull();
      // What is hidden finds a row, but is not read.
      const hidden = (await passkeys.get("secret_hash", "a secret"))!;
      expect([hidden.id, "secret_hash" in hidden]).toEqual([id, false]);
    });

    test("are found with their users by as few statements as possible", async () => {
      const { database, users, passkeys } = await setup();
      const [id] = await stored(passkeys, users, [{ credential_id: "one" }]);
      await passkeys.find("credential_id", "one");
      const statements = statementsOf(database);
      Person.lookups = [];
      const found = (await passkeys.find("credential_id", "one"))!;
      const asked = users.model === Person ? [["1"], / from "passkeys" where /] : [[], / inner join "users" on /];
      expect([Person.lookups, ...statements]).toEqual([asked[0], expect.stringMatching(asked[1] as RegExp)]);
      expect([found.credential.id, found.user?.authId()]).toEqual([id, ADA.id]);
    });

    test("a key from an input finds nothing unless it is a number", async () => {
      const { users, passkeys } = await setup();
      const [id] = await stored(passkeys, users);
      for (const wrong of ["", "x", `${id}x`, `${id}.0`, ` ${id}`, "9".repeat(30)]) {
        expect([await passkeys.find("id", wrong), await passkeys.get("id", wrong)]).toEqual([null, null]);
        expect([await passkeys.revoke({ id: wrong }), await passkeys.delete({ id: wrong })]).toEqual([false, false]);
        await passkeys.touch(wrong);
      }
      expect((await passkeys.findActive("id", id!))?.user.authId()).toBe(ADA.id);
    });

    test("S52 none is stored if access to the account has ended since the user was read, or the user no longer exists", async () => {
      const { database, users, passkeys } = await setup();
      const [ada, bob] = [await userOf(users), await userOf(users, BOB.id)];
      await users.endAccess(ADA.id);
      expect(await passkeys.insert(ada, values())).toBeNull();
      await users.remove(BOB.id);
      expect(await passkeys.insert(bob, values())).toBeNull();
      expect(await idsOf(database)).toEqual([]);
      const again = await passkeys.insert(await userOf(users), values());
      expect(await idsOf(database)).toEqual([again]);
    });

    test("S52 none remains for a user who is deleted while it is being stored", async () => {
      const { database, users, passkeys } = await setup();
      const ada = await userOf(users);
      await stored(passkeys, users);
      const begun = Promise.withResolvers<void>();
      let isDone = false;
      // The listener is registered here, outside of the transaction.
      const inserting = begun.promise
        .then(() => passkeys.insert(ada, values()))
        .finally(() => {
          isDone = true;
        });
      await database.transaction(async () => {
        await passkeys.deleteAll(ADA.id);
        await users.remove(ADA.id);
        begun.resolve();
        // Until the insert waits for the row, or has overlooked that it is gone.
        for (let round = 0; round < 200 && !isDone; round++) await passkeys.count(ada);
      });
      expect([await inserting, await idsOf(database)]).toEqual([null, []]);
    });

    test("one with a unique value that is taken is refused with the error of the database", async () => {
      const { users, passkeys } = await setup();
      const ada = await userOf(users);
      const results = await Promise.allSettled(
        Array.from({ length: 4 }, () => passkeys.insert(ada, values({ credential_id: "same" }))),
      );
      const failed = results.filter((result) => result.status === "rejected");
      expect(failed.map(({ reason }) => reason.code)).toEqual(Array(3).fill("E_UNIQUE_VIOLATION"));
    });

    test("tell whether they are active, have expired, or have ended", async () => {
      const { users, passkeys } = await setup();
      const ids = await stored(passkeys, users, [{}, { expires_at: new Date(NOON + HOUR) }, {}]);
      const states = () => Promise.all(ids.map(async (id) => passkeys.stateOf((await passkeys.find("id", id))!)));
      expect(await states()).toEqual(["active", "active", "active"]);
      await passkeys.revoke({ id: ids[2]! });
      setClock(() => NOON + HOUR - 1);
      expect(await states()).toEqual(["active", "active", "ended"]);
      setClock(() => NOON + HOUR);
      expect(await states()).toEqual(["active", "expired", "ended"]);
      expect(await passkeys.findActive("id", ids[1]!)).toBeNull();
      await users.endAccess(ADA.id);
      expect(await states()).toEqual(["ended", "ended", "ended"]);
      expect(await passkeys.findActive("id", ids[0]!)).toBeNull();
    });

    test("of a user who no longer exists are not active", async () => {
      const { users, passkeys } = await setup();
      const [id] = await stored(passkeys, users);
      await users.remove(ADA.id);
      expect([await passkeys.findActive("id", id!), (await passkeys.get("id", id!))?.id]).toEqual([null, id]);
    });

    test.each([
      ["kept", true],
      ["deleted", false],
    ])("a credential is revoked once, by one of many requests, and its row %s", async (_, keepsRevoked) => {
      const { database, users, passkeys } = await setup({ keepsRevoked });
      const [id, other] = await stored(passkeys, users, [{}, {}]);
      expect(await passkeys.revoke({ id: id!, user_id: BOB.id })).toBe(false);
      const revoked = await atOnce(6, () => passkeys.revoke({ id: id!, user_id: ADA.id }));
      expect(revoked.filter(Boolean)).toEqual([true]);
      expect(await passkeys.revoke({ id: id! })).toBe(false);
      expect([await passkeys.findActive("id", id!), (await passkeys.findActive("id", other!))?.credential.id]).toEqual([
        null,
        other,
      ]);
      expect(await idsOf(database)).toEqual(keepsRevoked ? [id, other] : [other]);
      expect((await passkeys.get("id", id!))?.revoked_at).toEqual(keepsRevoked ? new Date(NOON) : undefined);
    });

    test("a revoked row isn't restored by a change or a use", async () => {
      const { users, passkeys } = await setup();
      const [id] = await stored(passkeys, users, [{ counter: 1 }]);
      await passkeys.revoke({ id: id! });
      expect(await passkeys.update({ id: id! }, { counter: 2, expires_at: null })).toBe(false);
      await passkeys.touch(id!, new Date(NOON + 5));
      const row = (await passkeys.get("id", id!))!;
      expect([row.counter, row.last_used_at, row.revoked_at]).toEqual([1, new Date(NOON + 5), new Date(NOON)]);
      expect(passkeys.isActive({ credential: row, user: await userOf(users) })).toBe(false);
      expect(await passkeys.delete({ id: id! })).toBe(true);
      await passkeys.touch(id!);
      expect(await passkeys.get("id", id!)).toBeNull();
    });

    test("are changed by one of several requests that found the same values", async () => {
      const { users, passkeys } = await setup();
      const [id] = await stored(passkeys, users, [{ checked_at: null }]);
      const changed = await atOnce(6, () =>
        passkeys.update(
          { id: id!, counter: 0, checked_at: null },
          { counter: 1, transports: ["usb"], is_trusted: true },
        ),
      );
      expect(changed.filter(Boolean)).toEqual([true]);
      const { counter, transports, is_trusted, name } = (await passkeys.get("id", id!))!;
      expect({ counter, transports, is_trusted, name }).toEqual({
        counter: 1,
        transports: ["usb"],
        is_trusted: true,
        name: "Phone",
      });
    });

    test("empty conditions, or a missing value, match no credential rather than all", async () => {
      const { database, users, passkeys } = await setup();
      const ids = await stored(passkeys, users, [{}, {}]);
      for (const where of [{}, { id: undefined }, { id: ids[0]!, user_id: undefined }] as never[]) {
        expect([await passkeys.delete(where), await passkeys.revoke(where)]).toEqual([false, false]);
        expect(await passkeys.update(where, { name: "all" })).toBe(false);
      }
      expect([await idsOf(database), (await passkeys.list(await userOf(users))).length]).toEqual([ids, 2]);
    });

    test("the newest stay if several are stored at the same time", async () => {
      const { database, users, passkeys } = await setup();
      const ada = await userOf(users);
      const others = await passkeys.insert(await userOf(users, BOB.id), values());
      const ids: string[] = [];
      const ended = await atOnce(8, async () => {
        ids.push((await passkeys.insert(ada, values({ expires_at: new Date(NOON + HOUR) })))!);
        return passkeys.deleteOldest(ADA.id, 3);
      });
      const newest = ids.toSorted((one, other) => Number(one) - Number(other)).slice(-3);
      expect(await idsOf(database)).toEqual([others, ...newest]);
      expect(ended.reduce((sum, count) => sum + count, 0)).toBe(5);
      // Those that have ended don't count.
      setClock(() => NOON + HOUR);
      expect([await passkeys.count(ada), await passkeys.deleteOldest(ADA.id, 1)]).toEqual([0, 0]);
    });

    test("of two guards are separate, even with equal keys of users", async () => {
      const { database, users, passkeys } = await setup();
      const staff = passkeysOf(database, users.model, { guard: "it's staff" });
      const [id] = await stored(passkeys, users, [{ credential_id: "web" }]);
      const [other] = await stored(staff, users, [{ credential_id: "staff" }]);
      expect([await staff.find("credential_id", "web"), await staff.get("id", id!)]).toEqual([null, null]);
      expect((await staff.find("credential_id", "staff"))?.credential.id).toBe(other);
      expect([await staff.revoke({ id: id! }), await staff.delete({ id: id! })]).toEqual([false, false]);
      expect(await staff.update({ id: id! }, { name: "taken" })).toBe(false);
      expect([await staff.count(await userOf(users)), await staff.deleteOldest(ADA.id, 1)]).toEqual([1, 0]);
      expect((await staff.list(await userOf(users))).map((row) => row.id)).toEqual([other]);
      expect([await staff.deleteAll(ADA.id), await idsOf(database)]).toEqual([1, [id]]);
    });

    test("are exported by kind and erased with their user, never for another class's user with the same key", async () => {
      const { database, users, passkeys } = await setup();
      const ids = await stored(passkeys, users, [{ is_trusted: true, transports: ["usb"] }, { name: "Key" }]);
      await passkeys.insert(await userOf(users, BOB.id), values());
      await passkeys.revoke({ id: ids[1]! });
      const columns = ["name", "is_trusted", "transports", "created_at", "revoked_at"];
      const ada = { user: await userOf(users), id: ADA.id };
      const created_at = new Date(NOON);
      const rows = [
        { name: "Phone", is_trusted: true, transports: ["usb"], created_at, revoked_at: null },
        { name: "Key", is_trusted: false, transports: [], created_at, revoked_at: created_at },
      ];
      expect(await passkeys.export(ada, columns)).toEqual(rows);
      const stranger = { user: new (class Stranger {})() as Authenticatable, id: ADA.id };
      expect(await passkeys.export(stranger, columns)).toEqual([]);
      await passkeys.erase(stranger);
      expect(await idsOf(database)).toHaveLength(3);
      await passkeys.erase(ada);
      expect([await passkeys.export(ada, columns), await idsOf(database)]).toEqual([[], [expect.any(String)]]);
    });

    test("are listed newest first, in pages, without those that have ended", async () => {
      const { users, passkeys } = await setup();
      const soon = { expires_at: new Date(NOON + HOUR) };
      const ids = await stored(passkeys, users, [{}, soon, {}, {}, {}]);
      await passkeys.insert(await userOf(users, BOB.id), values());
      await passkeys.revoke({ id: ids[4]! });
      const list = async (range = {}) => (await passkeys.list(await userOf(users), range)).map(({ id }) => id);
      expect(await list()).toEqual([ids[3], ids[2], ids[1], ids[0]]);
      expect(await list({ limit: 2 })).toEqual([ids[3], ids[2]]);
      expect(await list({ limit: 2, olderThan: ids[2] })).toEqual([ids[1], ids[0]]);
      expect(await list({ limit: 2, newerThan: ids[0] })).toEqual([ids[2], ids[1]]);
      expect([await list({ limit: 1, olderThan: "x" }), await list({ newerThan: "x" })]).toEqual([[ids[3]], []]);
      setClock(() => NOON + HOUR);
      expect(await list()).toEqual([ids[3], ids[2], ids[0]]);
      expect(await list({ withExpired: true })).toEqual([ids[3], ids[2], ids[1], ids[0]]);
      expect(await passkeys.count(await userOf(users))).toBe(3);
      await users.endAccess(ADA.id);
      expect([await list(), await passkeys.count(await userOf(users))]).toEqual([[], 0]);
    });

    test("all of a user's credentials are deleted, or all but one, as part of the transaction", async () => {
      const { database, users, passkeys } = await setup();
      const ids = await stored(passkeys, users, [{}, {}, {}]);
      const bobs = (await passkeys.insert(await userOf(users, BOB.id), values()))!;
      const failing = database.transaction(async () => {
        await passkeys.deleteAll(ADA.id);
        throw new Error("The user could not be deleted.");
      });
      await expect(failing).rejects.toThrow("could not be deleted");
      expect(await idsOf(database)).toEqual([...ids, bobs]);
      expect([await passkeys.deleteAll(ADA.id, ids[1]!), await idsOf(database)]).toEqual([2, [ids[1], bobs]]);
      expect([await passkeys.deleteAll(ADA.id), await idsOf(database)]).toEqual([1, [bobs]]);
    });

    test("that outlive the end of access stay valid afterwards, but aren't stored on the basis of an earlier proof", async () => {
      const { users, passkeys } = await setup({ endsWithAccess: false, version: 1 });
      const before = await userOf(users);
      const [id] = await stored(passkeys, users);
      await users.endAccess(ADA.id);
      expect(await passkeys.insert(before, values())).toBeNull();
      expect((await passkeys.findActive("id", id!))?.user.authId()).toBe(ADA.id);
      const ada = await userOf(users);
      expect([(await passkeys.list(ada)).length, await passkeys.count(ada)]).toEqual([1, 1]);
      const blocked = Object.assign(Object.create(ada) as Authenticatable, { isBlocked: () => true });
      const { credential } = (await passkeys.find("id", id!))!;
      expect(passkeys.stateOf({ credential, user: blocked })).toBe("ended");
      expect(await passkeys.list(blocked)).toEqual([]);
    });

    test("with another version are invalid", async () => {
      const { database, users, passkeys } = await setup({ version: 1 });
      const [id] = await stored(passkeys, users);
      expect((await passkeys.findActive("id", id!))?.credential.id).toBe(id);
      const next = passkeysOf(database, users.model, { version: 2 });
      expect([await next.findActive("id", id!), await next.list(await userOf(users))]).toEqual([null, []]);
    });
  });

  test("are pruned a few at a time once they have ended, or their user no longer exists", async () => {
    const database = await opened(engine);
    const users = rowsBeside(database);
    const [passkeys, staff] = [
      passkeysOf(database, users.model),
      passkeysOf(database, users.model, { guard: "staff" }),
    ];
    const { model } = users;
    const orphans = [];
    for (let n = 0; n < 501; n++) {
      orphans.push({ ...rowOf(n), user_id: 99, access_epoch: "-", created_at: new Date(NOON) });
    }
    await database.kysely.insertInto("passkeys").values(orphans).execute();
    const ended = await stored(passkeys, users, [{ expires_at: new Date(NOON) }]);
    const kept = await stored(passkeys, users, [{ expires_at: new Date(NOON + 1) }, {}]);
    await database.kysely
      .updateTable("passkeys")
      .set({ guard: "staff" })
      .where("credential_id", "=", "row 0")
      .execute();
    const stop = new AbortController();
    stop.abort();
    const endedBefore = new Date(NOON);
    expect(await passkeys.prune({ endedBefore, signal: stop.signal })).toBe(0);
    const statements = statementsOf(database);
    expect(await passkeys.prune({ endedBefore })).toBe(ended.length + 500);
    expect(statements.filter((sql) => sql.startsWith("delete"))).toHaveLength(3);
    // The row stays if the users of its guard aren't known here.
    const [foreign, ...left] = await idsOf(database);
    expect(left).toEqual(kept);
    expect([await staff.prune({ endedBefore }), await idsOf(database)]).toEqual([1, kept]);
    const existingUsers = async () => new Set([String(BOB.id)]);
    expect([await passkeys.prune({ endedBefore, existingUsers }), await idsOf(database)]).toEqual([2, []]);
    expect([foreign, model.name]).toEqual([expect.any(String), "User"]);
  });

  test("of users whose existence can't be determined are pruned only once they have ended", async () => {
    const database = await opened(engine);
    const passkeys = passkeysOf(database, Person);
    const [id] = await stored(passkeys, elsewhere());
    await elsewhere().remove(ADA.id);
    expect([await passkeys.prune({ endedBefore: new Date(now()) }), await idsOf(database)]).toEqual([0, [id]]);
  });

  test("lose personal data once they have been unused for a while, even if they were never used", async () => {
    const database = await opened(engine);
    const users = rowsBeside(database);
    const passkeys = passkeysOf(database, users.model);
    const secret_hash = (name: string) => ({ secret_hash: name });
    const ids = await stored(passkeys, users, [
      { ...secret_hash("never"), created_at: new Date(NOON - HOUR) },
      { ...secret_hash("long ago"), created_at: new Date(NOON - 3 * HOUR), last_used_at: new Date(NOON - HOUR) },
      { ...secret_hash("lately"), created_at: new Date(NOON - 3 * HOUR), last_used_at: new Date(NOON - HOUR + 1) },
      { created_at: new Date(NOON - HOUR) },
    ]);
    expect(await passkeys.forget(["secret_hash"], new Date(NOON - HOUR))).toBe(2);
    expect(await passkeys.forget(["secret_hash"], new Date(NOON - HOUR))).toBe(0);
    const rows = await database.kysely.selectFrom("passkeys").select(["id", "secret_hash"]).orderBy("id").execute();
    expect(rows.map(({ id, secret_hash: left }) => [String(id), left])).toEqual([
      [ids[0], null],
      [ids[1], null],
      [ids[2], "lately"],
      [ids[3], null],
    ]);
  });
});

await onEachDatabase("values of a credential that come from an input", (engine) => {
  test("find and end nothing if no column can hold the values", async () => {
    const database = await opened(engine);
    const passkeys = passkeysOf(database, Person);
    const ada = (await Person.findByAuthId(ADA.id))!;
    await passkeys.insert(ada, values({ credential_id: "abc" }));
    for (const value of ["abc\0", "a\ud800b", "x".repeat(70_000), ["abc"], { abc: 1 }]) {
      expect(await passkeys.find("credential_id", value as string)).toBeNull();
      expect(await passkeys.revoke({ credential_id: value as string })).toBe(false);
    }
    expect(await passkeys.find("credential_id", "abc")).not.toBeNull();
  });

  test("S69 don't reach a credential of another guard, even if they name it", async () => {
    const database = await opened(engine);
    const [passkeys, others] = [passkeysOf(database, Person), passkeysOf(database, Person, { guard: "staff" })];
    const ada = (await Person.findByAuthId(ADA.id))!;
    const id = (await others.insert(ada, values({ credential_id: "abc" })))!;
    expect(await passkeys.revoke({ id, guard: "staff" } as never)).toBe(false);
    expect(await others.revoke({ id })).toBe(true);
  });
});

function rowOf(n: number): object {
  return {
    guard: "web",
    name: "Phone",
    credential_id: `row ${n}`,
    counter: 0,
    is_trusted: false,
    transports: "[]",
  };
}

test("S37 a credential is not active if the class returns a different user than requested", async () => {
  const { sqlite } = await import("../../../test/support/services.ts");
  const database = await opened(sqlite);
  const passkeys = passkeysOf(database, Person);
  const [id] = await stored(passkeys, elsewhere());
  const { findByAuthId } = Person;
  const [ada, bob] = Person.rows;
  try {
    // The second has the access epoch of the requested user.
    for (const other of [bob!, { ...ada!, id: bob!.id }]) {
      Person.findByAuthId = async () => new Person(other);
      expect(await passkeys.findActive("id", id!)).toBeNull();
    }
  } finally {
    Person.findByAuthId = findByAuthId;
  }
  expect((await passkeys.findActive("id", id!))?.user.authId()).toBe(ADA.id);
});
