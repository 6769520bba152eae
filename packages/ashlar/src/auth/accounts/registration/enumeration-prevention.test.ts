import { describe, expect, test } from "vitest";
import {
  ADA,
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
import { BrokenMailable } from "../../../../test/support/broken-mailable.ts";
import { sentencesIn } from "../../../../test/support/field-errors.ts";
import { onEachDatabase } from "../../../../test/support/services.ts";
import { type CapturedMail, MailProvider } from "../../../mail/index.ts";
import { Route } from "../../../routing/index.ts";
import { accountDigest } from "../../../throttle/index.ts";

const CLEO = { name: "Cleo", email: "cleo@example.com", password: PASSWORD, password_confirmation: PASSWORD };
const ACCOUNTS = { preventEnumeration: true };
const TAKEN = "You already have an account";
const FINISH = "Finish creating your account";

function preventing(options: TestAccountsOptions = {}): Promise<TestAccounts> {
  return testAccounts({ User: class User extends FullUser {}, ...options, ACCOUNTS });
}

/** Registers, and returns the resulting mails. */
async function register(accounts: TestAccounts, sent: object): Promise<readonly [status: number, mails: string[][]]> {
  const { status } = await accounts.visitor().post("/register", sent);
  return [status, (await accounts.mails()).map(({ to, subject }) => [to, subject])];
}

/** The page that a visitor gets to after a login attempt. */
async function logIn(accounts: TestAccounts, email: string, password: string): Promise<string | null> {
  return (await accounts.visitor().post("/login", { email, password })).headers.get("location");
}

await onEachDatabase("registering with preventEnumeration", (engine) => {
  test("S58 a free address gets an account and a link, and can log in once the link is opened", async () => {
    const accounts = await preventing({ engine });
    const visitor = accounts.visitor();
    const answer = await visitor.post("/register", CLEO);
    expect([answer.status, answer.headers.get("location")]).toEqual([302, "/login"]);
    expect((await visitor.get("/login")).body).toContain("We have sent you an email.");
    expect((await visitor.get("/me")).body).toEqual({ user: null });
    const [mail] = await accounts.mails();
    expect([mail?.to, mail?.subject]).toEqual([CLEO.email, "Verify your email address"]);

    // Otherwise a login would reveal to a caller who registers the address whether it was free.
    expect(await logIn(accounts, CLEO.email, PASSWORD)).not.toBe("/home");
    const link = new URL(linkIn(mail)).pathname;
    expect((await visitor.get(link)).status).toBe(200);
    await visitor.post(link);
    expect(await logIn(accounts, CLEO.email, PASSWORD)).toBe("/home");
  });

  test("S58 an address that is taken gets a notice, once an hour, and its account does not change", async () => {
    const logged: Record<string, unknown>[] = [];
    const accounts = await preventing({ engine, logged });
    await (await accounts.user()).markEmailAsVerified();
    const before = await accounts.rows("users");
    const taken = { ...CLEO, email: ADA.email };
    expect(await register(accounts, taken)).toEqual([302, [[ADA.email, TAKEN]]]);
    expect(logged).toEqual([]);
    for (let time = 0; time < 2; time++) expect(await register(accounts, taken)).toEqual([302, []]);
    // Dropped mails are logged once, with a digest of the address.
    const dropped = { guard: "web", limit: "email_taken", account: accountDigest(ADA.email) };
    expect(logged).toMatchObject([{ level: "warn", ...dropped }]);
    expect(await accounts.rows("users")).toEqual(before);
    expect(await accounts.toldOf("auth.registered")).toEqual([]);
  });

  test("20 parallel registrations of one address: one user, one event, 20 equal responses", async () => {
    const accounts = await preventing({ engine });
    const answers = await Promise.all(Array.from({ length: 20 }, () => accounts.visitor().post("/register", CLEO)));
    expect(new Set(answers.map(({ status, headers }) => `${status} ${headers.get("location")}`))).toEqual(
      new Set(["302 /login"]),
    );
    const mails = (await accounts.mails()).map(({ subject }) => subject);
    expect(mails.toSorted()).toEqual([FINISH, "Verify your email address"]);
    const rows = await accounts.rows("users");
    expect(rows).toHaveLength(3);
    // On MariaDB, the registrations that were refused have used up keys.
    const user = expect.objectContaining({ id: rows[2]!.id, email: CLEO.email });
    expect(await accounts.toldOf("auth.registered")).toEqual([
      { time: expect.any(Date), address: "203.0.113.7", guard: "web", user },
    ]);
  });
});

describe("preventEnumeration", () => {
  test("S58 a registration's problems are reported, regardless of its address", async () => {
    const accounts = await preventing();
    for (const email of [ADA.email, CLEO.email]) {
      const sent = { ...CLEO, email, password: "short", password_confirmation: "short" };
      const { status, body } = await accounts.visitor().post("/register", sent, { accept: "application/json" });
      const password = ["The password is too short. Use at least 8 characters."];
      expect([status, sentencesIn(body)]).toEqual([422, { password }]);
    }
    expect(await accounts.mails()).toEqual([]);
  });

  test("S58 callers that accept JSON get equal responses too", async () => {
    const routes = [
      Route.post("/json", async ({ accounts, request, response }) => {
        const { email } = request.all();
        const user = await accounts.register({ name: "Cleo", email, password: PASSWORD });
        return response.status(202).json({ user });
      }),
    ];
    const accounts = await preventing({ routes });
    await (await accounts.user()).markEmailAsVerified();
    const mails: CapturedMail[] = [];
    for (const email of [ADA.email, CLEO.email]) {
      expect(await accounts.visitor().post("/json", { email })).toMatchObject({ status: 202, body: { user: null } });
      // The jobs that two requests leave behind run in parallel.
      mails.push(...(await accounts.mails()));
    }
    expect(mails.map(({ to }) => to)).toEqual([ADA.email, CLEO.email]);
    expect(mails[0]!.text).toContain("Someone tried to create an account with this email address.");
  });

  test("a user whose address is not verified can log in after setting a new password by mail, which verifies it", async () => {
    const accounts = await preventing();
    expect(await logIn(accounts, BOB.email, PASSWORD)).not.toBe("/home");
    const token = await accounts.resetToken(BOB);
    await accounts.visitor().post("/password_reset", {
      token,
      password: NEW_PASSWORD,
      password_confirmation: NEW_PASSWORD,
    });
    expect((await accounts.user(BOB.id)).hasVerifiedEmail()).toBe(true);
    expect(await logIn(accounts, BOB.email, NEW_PASSWORD)).toBe("/home");
    expect(await accounts.toldOf("auth.email_verified")).toMatchObject([{ guard: "web", user: { id: BOB.id } }]);
  });

  test("a new password by mail does not verify an address again, or one of a model that does not track it", async () => {
    const passwords = { password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
    const accounts = await preventing();
    await (await accounts.user()).markEmailAsVerified();
    const before = (await accounts.rows("users"))[0]!.verified_at;
    await accounts.visitor().post("/password_reset", { token: await accounts.resetToken(), ...passwords });
    expect(await logIn(accounts, ADA.email, NEW_PASSWORD)).toBe("/home");
    expect((await accounts.rows("users"))[0]!.verified_at).toEqual(before);
    expect(await accounts.toldOf("auth.email_verified")).toEqual([]);

    const plain = await preventing({ User: class User extends PlainUser {}, leftOut: { register: false } });
    await plain.visitor().post("/password_reset", { token: await plain.resetToken(), ...passwords });
    expect(await logIn(plain, ADA.email, NEW_PASSWORD)).toBe("/home");
    expect((await plain.rows("users"))[0]!.verified_at).toBeNull();
  });

  test("S58 a change to an address that is taken gets the same response as any other, and both owners are notified", async () => {
    const accounts = await preventing();
    for (const { id } of [ADA, BOB]) await (await accounts.user(id)).markEmailAsVerified();
    const visitor = await accounts.loggedIn();
    const answers: unknown[] = [];
    const mails: string[][] = [];
    const texts: string[] = [];
    for (const email of [BOB.email, "new@example.com"]) {
      const { status, headers } = await visitor.post("/account/email", { email, password: PASSWORD });
      answers.push([status, headers.get("location")]);
      const sent = await accounts.mails();
      mails.push(sent.map(({ to, subject }) => `${to}: ${subject}`));
      texts.push(sent[0]!.text);
    }
    expect(answers).toEqual([
      [302, "/home"],
      [302, "/home"],
    ]);
    const notice = `${ADA.email}: Your email address is about to change`;
    expect(mails).toEqual([
      [`${BOB.email}: ${TAKEN}`, notice],
      ["new@example.com: Confirm your new email address", notice],
    ]);
    expect(texts).toEqual([
      expect.stringContaining("tried to make this the email address of another account."),
      expect.stringContaining("make this the address of your account:"),
    ]);
    expect(await accounts.toldOf("auth.email_change_requested")).toHaveLength(1);
  });

  test("S9 without MustVerifyEmail, startup fails", async () => {
    await expect(preventing({ User: class Customer extends PlainUser {} })).rejects.toMatchObject({
      code: "E_INVALID_CONFIGURATION",
      message:
        'config/auth.ts: ACCOUNTS.preventEnumeration: users of the guard "web" register, but their address is never verified. ' +
        "Add the mixin: class Customer extends compose(Model, Authenticates, MustVerifyEmail).",
    });
  });

  test("S9 without a page to choose a password, startup fails", async () => {
    await expect(preventing({ leftOut: { resetPassword: false } })).rejects.toMatchObject({
      code: "E_INVALID_CONFIGURATION",
      message:
        'config/auth.ts: ACCOUNTS.preventEnumeration: users of the guard "web" register, but there is no page where they ' +
        'choose a password by mail. Add the route "password_reset", which Auth.routes() includes.',
    });
  });

  test("S9 without MailProvider, startup fails", async () => {
    await expect(preventing({ without: [MailProvider] })).rejects.toMatchObject({
      code: "E_INVALID_CONFIGURATION",
      message:
        "config/auth.ts: ACCOUNTS.preventEnumeration: users learn everything by mail, but MailProvider is missing. " +
        'Add it to PROVIDERS: import { MailProvider } from "ashlar/mail".',
    });
  });

  test("a guard whose users do not register needs no MustVerifyEmail", async () => {
    const leftOut = { register: false } as const;
    const routes = [Route.post("/own", ({ accounts }) => accounts.register(CLEO))];
    const accounts = await preventing({ User: class User extends PlainUser {}, leftOut, routes });
    expect(await logIn(accounts, ADA.email, PASSWORD)).toBe("/home");
    // If the application registers users anyway, they could not prove that they read the mail of the address.
    const answer = await accounts.visitor().post("/own", {}, { accept: "application/json" });
    expect(answer).toMatchObject({ status: 500, body: { code: "E_INVALID_CONFIGURATION" } });
    expect(await accounts.rows("users")).toHaveLength(2);
  });

  test.each([
    [1, 100],
    [100, 1],
  ])("dropped mails are logged once, whichever of a limit's buckets is used up: %j, %j", async (...sizes) => {
    const logged: Record<string, unknown>[] = [];
    const buckets = sizes.map((attempts) => ({ by: ["account"], attempts, windowSeconds: 3600 }));
    const accounts = await preventing({ logged, throttle: { email_taken: { buckets } } });
    await (await accounts.user()).markEmailAsVerified();
    const taken = { ...CLEO, email: ADA.email };
    for (const mails of [[[ADA.email, TAKEN]], [], []]) expect(await register(accounts, taken)).toEqual([302, mails]);
    expect(logged).toMatchObject([{ level: "warn", limit: "email_taken", account: accountDigest(ADA.email) }]);
  });

  test("a registration that fails because of another unique column is logged, and no mail is sent", async () => {
    const logged: Record<string, unknown>[] = [];
    const accounts = await preventing({ logged });
    await accounts.database.kysely.schema.createIndex("names").unique().on("users").column("name").execute();
    expect(await register(accounts, { ...CLEO, name: ADA.name })).toEqual([302, []]);
    expect(logged).toMatchObject([
      { level: "error", job: "a registration", err: { message: expect.stringContaining("The name is taken") } },
    ]);
    expect([await accounts.rows("users"), await accounts.toldOf("auth.registered")]).toMatchObject([[ADA, BOB], []]);
  });

  test("a registration whose mail cannot be created is logged, and leaves no account that no one could verify", async () => {
    const logged: Record<string, unknown>[] = [];
    const broken = { ACCOUNTS: { ...ACCOUNTS, mailables: { verifyEmail: BrokenMailable } } };
    const accounts = await testAccounts({ ...broken, logged, User: class User extends FullUser {} });
    expect(await register(accounts, CLEO)).toEqual([302, []]);
    expect(logged).toMatchObject([{ level: "error", job: "a registration", err: { message: "broken" } }]);
    expect(await accounts.rows("users")).toHaveLength(2);
    expect(await accounts.toldOf("auth.registered")).toEqual([]);
  });

  test("S58 a failure after the response is logged with its job, and the response is like any other", async () => {
    // Without the setting, the request itself looks up the owner, and the job does so again. A registration also checks
    // whether it has arrived before.
    for (const [options, status, lookupsBefore, jobs] of [
      [{}, 422, [1, 2], ["a notice to the owner of an address", "a notice to the owner of an address"]],
      [{ ACCOUNTS }, 202, [0, 0], ["a change of address", "a registration"]],
    ] as const) {
      const logged: Record<string, unknown>[] = [];
      const accounts = await testAccounts({ ...options, logged, User: class User extends FullUser {} });
      await (await accounts.user()).markEmailAsVerified();
      const visitor = await accounts.loggedIn();
      let [lookups, failing] = [0, 0];
      accounts.database.onQuery(({ sql }) => {
        const isLookup = /^select .* from "users" where "email" (?:=|in) /.test(sql);
        if (isLookup && ++lookups === failing) throw new Error("The disk is full.");
      });
      const json = { accept: "application/json" };
      for (const [index, [path, body]] of (
        [
          ["/account/email", { email: BOB.email, password: PASSWORD }],
          ["/register", { ...CLEO, email: BOB.email }],
        ] as const
      ).entries()) {
        [lookups, failing] = [0, lookupsBefore[index]! + 1];
        expect(await visitor.post(path, body, json)).toMatchObject({ status });
        await accounts.application.background.settled();
      }
      expect(logged.map(({ job }) => job)).toEqual(jobs);
      expect(await accounts.mails()).toEqual([]);
    }
  });
});
