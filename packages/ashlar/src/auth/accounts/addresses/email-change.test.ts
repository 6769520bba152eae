import { afterEach, describe, expect, test } from "vitest";
import {
  ADA,
  BOB,
  linkIn,
  outcomeOf,
  PASSWORD,
  PlainUser,
  pathIn,
  type TestAccounts,
  testAccounts,
  type Visitor,
} from "../../../../test/support/account-application.ts";
import { sentencesIn } from "../../../../test/support/field-errors.ts";
import { onEachDatabase } from "../../../../test/support/services.ts";
import { MailProvider } from "../../../mail/index.ts";
import { setClock } from "../../../support/index.ts";

afterEach(() => setClock(null));

const NEW = "ada@example.org";
const SENT = "/home";

/** Requests another address for Ada, and returns the path of the link. */
async function asked(accounts: TestAccounts, email: unknown = NEW): Promise<string> {
  const visitor = await accounts.loggedIn();
  const { headers } = await visitor.post("/account/email", { email, password: PASSWORD });
  expect(headers.get("location")).toBe(SENT);
  const [mail] = await accounts.mails();
  return pathIn(mail);
}

function follow(accounts: TestAccounts, link: string): Promise<string> {
  return outcomeOf(accounts.visitor(), link);
}

/** A link to a new address that was mailed by another server. */
async function linkOf(accounts: TestAccounts): Promise<string> {
  const service = accounts.application.container.make("accounts");
  return new URL(service.pages.verificationUrl("web", await accounts.user(), NEW)).pathname;
}

/** The messages by field in the response to a caller that accepts JSON. */
async function problems(visitor: Visitor, sent: object): Promise<unknown> {
  const { status, body } = await visitor.post("/account/email", sent, { accept: "application/json" });
  return [status, sentencesIn(body)];
}

