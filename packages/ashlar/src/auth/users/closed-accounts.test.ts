import { describe, expect, test } from "vitest";
import {
  ADA,
  FullUser,
  NEW_PASSWORD,
  PASSWORD,
  type TestAccounts,
  type TestAccountsOptions,
  testAccounts,
} from "../../../test/support/account-application.ts";
import { insertUsers } from "../../../test/support/application-parts.ts";
import { onEachDatabase, type TestEngine } from "../../../test/support/services.ts";
import { primaryKey, sql, timestamp } from "../../database/index.ts";
import { Route } from "../../routing/index.ts";
import { currentDate } from "../../support/index.ts";

/** A user whose row stays after the account has been closed. */
class Member extends FullUser {
  static override table = "members";
  static override closedColumn = "deleted_at";
  static override casts = { deleted_at: "datetime", verified_at: "datetime" } as const;
  declare deleted_at: Date | null;
}

const OTHER = "a password of someone else";

/** Addresses are unique among accounts that are not closed, as the manual shows for each database. */
async function membersOf(engine: TestEngine | null, options: TestAccountsOptions = {}): Promise<TestAccounts> {
  const User = class User extends Member {} as unknown as typeof FullUser;
  const accounts = await testAccounts({ ...(engine === null ? {} : { engine }), User, ...options });
  const { kysely } = accounts.database;
  const table = kysely.schema
    .createTable("members")
    .$call(primaryKey(kysely))
    .addColumn("name", "varchar(255)", (column) => column.notNull())
    .addColumn("email", "varchar(254)", (column) => column.notNull())
    .addColumn("password", "varchar(255)")
    .addColumn("access_epoch", "varchar(43)")
    .addColumn("api_token", "varchar(255)")
    .addColumn("verified_at", timestamp(kysely))
    .addColumn("deleted_at", timestamp(kysely));
  await table.execute();
  if (engine?.name === "mariadb") {
    await sql`alter table members add column open_email varchar(254) as (if(deleted_at is null, email, null)) stored unique`.execute(
      kysely,
    );
  } else {
    await sql`create unique index members_email_index on members (email) where deleted_at is null`.execute(kysely);
  }
  await insertUsers(accounts.database, "members", [ADA]);
  return accounts;
}

async function close(accounts: TestAccounts, id: number = ADA.id): Promise<void> {
  const member = (await accounts.user(id)) as unknown as Member;
  member.deleted_at = currentDate();
  await member.save();
}

await onEachDatabase("a closed account", (engine) => {
  test("S51 ends its logins, links and attempts, and is as good as deleted", async () => {
    const accounts = await membersOf(engine);
    const visitor = await accounts.loggedIn();
    const resetToken = await accounts.resetToken();
    await visitor.post("/email/resend");
    const verification = await accounts.link();
    await close(accounts);
    expect((await visitor.get("/me")).body).toEqual({ user: null });
    expect((await accounts.visitor().get(`/password_reset?token=${resetToken}`)).status).toBe(410);
    expect((await accounts.visitor().post(verification)).headers.get("location")).toBe("/email/verify/notice");
    await expect(accounts.loggedIn()).rejects.toThrow("The login failed.");
    await accounts.mails();
    await accounts.visitor().post("/change_password", { email: ADA.email });
    expect(await accounts.mails()).toEqual([]);
  });

  test("S58 frees its address: a new user can register it, and is the one who is looked up, notified and limited", async () => {
    const accounts = await membersOf(engine);
    await close(accounts);
    const sent = { name: "Ada II", email: ADA.email, password: OTHER, password_confirmation: OTHER };
    const newcomer = accounts.visitor();
    expect((await newcomer.post("/register", sent)).headers.get("location")).toBe("/email/verify/notice");
    expect((await newcomer.get("/me")).body).toMatchObject({ user: { id: 2, name: "Ada II" } });
    await accounts.loggedIn(ADA, OTHER);
    await accounts.mails();
    const token = await accounts.resetToken();
    const chosen = { token, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
    expect((await accounts.visitor().post("/password_reset", chosen)).headers.get("location")).toBe("/login");
    const rows = await accounts.rows("members");
    expect(rows.map(({ deleted_at, verified_at }) => [deleted_at === null, verified_at === null])).toEqual([
      [false, true],
      [true, false],
    ]);
    await accounts.loggedIn(ADA, NEW_PASSWORD);
    const taken = await accounts.visitor().post("/register", sent, { accept: "application/json" });
    expect(taken.status).toBe(422);
  });

  test("S52 isn't logged in to, changed or mailed by work that began before it was closed", async () => {
    const accounts = await membersOf(engine);
    const read = await accounts.user();
    await close(accounts);
    const store = accounts.application.container.make("accounts").users.of("web");
    const asRead = { accessEpoch: read.accessEpoch() };
    expect(await store.update(read as never, { passwordHash: "!" }, asRead)).toBeNull();
    const { mails } = accounts.application.container.make("accounts");
    await mails.prepare();
    const closed = await accounts.user();
    await mails.queue("resetPassword", ADA.email, {
      guard: "web",
      user: closed as never,
      email: ADA.email,
      url: "https://shop.example/",
      expiresInMinutes: null,
    });
    expect(await accounts.mails()).toEqual([]);
    expect(await store.existing("id", [ADA.id])).toEqual([]);
  });
});

describe("a closed account", () => {
  const enter = Route.post("/enter", async ({ auth, response }) => {
    const user = await Current.User.findOrFail(ADA.id);
    const outcome = await auth.loginAs(user).then(
      (logged) => logged !== null,
      (error: { readonly code: string }) => error.code,
    );
    return response.json({ outcome, byId: await auth.attemptById(ADA.id) });
  });
  const Current: { User: typeof FullUser } = { User: FullUser };

  test("S52 is not logged in to by loginAs or attemptById", async () => {
    const accounts = await membersOf(null, { routes: [enter] });
    Current.User = accounts.User;
    await close(accounts);
    const { body } = await accounts.visitor().post("/enter");
    expect(body).toEqual({ outcome: "E_STALE_PROOF", byId: null });
    expect(await accounts.rows("logins")).toEqual([]);
  });

  test("S57 can't be closed or reopened by a form's inputs", async () => {
    const accounts = await membersOf(null);
    const member = (await accounts.user()).fill({ deleted_at: currentDate(), name: "Countess" } as never);
    expect((member as unknown as Member).deleted_at).toBeNull();
  });

  test("can be logged in to once it is reopened, and its earlier logins stay invalid", async () => {
    const accounts = await membersOf(null);
    const visitor = await accounts.loggedIn();
    await close(accounts);
    const member = (await accounts.user()) as unknown as Member;
    member.deleted_at = null;
    await member.save();
    expect((await visitor.get("/me")).body).toEqual({ user: null });
    await accounts.loggedIn(ADA, PASSWORD);
  });
});
