import { afterEach, describe, expect, test } from "vitest";
import {
  ADA,
  AdminUser,
  FullUser,
  outcomeOf,
  PASSWORD,
  pathIn,
  type TestAccounts,
  type TestAccountsOptions,
  testAccounts,
  type Visitor,
} from "../../../../test/support/account-application.ts";
import { insertUsers, UserWithPassword } from "../../../../test/support/application-parts.ts";
import { PeopleProvider } from "../../../../test/support/people.ts";
import { placesOf } from "../../../../test/support/places-of.ts";
import { onEachDatabase, onPostgres, postgres, type TestEngine } from "../../../../test/support/services.ts";
import { compose, Model, primaryKey, type Row, reference } from "../../../database/index.ts";
import { Route } from "../../../routing/index.ts";
import { createSessionDataTable } from "../../../session/index.ts";
import { setClock } from "../../../support/index.ts";
import { Authenticates } from "../../models/authenticates.ts";

afterEach(() => setClock(null));

/** All data about one user, each value unlike anything else in the tables. */
const GRACE = { id: 987_654, name: "Grace", email: "grace@new.example" };
const OLD_ADDRESS = "grace@old.example";
const IP = "203.0.113.77";
const BROWSER = "Grace's own browser";
const TRACES: readonly (string | number)[] = [GRACE.id, GRACE.name, GRACE.email, OLD_ADDRESS, IP];
const KEPT = ["logins", "password_resets", "email_changes"];
const EVERYWHERE = [
  "email_changes.email",
  "email_changes.user_id",
  "password_resets.email",
  "logins.ip",
  "logins.user_agent",
  "logins.user_id",
];

async function applicationWithGrace(engine: TestEngine, options: TestAccountsOptions = {}): Promise<TestAccounts> {
  const accounts = await testAccounts({
    engine,
    guards: { admin: { driver: "web", model: AdminUser } },
    config: { session: { SESSION: { store: "database" } } },
    ...options,
  });
  const { kysely } = accounts.database;
  await createSessionDataTable(kysely);
  await insertUsers(accounts.database, "users", [{ name: GRACE.name, email: OLD_ADDRESS }]);
  const verified_at = new Date();
  await kysely.updateTable("users").set({ id: GRACE.id, verified_at }).where("email", "=", OLD_ADDRESS).execute();
  return accounts;
}

/** Lets Grace mistype the password, log in, change her address and request a new password. Returns her browser. */
async function leaveTraces(accounts: TestAccounts): Promise<Visitor> {
  const visitor = accounts.visitor({ ip: IP, userAgent: BROWSER });
  await visitor.post("/login", { email: OLD_ADDRESS, password: "mistyped altogether" });
  await visitor.get("/login");
  await visitor.post("/login", { email: OLD_ADDRESS, password: PASSWORD, remember: true });
  await visitor.post("/change_password", { email: OLD_ADDRESS });
  await accounts.mails();
  await visitor.post("/account/email", { email: GRACE.email, password: PASSWORD });
  const [toNew] = await accounts.mails();
  expect(await outcomeOf(visitor, pathIn(toNew))).toBe("verified");
  await visitor.post("/change_password", { email: GRACE.email });
  await accounts.mails();
  expect(await visitor.get("/me")).toMatchObject({ body: { user: { id: GRACE.id } } });
  return visitor;
}

async function everything({ database }: TestAccounts): Promise<Record<string, Row[]>> {
  const tables = ["users", ...KEPT];
  const rows = tables.map(async (table) => [table, await database.kysely.selectFrom(table).selectAll().execute()]);
  return Object.fromEntries(await Promise.all(rows)) as Record<string, Row[]>;
}