await onEachDatabase("a changed address", (engine) => {
  test("is pending until its link is opened; the old address stays, and gets a notice", async () => {
    const accounts = await testAccounts({ engine });
    const visitor = await accounts.loggedIn();
    await visitor.post("/account/email", { email: "  ADA@Example.ORG ", password: PASSWORD });
    const [toNew, toOld, ...others] = await accounts.mails();
    expect([toNew?.to, toOld?.to, others]).toEqual([NEW, ADA.email, []]);
    expect(toNew?.text).toContain("This link expires in 1 hour.");
    expect(toOld?.text).toContain(NEW);
    expect(toOld?.text).not.toContain("http");
    expect((await accounts.user()).email).toBe(ADA.email);
    expect(await follow(accounts, pathIn(toNew))).toBe("verified");
    const user = await accounts.user();
    expect([user.email, user.hasVerifiedEmail()]).toEqual([NEW, true]);
    await accounts.loggedIn({ email: NEW });
    const [completed, ...rest] = await accounts.mails();
    expect([completed?.to, rest]).toEqual([ADA.email, []]);
    expect(completed?.text).toContain("This link expires in 3 days.");
    expect(linkIn(completed)).toMatch(/^https:\/\/shop\.example\/email\/undo\/[\w.-]+$/);
  });

  test("20 parallel uses of the link have one effect and one event", async () => {
    const accounts = await testAccounts({ engine });
    const link = await asked(accounts);
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => follow(accounts, link)));
    expect(outcomes.toSorted()).toEqual([...Array.from({ length: 19 }, () => "already"), "verified"]);
    expect(await accounts.toldOf("auth.email_changed")).toHaveLength(1);
  });

  test("S51 ends access to that account only, even if another user opens the link", async () => {
    const accounts = await testAccounts({ engine });
    const link = await asked(accounts);
    const [ada, bob, bobElsewhere] = [
      await accounts.loggedIn(),
      await accounts.loggedIn(BOB),
      await accounts.loggedIn(BOB),
    ];
    expect(await outcomeOf(bob, link)).toBe("verified");
    expect(await ada.get("/me")).toMatchObject({ body: { user: null } });
    for (const one of [bob, bobElsewhere])
      expect(await one.get("/me")).toMatchObject({ body: { user: { id: BOB.id } } });
  });

  test("is refused if another user has taken it before the link was opened", async () => {
    const accounts = await testAccounts({ engine });
    const link = await asked(accounts);
    await accounts.User.where("id", BOB.id).update({ email: NEW });
    expect(await follow(accounts, link)).toBe("invalid");
    expect((await accounts.user()).email).toBe(ADA.email);
    expect(await accounts.toldOf("auth.email_changed")).toEqual([]);
  });

  test.each([
    ["the logins cannot be ended", 'delete from "logins"'],
    ["the change cannot be kept for an undo", 'insert into "email_changes"'],
  ])("is all or nothing: if %s, the address stays, and the link is still valid", async (_, failing) => {
    const accounts = await testAccounts({ engine });
    const link = await asked(accounts);
    const stop = accounts.database.onQuery(({ sql }) => {
      if (sql.startsWith(failing)) throw new Error("The disk is full.");
    });
    expect((await accounts.visitor().post(link)).status).toBe(500);
    stop();
    expect([(await accounts.user()).email, await accounts.rows("email_changes")]).toEqual([ADA.email, []]);
    expect([await accounts.toldOf("auth.email_changed"), await accounts.mails()]).toEqual([[], []]);
    expect(await follow(accounts, link)).toBe("verified");
  });

  test("S51 leaves the old one reserved if addresses are never verified", async () => {
    const accounts = await testAccounts({ engine, User: class User extends PlainUser {} });
    expect(await follow(accounts, await asked(accounts))).toBe("verified");
    const registration = { name: "Thief", email: ADA.email, password: PASSWORD };
    const answer = await accounts.visitor().post("/register", registration, { accept: "application/json" });
    expect([answer.status, sentencesIn(answer.body)]).toEqual([
      422,
      { email: ["This email address is already in use."] },
    ]);
  });

  test("if two accounts request the same address, the first to open the link gets it", async () => {
    const accounts = await testAccounts({ engine });
    const first = await asked(accounts);
    const bob = await accounts.loggedIn(BOB);
    await bob.post("/account/email", { email: NEW, password: PASSWORD });
    const second = pathIn((await accounts.mails())[0]);
    const outcomes = await Promise.all([follow(accounts, second), follow(accounts, first)]);
    expect(outcomes.toSorted()).toEqual(["invalid", "verified"]);
    const emails = [(await accounts.user(ADA.id)).email, (await accounts.user(BOB.id)).email];
    expect(emails.filter((email) => email === NEW)).toHaveLength(1);
  });
});

