import { afterEach, describe, expect, test } from "vitest";
import {
  ADA,
  AdminUser,
  BOB,
  FullUser,
  NEW_PASSWORD,
  PASSWORD,
  PlainUser,
  type TestAccounts,
  type TestAccountsOptions,
  testAccounts,
} from "../../../../test/support/account-application.ts";
import { ACCOUNT_CONTROLLERS } from "../../../../test/support/account-controllers.ts";
import { onEachDatabase } from "../../../../test/support/services.ts";
import { MailProvider } from "../../../mail/index.ts";
import { Route } from "../../../routing/index.ts";
import { setClock } from "../../../support/index.ts";
import { authRoutes } from "../pages/auth-routes.ts";

afterEach(() => setClock(null));

const THIEF = "thief@example.org";
const INVALID = [200, { outcome: "invalid" }];

const ROUTES = [
  Route.get("/found/@token", async ({ accounts, request }) => ({
    found: await accounts.findEmailChange(request.param("token")),
  })),
  Route.post("/undo/@token", ({ accounts, request }) => accounts.undoEmailChange(request.param("token"))),
];

function undoing(options: TestAccountsOptions = {}): Promise<TestAccounts> {
  return testAccounts({
    User: class User extends FullUser {},
    ...options,
    routes: [...ROUTES, ...(options.routes ?? [])],
  });
}

/** Stores a change of address; returns the token that was mailed to the old address. */
async function changed(
  { application }: TestAccounts,
  { guard = "web", id = ADA.id as number, email = ADA.email as string } = {},
): Promise<string> {
  const { links, emailChanges } = application.container.make("accounts");
  const token = links.undo({ guard, id: String(id) });
  await emailChanges.record(guard, id, email, token, true);
  return token;
}

/** Moves Ada's account to the address of a thief. */
async function stolen(accounts: TestAccounts): Promise<string> {
  const token = await changed(accounts);
  await accounts.User.where("id", ADA.id).update({ email: THIEF });
  return token;
}

async function undo(accounts: TestAccounts, token: string): Promise<readonly [status: number, body: unknown]> {
  const { status, body } = await accounts.visitor().post(`/undo/${token}`, {}, { accept: "application/json" });
  return [status, body];
}

async function found(accounts: TestAccounts, token: string): Promise<unknown> {
  return (await accounts.visitor().get(`/found/${token}`)).body;
}

