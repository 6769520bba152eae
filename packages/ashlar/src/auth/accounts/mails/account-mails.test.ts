import { describe, expect, test } from "vitest";
import {
  ADA,
  AdminUser,
  APP_URL,
  BOB,
  linkIn,
  NEW_PASSWORD,
  PASSWORD,
  PlainUser,
  testAccounts,
} from "../../../../test/support/account-application.ts";
import { ACCOUNT_CONTROLLERS } from "../../../../test/support/account-controllers.ts";
import { BrokenMailable } from "../../../../test/support/broken-mailable.ts";
import type { ProviderClass } from "../../../boot/index.ts";
import { EventProvider } from "../../../events/index.ts";
import { type CapturedMail, Mailable, type MailContent, MailProvider } from "../../../mail/index.ts";
import { authRoutes } from "../pages/auth-routes.ts";
import { queueAccountMail } from "./account-mail-registry.ts";
import type { AccountMailables } from "./account-mailables.ts";

const CLEO = { name: "Cleo", email: "cleo@example.com", password: PASSWORD, password_confirmation: PASSWORD };

/** A mail that shows the data it was created with. */
function showing(name: string): new (data: object) => Mailable {
  return class extends Mailable {
    readonly #data: object;

    constructor(data: object) {
      super();
      this.#data = data;
    }

    override subject(): string {
      return name;
    }

    override content(): MailContent {
      return { plainText: JSON.stringify(this.#data) };
    }
  };
}

const NAMES = [
  "verifyEmail",
  "resetPassword",
  "finishRegistration",
  "passwordChanged",
  "emailChanged",
  "emailChangeCompleted",
  "emailChangeUndone",
  "emailTaken",
  "newDevice",
] as const;
const OWN = Object.fromEntries(NAMES.map((name) => [name, showing(name)])) as unknown as AccountMailables;

const said = (mail: CapturedMail | undefined): unknown => [mail?.to, mail?.subject, JSON.parse(mail!.text)];

/** The application has no API with tokens that could outlive a password. */
const none = { remainingTokens: null, newPasswordUrl: `${APP_URL}/change_password` };

test("queueAccountMail refuses a mail without a guard or with an unknown one, and names what to pass", async () => {
  const accounts = await testAccounts();
  const user = await accounts.user();
  const send = (data: object) =>
    queueAccountMail(accounts.application, "passwordChanged", user.email, {
      ...{ user, email: user.email, changedAt: new Date(), wasReset: false },
      ...data,
    } as never);
  await expect(send({})).rejects.toMatchObject({
    code: "E_UNKNOWN_GUARD",
    message:
      'queueAccountMail: the data of the mail "passwordChanged" lacks the name of the user\'s guard. ' +
      'Pass it: { user, guard: "web" }.',
  });
  await expect(send({ guard: "wep" })).rejects.toMatchObject({
    code: "E_UNKNOWN_GUARD",
    message: 'No guard is named "wep". Did you mean "web"?',
  });
  expect(await accounts.mails()).toEqual([]);
  await send({ guard: "web" });
  expect(await accounts.mails()).toHaveLength(1);
});

describe("the application's own mails", () => {
  const user = expect.objectContaining({ id: ADA.id, email: ADA.email });
  const link = (path: string): unknown => expect.stringMatching(new RegExp(`^${APP_URL}${path}[\\w.-]+$`));

  test("are created with their data", async () => {
    const accounts = await testAccounts({
      ACCOUNTS: { mailables: OWN, verificationExpiresInMinutes: 90, emailChangeExpiresInMinutes: 30 },
    });
    const visitor = await accounts.loggedIn();
    await accounts.mails();
    const passwords = { password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
    const mails: CapturedMail[] = [];
    for (const [path, fields] of [
      ["/email/resend", {}],
      ["/change_password", { email: ADA.email }],
      ["/account/email", { email: "ada@example.org", password: PASSWORD }],
      ["/account/password", { current_password: PASSWORD, ...passwords }],
    ] as const) {
      await visitor.post(path, fields);
      // The jobs that several requests leave behind run in parallel.
      mails.push(...(await accounts.mails()));
    }
    expect(mails.map(said)).toEqual([
      [
        ADA.email,
        "verifyEmail",
        { user, email: ADA.email, isChange: false, url: link("/email/verify/"), expiresInMinutes: 90, ...none },
      ],
      [
        ADA.email,
        "resetPassword",
        { user, email: ADA.email, url: link("/password_reset\\?token="), expiresInMinutes: 1440, ...none },
      ],
      [
        "ada@example.org",
        "verifyEmail",
        { user, email: "ada@example.org", isChange: true, url: link("/email/verify/"), expiresInMinutes: 30, ...none },
      ],
      [ADA.email, "emailChanged", { user, email: ADA.email, newEmail: "ada@example.org", ...none }],
      [
        ADA.email,
        "passwordChanged",
        { user, email: ADA.email, changedAt: expect.stringMatching(/^\d{4}-.*Z$/), wasReset: false, ...none },
      ],
    ]);
  });

  test("finishRegistration: an address that is registered before it is verified gets the application's own mail", async () => {
    const accounts = await testAccounts({ ACCOUNTS: { mailables: OWN, preventEnumeration: true } });
    const passwords = { password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
    await accounts.visitor().post("/register", { name: "Ada", email: ADA.email, ...passwords });
    const url = link("/password_reset\\?token=");
    expect((await accounts.mails()).map(said)).toEqual([
      [ADA.email, "finishRegistration", { user, email: ADA.email, url, expiresInMinutes: 1440, ...none }],
    ]);
  });

  test("passwordChanged: a password set with a link is announced with the page of the link's guard", async () => {
    class Admin extends AdminUser {}
    const accounts = await testAccounts({
      ACCOUNTS: { mailables: { passwordChanged: OWN.passwordChanged } },
      models: [Admin],
      guards: { admin: { driver: "web", model: Admin } },
      routes: [authRoutes(ACCOUNT_CONTROLLERS, { guard: "admin" }).prefix("/admin")],
    });
    await accounts.visitor().post("/admin/change_password", { email: ADA.email });
    const token = new URL(await accounts.link(), APP_URL).searchParams.get("token");
    const passwords = { password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
    await accounts.visitor().post("/admin/password_reset", { token, ...passwords });
    const data = {
      user,
      email: ADA.email,
      changedAt: expect.stringMatching(/^\d{4}-.*Z$/),
      wasReset: true,
      remainingTokens: null,
      newPasswordUrl: `${APP_URL}/admin/change_password`,
    };
    expect((await accounts.mails()).map(said)).toEqual([[ADA.email, "passwordChanged", data]]);
  });

  test("newDevice: the user is notified by mail of the first login on a device", async () => {
    const accounts = await testAccounts({ ACCOUNTS: { mailables: OWN } });
    await (await accounts.user()).markEmailAsVerified();
    const visitor = accounts.visitor({
      userAgent: "Mozilla/5.0 (Windows NT 10.0; rv:140.0) Gecko/20100101 Firefox/140.0",
    });
    await visitor.post("/login", { email: ADA.email, password: PASSWORD });
    await accounts.toldOf("auth.login");
    expect((await accounts.mails()).map(said)).toEqual([
      [
        ADA.email,
        "newDevice",
        {
          user,
          email: ADA.email,
          device: "Firefox on Windows",
          userAgent: expect.stringContaining("Firefox/140.0"),
          address: "203.0.113.7",
          loggedInAt: expect.stringMatching(/^\d{4}-.*Z$/),
          ...none,
        },
      ],
    ]);
    await visitor.post("/login", { email: ADA.email, password: PASSWORD });
    await accounts.toldOf("auth.login");
    expect(await accounts.mails()).toEqual([]);
  });

  test("newDevice: is in the language that the mail itself sets if the user has no language", async () => {
    class Notice extends Mailable {
      constructor() {
        super();
        this.inLanguage("de");
      }

      override subject(): string {
        return this.t({ rule: "auth.device.unknown", params: {}, message: "Unknown device" });
      }

      override content(): MailContent {
        return { plainText: "" };
      }
    }
    const accounts = await testAccounts({
      ACCOUNTS: { mailables: { newDevice: Notice } },
      config: { app: { APP: { languages: ["de"] } } },
    });
    await (await accounts.user()).markEmailAsVerified();
    await accounts.loggedIn();
    await accounts.toldOf("auth.login");
    expect((await accounts.mails()).map(({ subject }) => subject)).toEqual(["Unbekanntes Gerät"]);
  });

  test("newDevice: nothing is sent if the application has no such mail, or sets it to null", async () => {
    for (const mailables of [undefined, {}, { newDevice: null }]) {
      const logged: Record<string, unknown>[] = [];
      const accounts = await testAccounts({ ACCOUNTS: { mailables }, logged });
      await (await accounts.user()).markEmailAsVerified();
      await accounts.loggedIn();
      await accounts.toldOf("auth.login");
      expect([await accounts.mails(), logged]).toEqual([[], []]);
    }
  });

  test("newDevice: an application without EventProvider starts, and users log in", async () => {
    const accounts = await testAccounts({ ACCOUNTS: { mailables: OWN }, without: [EventProvider] });
    await (await accounts.user()).markEmailAsVerified();
    await accounts.loggedIn();
    expect(await accounts.mails()).toEqual([]);
  });

  test("newDevice: no mail is sent about the device on which the account was created", async () => {
    const accounts = await testAccounts({ ACCOUNTS: { mailables: { newDevice: OWN.newDevice } } });
    const person = { name: "Cleo", email: "cleo@example.com", password: PASSWORD, password_confirmation: PASSWORD };
    await accounts.visitor().post("/register", person);
    await accounts.toldOf("auth.login");
    expect((await accounts.mails()).map(({ subject }) => subject)).toEqual(["Verify your email address"]);
  });

  test("a failed notice is logged, and the password stays changed", async () => {
    const logged: Record<string, unknown>[] = [];
    const accounts = await testAccounts({
      logged,
      ACCOUNTS: { mailables: { passwordChanged: BrokenMailable, resetPassword: BrokenMailable } },
    });
    const passwords = { password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
    const { status } = await (await accounts.loggedIn()).post("/account/password", {
      current_password: PASSWORD,
      ...passwords,
    });
    expect(status).toBe(302);
    await accounts.loggedIn(ADA, NEW_PASSWORD);
    // For an address with an account, the failure looks the same as for one without.
    for (const email of [ADA.email, "nobody@example.com"]) {
      expect((await accounts.visitor().post("/change_password", { email })).status).toBe(302);
    }
    await accounts.application.background.settled();
    const err = expect.objectContaining({ message: "broken" });
    expect(logged).toMatchObject([
      { level: "error", mail: "passwordChanged", err },
      { level: "error", mail: "resetPassword", err },
    ]);
  });

  test("link to the pages of the user's own guard", async () => {
    class Admin extends AdminUser {}
    const accounts = await testAccounts({
      ACCOUNTS: { mailables: OWN },
      models: [Admin],
      guards: { admin: { driver: "web", model: Admin } },
      routes: [authRoutes(ACCOUNT_CONTROLLERS, { guard: "admin" }).prefix("/admin")],
    });
    await (await Admin.findOrFail(1)).markEmailAsVerified();
    const told: unknown[] = [];
    const mailed = async (): Promise<readonly CapturedMail[]> => {
      const mails = await accounts.mails();
      for (const { to, subject, text } of mails) {
        const { user: _, ...data } = JSON.parse(text) as Record<string, unknown>;
        const own = { email: to, remainingTokens: null, newPasswordUrl: `${APP_URL}/admin/change_password` };
        expect([subject, data]).toEqual([subject, expect.objectContaining(own)]);
        const url = String(data.url ?? data.loginUrl ?? "").replace(/[\w.-]{20,}$/, "…");
        const rest = [data.expiresInMinutes ?? data.expiresInHours, data.newEmail];
        told.push([to, subject, url, ...rest.filter((each) => each !== undefined)]);
      }
      return mails;
    };
    const linkOf = (mail: CapturedMail | undefined): string => {
      return (JSON.parse(mail!.text) as { readonly url: string }).url.slice(APP_URL.length);
    };
    const visitor = accounts.visitor({ userAgent: "Mozilla/5.0 (Windows NT 10.0; rv:140.0) Firefox/140.0" });
    await visitor.post("/admin/login", { email: ADA.email, password: PASSWORD });
    await mailed();
    await visitor.post("/admin/change_password", { email: ADA.email });
    await mailed();
    const person = { name: "R", password: PASSWORD, password_confirmation: PASSWORD };
    for (const email of [ADA.email, "cleo@example.com"]) {
      await accounts.visitor().post("/admin/register", { ...person, email });
      await mailed();
    }
    await visitor.post("/admin/account/email", { email: "root@example.org", password: PASSWORD });
    const [toNew] = await mailed();
    await visitor.get(linkOf(toNew));
    const [completed] = await mailed();
    const passwords = { password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
    await visitor.post("/admin/account/password", { current_password: PASSWORD, ...passwords });
    await mailed();
    await accounts.visitor().post(linkOf(completed));
    await mailed();
    expect(told).toEqual([
      [ADA.email, "newDevice", ""],
      [ADA.email, "resetPassword", `${APP_URL}/admin/password_reset?token=…`, 1440],
      [ADA.email, "emailTaken", `${APP_URL}/admin/login`],
      ["cleo@example.com", "verifyEmail", `${APP_URL}/admin/email/verify/…`, 1440],
      ["root@example.org", "verifyEmail", `${APP_URL}/admin/email/verify/…`, 60],
      [ADA.email, "emailChanged", "", "root@example.org"],
      [ADA.email, "emailChangeCompleted", `${APP_URL}/admin/email/undo/…`, 72, "root@example.org"],
      ["root@example.org", "passwordChanged", ""],
      ["root@example.org", "emailChangeUndone", ""],
    ]);
  });
});

describe("an application without mail", () => {
  const WITHOUT: readonly ProviderClass[] = [MailProvider];
  const passwords = { password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };

  test.each([
    ["/change_password", { email: ADA.email }],
    ["/change_password", { email: "nobody@example.com" }],
    ["/email/resend", {}],
    ["/account/password", { current_password: PASSWORD, ...passwords }],
    ["/account/email", { email: "ada@example.org", password: PASSWORD }],
  ])("POST %s with %j changes nothing, and reports that MailProvider is missing", async (path, body) => {
    const accounts = await testAccounts({ without: WITHOUT });
    const visitor = await accounts.loggedIn();
    const before = await accounts.rows("users");
    expect(await visitor.post(path, body, { accept: "application/json" })).toMatchObject({
      status: 500,
      body: {
        code: "E_INVALID_CONFIGURATION",
        detail:
          "config/providers.ts: PROVIDERS: lacks MailProvider, and this operation sends a mail. " +
          'Add it: import { MailProvider } from "ashlar/mail".',
      },
    });
    expect([await accounts.rows("users"), await accounts.rows("password_resets")]).toEqual([before, []]);
  });

  test("sets no password with a link, leaves the link valid, and reports the error", async () => {
    const accounts = await testAccounts({ without: WITHOUT });
    const token = await accounts.application.container.make("accounts").tokens.issue("web", await accounts.user());
    const answer = await accounts
      .visitor()
      .post("/password_reset", { token, ...passwords }, { accept: "application/json" });
    expect(answer).toMatchObject({ status: 500, body: { code: "E_INVALID_CONFIGURATION" } });
    expect(await (await accounts.user()).verifyPassword(PASSWORD)).toBe(true);
    expect(await accounts.rows("password_resets")).toHaveLength(1);
  });

  test("logs users in on new devices, and logs that the mail cannot be sent", async () => {
    const logged: Record<string, unknown>[] = [];
    const accounts = await testAccounts({ ACCOUNTS: { mailables: OWN }, without: WITHOUT, logged });
    await (await accounts.user()).markEmailAsVerified();
    await accounts.loggedIn();
    await accounts.toldOf("auth.login");
    await accounts.application.background.settled();
    const err = expect.objectContaining({ code: "E_INVALID_CONFIGURATION" });
    expect(logged).toMatchObject([{ level: "error", err }]);
  });

  test("still registers users if no address has to be verified", async () => {
    const accounts = await testAccounts({ without: WITHOUT, User: PlainUser });
    const { status } = await accounts.visitor().post("/register", CLEO);
    expect([status, await accounts.rows("users")]).toMatchObject([302, [{}, {}, { email: CLEO.email }]]);
  });

  test("registers no one whose address has to be verified, because no link could be mailed", async () => {
    const accounts = await testAccounts({ without: WITHOUT });
    const { status } = await accounts.visitor().post("/register", CLEO);
    expect([status, await accounts.rows("users")]).toMatchObject([500, [ADA, BOB]]);
  });
});

test("S40 a link in a mail contains only the host of APP_URL", async () => {
  const accounts = await testAccounts({ environment: { APP_URL: "http://127.0.0.1:3000" } });
  await accounts.visitor().post("/change_password", { email: ADA.email });
  expect(linkIn((await accounts.mails())[0])).toMatch(/^http:\/\/127\.0\.0\.1:3000\/password_reset\?token=/);
});