describe("the link to a new address", () => {
  test("S38 is invalid if the account's address has changed in another way", async () => {
    const accounts = await testAccounts();
    const first = await asked(accounts, "first@example.org");
    const second = await asked(accounts, "second@example.org");
    expect(await follow(accounts, second)).toBe("verified");
    expect(await follow(accounts, first)).toBe("invalid");
    expect((await accounts.user()).email).toBe("second@example.org");
  });

  test.each([
    [undefined, 60],
    [{ emailChangeExpiresInMinutes: 5 }, 5],
  ])("S51 is valid for an hour, or as long as ACCOUNTS configures: %j", async (ACCOUNTS, minutes) => {
    const accounts = await testAccounts(ACCOUNTS === undefined ? {} : { ACCOUNTS });
    const start = Date.now();
    setClock(() => start);
    const link = await asked(accounts);
    setClock(() => start + minutes * 60_000);
    expect(await follow(accounts, link)).toBe("invalid");
    setClock(() => start + (minutes - 1) * 60_000);
    expect(await follow(accounts, link)).toBe("verified");
  });

  test("S28 HEAD changes nothing", async () => {
    const accounts = await testAccounts();
    const link = await asked(accounts);
    const { status, headers } = await accounts.head(link);
    expect([status, headers.get("location")]).toEqual([200, null]);
    expect((await accounts.user()).email).toBe(ADA.email);
  });

  test("a verification link to the old address is invalid once there is a new one", async () => {
    const accounts = await testAccounts();
    await (await accounts.loggedIn()).post("/email/resend");
    const old = await accounts.link();
    expect(await follow(accounts, await asked(accounts))).toBe("verified");
    expect(await follow(accounts, old)).toBe("invalid");
  });

  test("leaves no reset link to an old address that was never verified, or changes nothing", async () => {
    const accounts = await testAccounts();
    await accounts.resetToken();
    await accounts.resetToken(BOB);
    const link = await asked(accounts);
    const stop = accounts.database.onQuery(({ sql }) => {
      if (sql.startsWith('delete from "password_resets"')) throw new Error("The disk is full.");
    });
    expect((await accounts.visitor().post(link)).status).toBe(500);
    stop();
    expect((await accounts.user()).email).toBe(ADA.email);
    expect(await follow(accounts, link)).toBe("verified");
    expect((await accounts.rows("password_resets")).map(({ email }) => email)).toEqual([BOB.email]);
  });

  test("a reset link to the old address is invalid once there is a new one", async () => {
    const accounts = await testAccounts();
    const token = await accounts.resetToken();
    expect(await follow(accounts, await asked(accounts))).toBe("verified");
    const passwords = { password: "another password", password_confirmation: "another password" };
    const { headers } = await accounts.visitor().post("/password_reset", { token, ...passwords });
    expect(headers.get("location")).toBe("/change_password");
  });

  test("works on a different server than the mail came from, and that server notifies the old address", async () => {
    const accounts = await testAccounts();
    expect(await follow(accounts, await linkOf(accounts))).toBe("verified");
    const mails = await accounts.mails();
    expect(mails.map(({ to, subject }) => [to, subject])).toEqual([[ADA.email, "Your email address was changed"]]);
  });

  test("changes nothing if the old address cannot be notified", async () => {
    const accounts = await testAccounts({ without: [MailProvider] });
    const answer = await accounts.visitor().post(await linkOf(accounts), {}, { accept: "application/json" });
    expect(answer).toMatchObject({ status: 500, body: { code: "E_INVALID_CONFIGURATION" } });
    expect([(await accounts.user()).email, await accounts.rows("email_changes")]).toEqual([ADA.email, []]);
  });
});