await onEachDatabase("undoing a change of address", (engine) => {
  test("S51 restores the old address, without a password; the returned token sets one", async () => {
    const accounts = await undoing({ engine });
    const [thief, bob] = [await accounts.loggedIn(), await accounts.loggedIn(BOB)];
    const token = await stolen(accounts);
    await accounts.User.where("id", ADA.id).update({ api_token: "a".repeat(43) });
    expect(await found(accounts, token)).toEqual({ found: { email: ADA.email } });
    const before = await accounts.user();
    const resetToken = expect.stringMatching(/^[\w.-]+$/);
    const [status, body] = (await undo(accounts, token)) as [number, { readonly resetToken: string }];
    const user = expect.objectContaining({ id: ADA.id, email: ADA.email });
    expect([status, body]).toEqual([200, { outcome: "undone", user, resetToken }]);
    const after = await accounts.user();
    expect(after).toMatchObject({ email: ADA.email, password: "!", api_token: null, verified_at: expect.any(Date) });
    expect(after.accessEpoch()).not.toBe(before.accessEpoch());
    expect([(await thief.get("/me")).body, (await bob.get("/me")).body]).toMatchObject([
      { user: null },
      { user: { id: BOB.id } },
    ]);
    expect(await accounts.toldOf("auth.email_change_undone")).toEqual([
      { time: expect.any(Date), address: "203.0.113.7", guard: "web", user, previousEmail: THIEF, email: ADA.email },
    ]);
    const mails = await accounts.mails();
    expect(mails.map(({ to, text }) => [to, text.includes(`to ${THIEF}.`), text.includes(`to ${ADA.email}.`)])).toEqual(
      [[THIEF, true, true]],
    );
    const passwords = { password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
    await accounts.visitor().post("/password_reset", { token: body.resetToken, ...passwords });
    await accounts.loggedIn(ADA, NEW_PASSWORD);
    expect([await undo(accounts, token), await found(accounts, token)]).toEqual([INVALID, { found: null }]);
  });

  test("S51 uses up the later changes of that user only", async () => {
    const accounts = await undoing({ engine });
    const email = (name: string): string => `${name}@example.com`;
    await changed(accounts, { email: email("earlier") });
    const token = await changed(accounts, { email: email("this") });
    await changed(accounts, { email: email("later") });
    await changed(accounts, { email: email("of-bob"), id: BOB.id });
    await changed(accounts, { email: email("of-an-admin"), guard: "admin" });
    expect(await undo(accounts, token)).toMatchObject([200, { outcome: "undone" }]);
    const left = (await accounts.rows("email_changes")).map((row) => row.email);
    expect(left.toSorted()).toEqual([email("earlier"), email("of-an-admin"), email("of-bob")]);
    expect((await accounts.user()).email).toBe(email("this"));
  });

  test("is all or nothing: if the logins cannot be ended, the change stays, and so does the link", async () => {
    const logged: Record<string, unknown>[] = [];
    const accounts = await undoing({ engine, logged });
    const token = await stolen(accounts);
    const before = await accounts.rows("users");
    const stop = accounts.database.onQuery(({ sql }) => {
      if (sql.startsWith('delete from "logins"')) throw new Error("The disk is full.");
    });
    expect((await undo(accounts, token))[0]).toBe(500);
    stop();
    expect(JSON.stringify(logged)).toContain("The disk is full.");
    expect([await accounts.rows("users"), await accounts.mails()]).toEqual([before, []]);
    expect(await accounts.toldOf("auth.email_change_undone")).toEqual([]);
    expect(await undo(accounts, token)).toMatchObject([200, { outcome: "undone" }]);
  });

  test("S51 is refused while another account has the old address, and works once that account no longer exists", async () => {
    const accounts = await undoing({ engine });
    const token = await stolen(accounts);
    await accounts.User.where("id", BOB.id).update({ email: ADA.email });
    const before = await accounts.rows("users");
    expect(await undo(accounts, token)).toEqual([200, { outcome: "taken" }]);
    expect([await accounts.rows("users"), await accounts.mails()]).toEqual([before, []]);
    await accounts.User.where("id", BOB.id).update({ email: BOB.email });
    expect(await undo(accounts, token)).toMatchObject([200, { outcome: "undone" }]);
  });
});

describe("the link that undoes a change of address", () => {
  /** What has happened to the link, or to the change. */
  const DEAD: readonly (readonly [what: string, kill: (accounts: TestAccounts) => Promise<unknown>])[] = [
    ["has reached its maximum age", async () => setClock(() => Date.now() + 72 * 3_600_000)],
    [
      "is in the table for longer than it was signed for",
      async ({ database }) => {
        await database.kysely
          .updateTable("email_changes")
          .set({ expires_at: new Date("2999-01-01") })
          .execute();
        setClock(() => Date.now() + 72 * 3_600_000);
      },
    ],
    [
      "expires earlier in the table than it was signed for",
      ({ database }) => database.kysely.updateTable("email_changes").set({ expires_at: new Date() }).execute(),
    ],
    ["is no longer in the table", ({ database }) => database.kysely.deleteFrom("email_changes").execute()],
    [
      "is in the table for another user",
      ({ database }) => database.kysely.updateTable("email_changes").set({ user_id: BOB.id }).execute(),
    ],
    [
      "is in the table for another guard",
      ({ database }) => database.kysely.updateTable("email_changes").set({ guard: "admin" }).execute(),
    ],
    ["is about a user who no longer exists", ({ User }) => User.where("id", ADA.id).delete()],
  ];

  test.each(DEAD)("S51 is invalid once it %s", async (_, kill) => {
    const accounts = await undoing();
    const token = await stolen(accounts);
    await kill(accounts);
    const before = await accounts.rows("users");
    expect([await undo(accounts, token), await found(accounts, token)]).toEqual([INVALID, { found: null }]);
    expect([await accounts.rows("users"), await accounts.mails()]).toEqual([before, []]);
  });

  test("S51 is invalid if its guard no longer exists, or its pages are another guard's", async () => {
    class Admin extends AdminUser {}
    const accounts = await undoing({
      models: [Admin],
      guards: { admin: { driver: "web", model: Admin } },
      routes: [authRoutes(ACCOUNT_CONTROLLERS, { guard: "admin" }).prefix("/admin")],
    });
    for (const guard of ["admin", "gone"]) {
      const token = await changed(accounts, { guard, email: `${guard}@example.com` });
      expect([guard, await undo(accounts, token), await found(accounts, token)]).toEqual([
        guard,
        INVALID,
        { found: null },
      ]);
    }
    expect((await Admin.findOrFail(1)).email).toBe(ADA.email);
  });

  test("S51 has one effect if it is used twice at the same time", async () => {
    const accounts = await undoing();
    const token = await stolen(accounts);
    const service = accounts.application.container.make("accounts");
    const consume = service.emailChanges.consume.bind(service.emailChanges);
    // Two uses have both found the change, and the other one has used it up.
    service.emailChanges.consume = async (change) => (await consume(change)) && (await consume(change));
    const before = await accounts.rows("users");
    expect(await undo(accounts, token)).toEqual(INVALID);
    expect([await accounts.rows("users"), await accounts.mails()]).toEqual([before, []]);
  });

  test("S51 S69 keeps the old address from new accounts, even with a guard that has another class for the same rows", async () => {
    const accounts = await undoing({
      guards: { staff: { driver: "web", model: class Staff extends FullUser {} } },
      routes: [authRoutes(ACCOUNT_CONTROLLERS, { guard: "staff" }).prefix("/staff")],
      bindsItself: true,
    });
    await stolen(accounts);
    const eve = { name: "Eve", email: ADA.email, password: PASSWORD, password_confirmation: PASSWORD };
    for (const path of ["/register", "/staff/register"]) {
      const { status } = await accounts.visitor().post(path, eve, { accept: "application/json" });
      expect([path, status, (await accounts.rows("users")).length]).toEqual([path, 422, 2]);
    }
  });

  test("S51 is refused while another account can still take the old address back, if it was never verified here", async () => {
    const accounts = await undoing();
    const { links, emailChanges } = accounts.application.container.make("accounts");
    const token = links.undo({ guard: "web", id: String(ADA.id) });
    await emailChanges.record("web", ADA.id, ADA.email, token, false);
    await emailChanges.record("web", BOB.id, ADA.email, "of Bob", true);
    await accounts.User.where("id", ADA.id).update({ email: THIEF });
    expect(await undo(accounts, token)).toEqual([200, { outcome: "taken" }]);
    expect((await accounts.user()).email).toBe(THIEF);
  });

  test("S51 is invalid if the user is deleted while it is used, and no mail is sent", async () => {
    const accounts = await undoing();
    const token = await stolen(accounts);
    const find = accounts.User.findByAuthId;
    accounts.User.findByAuthId = async function (this: unknown, ...args: unknown[]): Promise<unknown> {
      const user = await Reflect.apply(find, this, args);
      await accounts.User.where("id", ADA.id).delete();
      return user;
    } as typeof find;
    expect(await undo(accounts, token)).toEqual(INVALID);
    expect([await accounts.toldOf("auth.email_change_undone"), await accounts.mails()]).toEqual([[], []]);
  });

  test("S51 is valid for an account that is as old as the change, and invalid for a newer one with its key", async () => {
    class User extends FullUser {
      static override timestamps = true;
      declare created_at: Date;
    }
    const accounts = await undoing({ User });
    for (const column of ["created_at", "updated_at"]) {
      await accounts.database.kysely.schema.alterTable("users").addColumn(column, "varchar(40)").execute();
    }
    const at = new Date("2030-01-01T00:00:00.000Z");
    setClock(() => at.getTime());
    const token = await stolen(accounts);
    for (const [createdAt, isFound] of [
      [new Date(at.getTime() + 1), false],
      [at, true],
      [new Date(at.getTime() - 1), true],
    ] as const) {
      await accounts.database.kysely.updateTable("users").set({ created_at: createdAt }).execute();
      expect((await User.findOrFail(ADA.id)).created_at).toEqual(createdAt);
      expect(await found(accounts, token)).toEqual({ found: isFound ? { email: ADA.email } : null });
    }
  });

  test("S51 is valid for an account whose created_at column doesn't hold a time", async () => {
    const accounts = await undoing();
    await accounts.database.kysely.schema.alterTable("users").addColumn("created_at", "integer").execute();
    const token = await stolen(accounts);
    await accounts.database.kysely.updateTable("users").set({ created_at: 2_147_483_647_000 }).execute();
    expect(await found(accounts, token)).toEqual({ found: { email: ADA.email } });
  });

  test("verifies no address of a model that does not track it", async () => {
    const accounts = await undoing({ User: class User extends PlainUser {} as typeof PlainUser });
    expect(await undo(accounts, await stolen(accounts))).toMatchObject([200, { outcome: "undone" }]);
    expect((await accounts.rows("users"))[0]).toMatchObject({ email: ADA.email, verified_at: null });
  });

  test("changes nothing in an application without mail", async () => {
    const accounts = await undoing({ without: [MailProvider] });
    const token = await stolen(accounts);
    expect(await undo(accounts, token)).toMatchObject([500, { code: "E_INVALID_CONFIGURATION" }]);
    expect((await accounts.user()).email).toBe(THIEF);
    expect(await accounts.loggedIn({ email: THIEF }, PASSWORD)).toBeDefined();
  });
});