await onEachDatabase("deleting a user", (engine) => {
  test("S70 leaves no trace of the user's key, addresses and browser in any table", async () => {
    const accounts = await applicationWithGrace(engine);
    const visitor = await leaveTraces(accounts);
    const users = ["users.email", "users.id", "users.name"];
    expect(await placesOf(accounts.database, [...TRACES, BROWSER])).toEqual([...EVERYWHERE, ...users].toSorted());
    const bob = await accounts.loggedIn({ email: "bob@example.com" });
    expect(await (await accounts.user(GRACE.id)).delete()).toBe(true);
    expect(await placesOf(accounts.database, [...TRACES, BROWSER])).toEqual([]);
    expect(await visitor.get("/me")).toMatchObject({ body: { user: null } });
    expect(await bob.get("/me")).toMatchObject({ body: { user: { name: "Bob" } } });
  });

  test("in the user's own request leaves nothing that this or another request could restore", async () => {
    const leave = Route.post("/leave", async ({ auth }) => {
      await ((await auth.user()) as FullUser).delete();
      await auth.logout();
      return "bye";
    });
    const accounts = await applicationWithGrace(engine, { routes: [leave] });
    const visitor = await leaveTraces(accounts);
    const [requests, leaving] = [Array.from({ length: 10 }, () => visitor.copy().get("/me")), visitor.post("/leave")];
    expect(await leaving).toMatchObject({ status: 200, body: "bye" });
    await Promise.all(requests);
    expect(await placesOf(accounts.database, [...TRACES, BROWSER])).toEqual([]);
  });

  test("S70 does not affect the data of a guard with another table for the same key and address", async () => {
    const accounts = await applicationWithGrace(engine);
    const { kysely } = accounts.database;
    await leaveTraces(accounts);
    for (const table of KEPT) {
      for (const { id: _, ...row } of await accounts.rows(table)) {
        const [digest] = ["token", "token_hash"].filter((column) => column in row);
        await kysely
          .insertInto(table)
          .values({ ...row, guard: "admin", [digest!]: `of-admin-${row.email ?? ""}` })
          .execute();
      }
    }
    const ofAdmins = async (): Promise<unknown> => {
      const rows = await Promise.all(KEPT.map((table) => accounts.rows(table)));
      return rows.flat().filter(({ guard }) => guard === "admin");
    };
    const before = await ofAdmins();
    expect(before).toHaveLength(4);
    await (await accounts.user(GRACE.id)).delete();
    expect(await ofAdmins()).toEqual(before);
    const left = await Promise.all(KEPT.map((table) => accounts.rows(table)));
    expect(left.flat().filter(({ guard }) => guard === "web")).toEqual([]);
  });

  test("S70 in a transaction that is rolled back deletes nothing, and the model counts as stored", async () => {
    const accounts = await applicationWithGrace(engine);
    const visitor = await leaveTraces(accounts);
    const before = await everything(accounts);
    const grace = await accounts.user(GRACE.id);
    const no = new Error("no");
    const attempt = accounts.database.transaction(async () => {
      expect(await grace.delete()).toBe(true);
      expect(await placesOf(accounts.database, TRACES)).toEqual([]);
      throw no;
    });
    await expect(attempt).rejects.toBe(no);
    expect(await everything(accounts)).toEqual(before);
    expect(grace.isStored()).toBe(true);
    expect(await visitor.get("/me")).toMatchObject({ body: { user: { id: GRACE.id } } });
  });

  test("that a row of the application prevents deletes nothing", async () => {
    const accounts = await applicationWithGrace(engine);
    await leaveTraces(accounts);
    const { kysely } = accounts.database;
    await kysely.schema
      .createTable("orders")
      .addColumn("user_id", reference(kysely), (column) => column.references("users.id").notNull())
      .execute();
    await kysely.insertInto("orders").values({ user_id: GRACE.id }).execute();
    const before = await everything(accounts);
    await expect((await accounts.user(GRACE.id)).delete()).rejects.toMatchObject({ code: "E_FOREIGN_KEY_VIOLATION" });
    expect(await everything(accounts)).toEqual(before);
  });

  test("uses the current row if the address has changed since the model was read", async () => {
    const accounts = await applicationWithGrace(engine);
    const stale = await accounts.user(GRACE.id);
    await leaveTraces(accounts);
    expect(stale.email).toBe(OLD_ADDRESS);
    expect(await stale.delete()).toBe(true);
    expect(await placesOf(accounts.database, [...TRACES, BROWSER])).toEqual([]);
  });

  test("S70 keeps a link that is being created for the user from being stored", async () => {
    class Deleting extends FullUser {
      static meanwhile: (() => Promise<unknown>) | null = null;
      static override async findBy(...args: [never, never]): Promise<never> {
        const found = await (super.findBy as (...args: unknown[]) => Promise<unknown>).apply(this, args);
        await this.meanwhile?.();
        return found as never;
      }
    }
    const accounts = await applicationWithGrace(engine, { User: Deleting });
    const doomed = await accounts.user(GRACE.id);
    Deleting.meanwhile = () => doomed.delete();
    const answer = await accounts.visitor().post("/change_password", { email: OLD_ADDRESS });
    await accounts.mails();
    Deleting.meanwhile = null;
    expect(answer.status).toBe(302);
    expect(await placesOf(accounts.database, TRACES)).toEqual([]);
    await accounts.visitor().post("/change_password", { email: "bob@example.com" });
    await accounts.mails();
    expect(await placesOf(accounts.database, ["bob@example.com"])).toEqual(["password_resets.email", "users.email"]);
  });

  test("without a guard, or without tables of links, deletes the row", async () => {
    const accounts = await testAccounts({ engine });
    for (const table of ["password_resets", "email_changes"]) {
      await accounts.database.kysely.schema.dropTable(table).execute();
    }
    expect(await (await AdminUser.findOrFail(1)).delete()).toBe(true);
    expect(await (await accounts.user()).delete()).toBe(true);
    expect([await accounts.rows("admins"), await accounts.rows("users")]).toMatchObject([[], [{ name: "Bob" }]]);
  });

  test("without an address deletes the row like any other", async () => {
    class Robot extends UserWithPassword {
      static override table = "robots";
      static override identifierColumn = "name";
      static override timestamps = false;
    }
    const accounts = await testAccounts({
      engine,
      models: [Robot as never],
      guards: { robots: { driver: "web", model: Robot } },
    });
    const { kysely } = accounts.database;
    await kysely.schema
      .createTable("robots")
      .$call(primaryKey(kysely))
      .addColumn("name", "varchar(255)", (column) => column.notNull())
      .addColumn("password", "varchar(255)", (column) => column.notNull())
      .addColumn("access_epoch", "varchar(43)")
      .execute();
    await kysely.insertInto("robots").values({ name: "R2", password: "!" }).execute();
    expect(await (await Robot.findOrFail(1)).delete()).toBe(true);
    expect(await accounts.rows("robots")).toEqual([]);
  });

  test("S70 whose row is on another connection leaves nothing behind either, even if links were mailed before", async () => {
    class User extends FullUser {
      static override connection = "people";
    }
    const accounts = await testAccounts({ engine, User, secondConnection: "people" });
    for (const table of ["users", "admins"]) await accounts.database.kysely.deleteFrom(table).execute();
    await accounts.loggedIn();
    const tokens: string[] = [];
    for (const name of ["one", "other"]) {
      tokens.push(await accounts.resetToken());
      await accounts.visitor().post("/change_password", { email: `${name}@example.com` });
    }
    await accounts.mails();
    expect(new Set(tokens).size).toBe(2);
    expect((await accounts.rows("password_resets")).map(({ email }) => email).toSorted()).toEqual([
      "ada@example.com",
      expect.stringMatching(/^nobody-/),
      expect.stringMatching(/^nobody-/),
    ]);
    expect(await (await accounts.user()).delete()).toBe(true);
    expect(await User.find(1)).toBeNull();
    expect(await placesOf(accounts.database, ["ada@example.com", "203.0.113.7"])).toEqual([]);
  });

  test("S70 does not affect the link of another user who has taken an address that is no longer reserved", async () => {
    const noon = Date.parse("2026-03-01T12:00:00.000Z");
    setClock(() => noon);
    const accounts = await testAccounts({ engine });
    const shared = "shared@example.com";
    await accounts.application.container.make("accounts").emailChanges.record("web", 1, shared, "a token", true);
    setClock(() => noon + 72 * 3_600_000);
    await accounts.User.where("id", 2).update({ email: shared });
    await accounts.visitor().post("/change_password", { email: shared });
    await accounts.mails();
    expect(await (await accounts.user(1)).delete()).toBe(true);
    expect(await placesOf(accounts.database, [shared])).toEqual(["password_resets.email", "users.email"]);
  });
});

