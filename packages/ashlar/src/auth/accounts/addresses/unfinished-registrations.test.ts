import { afterEach, describe, expect, test } from "vitest";
import {
  ADA,
  AdminUser,
  APP_URL,
  BOB,
  FullUser,
  linkIn,
  NEW_PASSWORD,
  PASSWORD,
  PlainUser,
  type TestAccounts,
  type TestAccountsOptions,
  testAccounts,
} from "../../../../test/support/account-application.ts";
import { ACCOUNT_CONTROLLERS } from "../../../../test/support/account-controllers.ts";
import { Mailable, type MailContent } from "../../../mail/index.ts";
import { Route } from "../../../routing/index.ts";
import { setClock } from "../../../support/index.ts";
import { authRoutes } from "../pages/auth-routes.ts";

afterEach(() => setClock(null));

const FINISH = "Finish creating your account";
const TAKEN = "You already have an account";

function preventing(options: TestAccountsOptions = {}): Promise<TestAccounts> {
  const User = class User extends FullUser {};
  return testAccounts({ User, ACCOUNTS: { preventEnumeration: true }, ...options });
}

function register(accounts: TestAccounts, path = "/register") {
  const passwords = { password: "another password", password_confirmation: "another password" };
  return accounts.visitor().post(path, { name: "Eve", email: ADA.email, ...passwords });
}

/** The recipients and subjects of the mails. */
async function mailed(accounts: TestAccounts): Promise<string[]> {
  return (await accounts.mails()).map(({ to, subject }) => `${to}: ${subject}`);
}