describe("requestEmailChange()", () => {
  test("requires the password, and a wrong one changes nothing, mails nothing and is announced as a failed login", async () => {
    const accounts = await testAccounts();
    const visitor = await accounts.loggedIn();
    for (const password of ["another password", "", null, undefined]) {
      const expected = [422, { password: ["Incorrect password."] }];
      expect(await problems(visitor, { email: NEW, password })).toEqual(expected);
    }
    expect(await accounts.mails()).toEqual([]);
    expect(await accounts.toldOf("auth.failed")).toHaveLength(4);
  });

  test("S36 a list, an object or a number instead of text is 422", async () => {
    const accounts = await testAccounts();
    const visitor = await accounts.loggedIn();
    for (const wrong of [[NEW], { a: NEW }, 7, true]) {
      const email = [422, { email: ["This must be text."] }];
      expect(await problems(visitor, { email: wrong, password: PASSWORD })).toEqual(email);
      const password = [422, { password: ["This must be text."] }];
      expect(await problems(visitor, { email: NEW, password: wrong })).toEqual(password);
    }
    expect(await accounts.mails()).toEqual([]);
  });

  test.each([
    [ADA.email, "This is already your email address."],
    ["ADA@EXAMPLE.COM", "This is already your email address."],
    [BOB.email, "This email address is already in use."],
    ["Bob@Example.com ", "This email address is already in use."],
    ["no address", "This is not a valid email address."],
    [`${NEW}\r\nBcc: eve@example.com`, "This is not a valid email address."],
    [`${NEW}, eve@example.com`, "This is not a valid email address."],
    ["", "Enter an email address."],
    [null, "Enter an email address."],
  ])("S35 the address %j is refused", async (email, message) => {
    const accounts = await testAccounts();
    const visitor = await accounts.loggedIn();
    expect(await problems(visitor, { email, password: PASSWORD })).toEqual([422, { email: [message] }]);
    // The owner of an address that is taken is notified.
    const told =
      message === "This email address is already in use." ? [[BOB.email, "You already have an account"]] : [];
    const mails = await accounts.mails();
    expect(mails.map(({ to, subject }) => [to, subject])).toEqual(told);
    for (const { text } of mails) expect(text).toContain("tried to make this the email address of another account.");
  });

  test("S51 refuses an address that another account can still take back", async () => {
    const accounts = await testAccounts();
    await (await accounts.user()).markEmailAsVerified();
    expect(await follow(accounts, await asked(accounts))).toBe("verified");
    const bob = await accounts.loggedIn(BOB);
    const taken = [422, { email: ["This email address is already in use."] }];
    expect(await problems(bob, { email: ADA.email, password: PASSWORD })).toEqual(taken);
  });

  test("fails the same way for a free address and a taken one if reserved addresses cannot be read", async () => {
    const accounts = await testAccounts();
    const visitor = await accounts.loggedIn();
    accounts.database.onQuery(({ sql }) => {
      if (sql.includes('from "email_changes"')) throw new Error("The disk is full.");
    });
    for (const email of [NEW, BOB.email]) {
      expect(await problems(visitor, { email, password: PASSWORD })).toEqual([500, undefined]);
    }
  });

  test("checks only once whether the address is taken if the response reveals it", async () => {
    const accounts = await testAccounts();
    const visitor = await accounts.loggedIn();
    accounts.forgetQueries();
    await visitor.post("/account/email", { email: NEW, password: PASSWORD });
    expect((await accounts.mails()).map(({ to }) => to)).toEqual([NEW, ADA.email]);
    const lookups = accounts.queries.filter((sql) => /^select .* from "users" where "email" (?:=|in) /.test(sql));
    expect(lookups).toHaveLength(1);
  });

  test("a guest is sent to /login", async () => {
    const accounts = await testAccounts();
    const { headers } = await accounts.visitor().post("/account/email", { email: NEW, password: PASSWORD });
    expect(headers.get("location")).toBe("/login");
  });

  test("S47 the events contain both addresses, and no link", async () => {
    const accounts = await testAccounts();
    await follow(accounts, await asked(accounts));
    const common = { time: expect.any(Date), address: "203.0.113.7", guard: "web" };
    const change = { ...common, user: expect.objectContaining({ id: 1 }), previousEmail: ADA.email, email: NEW };
    expect(await accounts.toldOf("auth.email_change_requested")).toEqual([change]);
    expect(await accounts.toldOf("auth.email_changed")).toEqual([change]);
    expect(await accounts.toldOf("auth.email_verified")).toEqual([{ ...common, user: change.user }]);
  });

  test("without a page to undo a change, no change can be requested", async () => {
    const accounts = await testAccounts({ leftOut: { undoEmailChange: false } });
    const visitor = await accounts.loggedIn();
    const answer = await visitor.post(
      "/account/email",
      { email: NEW, password: PASSWORD },
      { accept: "application/json" },
    );
    expect(answer).toMatchObject({ status: 500, body: { code: "E_UNKNOWN_ROUTE" } });
    expect(await accounts.mails()).toEqual([]);
  });

  test("if addresses are never verified, no column for that is needed, and no event reports a verified user", async () => {
    const accounts = await testAccounts({ User: class User extends PlainUser {} });
    await accounts.database.kysely.schema.alterTable("users").dropColumn("verified_at").execute();
    expect(await follow(accounts, await asked(accounts))).toBe("verified");
    expect(await accounts.toldOf("auth.email_changed")).toHaveLength(1);
    expect(await accounts.toldOf("auth.email_verified")).toEqual([]);
  });

  test("a user who was verified before is not announced as verified again", async () => {
    const accounts = await testAccounts();
    await (await accounts.user()).markEmailAsVerified();
    await follow(accounts, await asked(accounts));
    expect(await accounts.toldOf("auth.email_verified")).toEqual([]);
    expect(await accounts.toldOf("auth.email_changed")).toHaveLength(1);
  });
});