describe("deleting a user", () => {
  test.each([{}, { id: null }])("that was read without its key (%j) runs no query", async (key) => {
    const accounts = await testAccounts();
    const user = accounts.User.fromRow({ ...key, email: ADA.email });
    accounts.forgetQueries();
    const message = "The model User was read without its primary key.";
    await expect(user.delete()).rejects.toMatchObject({ code: "E_INVALID_QUERY", message });
    expect(accounts.queries).toEqual([]);
  });

  test("S70 whose row no longer exists still deletes the other data about the user", async () => {
    const accounts = await testAccounts();
    const user = await accounts.user();
    await accounts.loggedIn();
    await accounts.User.where("id", ADA.id).delete();
    expect(await user.delete()).toBe(false);
    expect(await accounts.rows("logins")).toEqual([]);
  });

  test("without a guard runs one statement", async () => {
    const accounts = await testAccounts();
    const admin = await AdminUser.findOrFail(1);
    accounts.forgetQueries();
    expect(await admin.delete()).toBe(true);
    expect(accounts.queries).toEqual([expect.stringMatching(/^delete from "admins"/)]);
  });

  test("whose logins cannot be ended deletes nothing", async () => {
    const accounts = await testAccounts();
    await accounts.loggedIn();
    const before = await everything(accounts);
    const full = new Error("The disk is full.");
    const stop = accounts.database.onQuery(({ sql }) => {
      if (sql.startsWith('delete from "logins"')) throw full;
    });
    await expect((await accounts.user()).delete()).rejects.toBe(full);
    stop();
    expect(await everything(accounts)).toEqual(before);
  });

  test("whose row is on another connection deletes nothing if a base class fails after the row is deleted", async () => {
    const refused = new Error("The search index cannot be reached.");
    class Indexed extends Model {
      override async delete(): Promise<boolean> {
        await super.delete();
        throw refused;
      }
    }
    class User extends compose(Indexed, Authenticates) {
      static override table = "users";
      static override connection = "people";
      static override timestamps = false;
    }
    const accounts = await testAccounts({ User: User as never, secondConnection: "people" });
    await accounts.loggedIn();
    await expect((await accounts.user()).delete()).rejects.toBe(refused);
    expect(await User.find(ADA.id)).not.toBeNull();
    expect(await accounts.rows("logins")).toHaveLength(1);
  });

  test("of a guard without logins requires no table of logins", async () => {
    const accounts = await testAccounts({
      providers: [PeopleProvider],
      guards: { admin: { driver: "cookie", model: AdminUser } },
    });
    await accounts.database.kysely.schema.dropTable("logins").execute();
    expect(await (await AdminUser.findOrFail(1)).delete()).toBe(true);
    expect(await accounts.rows("admins")).toEqual([]);
  });
});