describe("an account whose address is registered again before it is verified", () => {
  test("loses its password, its logins and its links, and gets one link, while others keep theirs", async () => {
    const accounts = await preventing();
    for (const { id } of [ADA, BOB]) await (await accounts.user(id)).markEmailAsVerified();
    const [ada, bob] = [await accounts.loggedIn(), await accounts.loggedIn(BOB)];
    await accounts.User.where("id", ADA.id).update({ verified_at: null });
    const before = await accounts.rows("users");
    await ada.post("/email/resend");
    const link = await accounts.link();
    accounts.forgetQueries();
    await register(accounts);
    const [mail, ...others] = await accounts.mails();
    expect([mail?.to, mail?.subject, others]).toEqual([ADA.email, FINISH, []]);
    const after = await accounts.rows("users");
    expect([after.length, after[1], after[0]?.password]).toEqual([2, before[1], "!"]);
    expect(after[0]?.access_epoch).not.toBe(before[0]?.access_epoch);
    expect(await accounts.rows("logins")).toMatchObject([{ user_id: BOB.id }]);
    expect(await ada.get("/me")).toMatchObject({ body: { user: null } });
    expect(await bob.get("/me")).toMatchObject({ body: { user: { id: BOB.id } } });
    await accounts.visitor().post(link);
    expect((await accounts.user()).hasVerifiedEmail()).toBe(false);
    // There is nothing left to invalidate, and the limit allows no second mail.
    await register(accounts);
    expect([await mailed(accounts), await accounts.rows("users")]).toEqual([[], after]);
    // Each request has checked whether the address is taken, whether it is the same registration again, and who the owner is.
    const lookups = accounts.queries.filter((sql) => /^select .* from "users" where "email" (?:=|in) /.test(sql));
    expect(lookups).toHaveLength(6);
    const token = new URL(linkIn(mail)).searchParams.get("token");
    const passwords = { password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
    await accounts.visitor().post("/password_reset", { token, ...passwords });
    await accounts.loggedIn(ADA, NEW_PASSWORD);
  });

  test("is mailed another link an hour later, although there is nothing left to invalidate", async () => {
    const noon = Date.parse("2026-03-01T12:00:00.000Z");
    setClock(() => noon);
    const accounts = await preventing();
    for (const time of [noon, noon + 3_600_000]) {
      setClock(() => time);
      await register(accounts);
      expect(await mailed(accounts)).toEqual([`${ADA.email}: ${FINISH}`]);
    }
    // Another account's request for the address registers it without any values.
    await (await accounts.user(BOB.id)).markEmailAsVerified();
    setClock(() => noon + 7_200_000);
    const visitor = await accounts.loggedIn(BOB);
    await visitor.post("/account/email", { email: ADA.email, password: PASSWORD });
    expect(await mailed(accounts)).toContain(`${ADA.email}: ${FINISH}`);
  });

  test("is invalidated and mailed a link, although the limit of such mails is used up", async () => {
    const accounts = await preventing();
    await (await accounts.user()).markEmailAsVerified();
    await register(accounts);
    expect(await mailed(accounts)).toEqual([`${ADA.email}: ${TAKEN}`]);
    await accounts.User.where("id", ADA.id).update({ verified_at: null });
    await register(accounts);
    expect(await mailed(accounts)).toEqual([`${ADA.email}: ${FINISH}`]);
    expect((await accounts.user()).password).toBe("!");
  });

  test("is mailed a link if it has no password, keeps its logins, and then has the values of the last registration", async () => {
    class User extends FullUser {
      override passwordHash(): string | null {
        return null;
      }
    }
    const enter = Route.post("/enter", async ({ auth }) => ({ user: await auth.attemptById(ADA.id) }));
    const accounts = await preventing({ User, routes: [enter] });
    const visitor = accounts.visitor();
    await visitor.post("/enter");
    const before = await accounts.rows("users");
    await register(accounts);
    const after = before.map((row) => (row.id === ADA.id ? { ...row, name: "Eve" } : row));
    expect([await mailed(accounts), await accounts.rows("users")]).toEqual([[`${ADA.email}: ${FINISH}`], after]);
    expect(await visitor.get("/me")).toMatchObject({ body: { user: { id: ADA.id } } });
  });

  test("S58 keeps none of a stranger's earlier input once the address's owner registers and opens the link", async () => {
    const accounts = await preventing();
    const passwords = { password: PASSWORD, password_confirmation: PASSWORD };
    const email = "cleo@example.com";
    for (const name of ["Eve was here: evil.example", "Cleo"]) {
      await accounts.visitor().post("/register", { name, email, ...passwords });
      await accounts.mails();
    }
    expect(await accounts.user(3)).toMatchObject({ name: "Cleo", email, password: "!", verified_at: null });
  });

  test("is all or nothing: if the logins cannot be ended, the password stays, and no link is mailed", async () => {
    const logged: Record<string, unknown>[] = [];
    const accounts = await preventing({ logged });
    const before = await accounts.rows("users");
    const stop = accounts.database.onQuery(({ sql }) => {
      if (sql.startsWith('delete from "logins"')) throw new Error("The disk is full.");
    });
    await register(accounts);
    expect([await mailed(accounts), await accounts.rows("users")]).toEqual([[], before]);
    stop();
    expect(logged).toMatchObject([{ level: "error", job: "a registration" }]);
  });

  test("is mailed a link to the page of its own guard", async () => {
    class Admin extends AdminUser {}
    class Own extends Mailable {
      readonly #data: object;

      constructor(data: object) {
        super();
        this.#data = data;
      }

      override subject(): string {
        return FINISH;
      }

      override content(): MailContent {
        const { url, newPasswordUrl, email, expiresInMinutes } = this.#data as Record<string, string>;
        const text = [url?.split("?")[0], newPasswordUrl, email, expiresInMinutes].join(" ");
        return { plainText: text };
      }
    }
    const accounts = await preventing({
      ACCOUNTS: { preventEnumeration: true, mailables: { finishRegistration: Own } },
      models: [Admin],
      guards: { admin: { driver: "web", model: Admin } },
      routes: [authRoutes(ACCOUNT_CONTROLLERS, { guard: "admin" }).prefix("/admin")],
    });
    const before = await accounts.rows("users");
    await register(accounts, "/admin/register");
    const [mail] = await accounts.mails();
    const pages = [`${APP_URL}/admin/password_reset`, `${APP_URL}/admin/change_password`];
    expect(mail?.text.trim().split(" ")).toEqual([...pages, ADA.email, "1440"]);
    expect([await accounts.rows("users"), await accounts.rows("admins")]).toMatchObject([before, [{ password: "!" }]]);
  });

  test.each([
    ["is verified", [`${ADA.email}: ${TAKEN}`], { [ADA.id]: { verified_at: new Date() } }],
    ["loses its password", [], { [ADA.id]: { password: "!" } }],
    ["leaves its address", [], { [ADA.id]: { email: "ada@example.org" } }],
    ["leaves its address to another", [], { [ADA.id]: { email: "ada@example.org" }, [BOB.id]: { email: ADA.email } }],
  ] as const)("and that %s at the same moment is not invalidated", async (_, mails, changes) => {
    class User extends FullUser {
      static lookups = 0;
      static override async findBy(...args: [never, never]): Promise<never> {
        const found = await (super.findBy as (...args: unknown[]) => Promise<unknown>).apply(this, args);
        // The first lookup is for a registration that arrives again, the second for the mail to the owner of the address.
        if (++User.lookups === 2) {
          for (const [id, values] of Object.entries(changes)) await User.where("id", Number(id)).update(values);
        }
        return found as never;
      }
    }
    const logged: Record<string, unknown>[] = [];
    const accounts = await preventing({ User, logged });
    const before = await accounts.rows("users");
    await register(accounts);
    expect([await mailed(accounts), logged]).toEqual([mails, []]);
    const expected = before.map((row) => ({ ...row, ...(changes as Record<number, object>)[Number(row.id)] }));
    const shown = (rows: readonly object[]) => rows.map((row) => ({ ...row, verified_at: "at some time" }));
    expect(shown(await accounts.rows("users"))).toEqual(shown(expected));
    expect(await accounts.rows("password_resets")).toEqual([]);
  });

  test("gets a mail saying that its address is taken if addresses are never verified", async () => {
    const User = class User extends PlainUser {};
    const accounts = await preventing({ User, leftOut: { register: false } });
    const visitor = await accounts.loggedIn(BOB);
    await visitor.post("/account/email", { email: ADA.email, password: PASSWORD });
    expect(await mailed(accounts)).toContain(`${ADA.email}: ${TAKEN}`);
  });

  test("gets a mail saying that its address is taken if passwords can't be set by mail", async () => {
    const accounts = await preventing({ leftOut: { register: false, resetPassword: false } });
    await (await accounts.user(BOB.id)).markEmailAsVerified();
    const visitor = await accounts.loggedIn(BOB);
    await visitor.post("/account/email", { email: ADA.email, password: PASSWORD });
    expect(await mailed(accounts)).toEqual([
      `${ADA.email}: ${TAKEN}`,
      `${BOB.email}: Your email address is about to change`,
    ]);
  });
});