await onPostgres("deleting a user on PostgreSQL", () => {
  /** Waits until a statement waits for a lock. */
  async function waiting({ database }: TestAccounts): Promise<void> {
    for (;;) {
      const { length } = await database.kysely
        .selectFrom("pg_stat_activity")
        .select("pid")
        .where("wait_event_type", "=", "Lock")
        .where(({ eb, fn }) => eb("datname", "=", fn("current_database")))
        .execute();
      if (length > 0) return;
    }
  }

  test("S70 whose address is being changed leaves no trace of the new one", async () => {
    const accounts = await testAccounts({ engine: postgres });
    const user = await accounts.user();
    const { resets } = accounts.application.container.make("accounts");
    const [isChanged, commit] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const change = accounts.database.transaction(async () => {
      await accounts.User.where("id", ADA.id).update({ email: GRACE.email });
      await resets.replace("web", GRACE.email, "a token", { users: null, email: GRACE.email, isKnown: true });
      isChanged.resolve();
      await commit.promise;
    });
    await isChanged.promise;
    const deletion = user.delete();
    await Promise.race([deletion, waiting(accounts)]);
    commit.resolve();
    await change;
    expect(await deletion).toBe(true);
    expect(await placesOf(accounts.database, [ADA.email, GRACE.email])).toEqual(["admins.email"]);
  });

  describe.each([
    ["a login", (visitor: Visitor) => visitor.post("/login", { email: OLD_ADDRESS, password: PASSWORD })],
    ["a link for a new password", (visitor: Visitor) => visitor.post("/change_password", { email: OLD_ADDRESS })],
  ])("%s", (_, attempt) => {
    test("S70 that is requested before the deletion is committed is not stored", async () => {
      const accounts = await applicationWithGrace(postgres);
      const grace = await accounts.user(GRACE.id);
      const [isDeleted, commit] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const deletion = accounts.database.transaction(async () => {
        await grace.delete();
        isDeleted.resolve();
        await commit.promise;
      });
      await isDeleted.promise;
      const visitor = accounts.visitor({ ip: IP, userAgent: BROWSER });
      const underway = attempt(visitor);
      await Promise.race([underway, waiting(accounts)]);
      commit.resolve();
      await Promise.all([deletion, underway]);
      // The form is shown again with the address that was typed, which the visitor's session keeps until then.
      await visitor.get("/login");
      expect(await placesOf(accounts.database, [...TRACES, BROWSER])).toEqual([]);
    });
  });
});
