import { afterEach, describe, expect, test } from "vitest";
import {
  ADA,
  AdminUser,
  APP_URL,
  BOB,
  linkIn,
  outcomeOf,
  type PlainUser,
  pathIn,
  type TestAccounts,
  testAccounts,
  PlainUser as Unverifiable,
} from "../../../../test/support/account-application.ts";
import { ACCOUNT_CONTROLLERS } from "../../../../test/support/account-controllers.ts";
import { BrokenMailable } from "../../../../test/support/broken-mailable.ts";
import { onEachDatabase } from "../../../../test/support/services.ts";
import { MailProvider } from "../../../mail/index.ts";
import { Route } from "../../../routing/index.ts";
import { setClock } from "../../../support/index.ts";
import { authRoutes } from "../pages/auth-routes.ts";

afterEach(() => setClock(null));

/** The path of the link that is mailed to Ada when she requests it. */
async function resent(accounts: TestAccounts): Promise<string> {
  await (await accounts.loggedIn()).post("/email/resend");
  return accounts.link();
}

const INVALID = "invalid";

function follow(accounts: TestAccounts, link: string): Promise<string> {
  return outcomeOf(accounts.visitor(), link);
}

await onEachDatabase("the verification link", (engine) => {
  test("S38 works once, even when logged out: a second use reports that, and emits no event", async () => {
    const accounts = await testAccounts({ engine });
    const link = await resent(accounts);
    expect(await follow(accounts, link)).toBe("verified");
    const { verified_at: verifiedAt } = await accounts.user();
    expect(await follow(accounts, link)).toBe("already");
    expect((await accounts.user()).verified_at).toEqual(verifiedAt);
    expect(await accounts.toldOf("auth.email_verified")).toHaveLength(1);
    expect((await accounts.user(BOB.id)).hasVerifiedEmail()).toBe(false);
  });

  test("S38 20 parallel uses have one effect and one event", async () => {
    const accounts = await testAccounts({ engine });
    const link = await resent(accounts);
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => follow(accounts, link)));
    expect(outcomes.toSorted()).toEqual([...Array.from({ length: 19 }, () => "already"), "verified"]);
    expect(await accounts.toldOf("auth.email_verified")).toHaveLength(1);
  });

  test("S38 is invalid once the account has another address", async () => {
    const accounts = await testAccounts({ engine });
    const link = await resent(accounts);
    await accounts.User.where("id", ADA.id).update({ email: "ada@example.org" });
    expect(await follow(accounts, link)).toEqual(INVALID);
    expect((await accounts.user()).hasVerifiedEmail()).toBe(false);
    expect(await accounts.toldOf("auth.email_verified")).toEqual([]);
  });

  test.each<readonly [what: string, happen: (accounts: TestAccounts) => Promise<unknown>]>([
    ["access ends", async (accounts) => (await accounts.user()).endAccess()],
    ["the address changes", ({ User }) => User.where("id", ADA.id).update({ email: "ada@example.org" })],
    ["the key changes", ({ User }) => User.where("id", ADA.id).update({ id: 99 })],
  ])("S52 is invalid if %s between its check and its effect", async (_, happen) => {
    const accounts = await testAccounts({ engine });
    // From here on, the account has a stored epoch, which isn't affected by changes to other columns.
    await (await accounts.user()).endAccess();
    const link = await resent(accounts);
    const { User } = accounts;
    const find = User.findByAuthId;
    let asked = 0;
    const parked = async function (this: unknown, ...args: unknown[]): Promise<unknown> {
      const user = await Reflect.apply(find, this, args);
      // The first lookup is for the page with the button.
      if (++asked === 2) await happen(accounts);
      return user;
    };
    User.findByAuthId = parked as typeof find;
    expect(await follow(accounts, link)).toBe(INVALID);
    expect(asked).toBeGreaterThanOrEqual(2);
    expect((await accounts.rows("users")).map((row) => row.verified_at)).toEqual([null, null]);
    expect(await accounts.toldOf("auth.email_verified")).toEqual([]);
  });

  test("S38 is invalid once the account no longer exists", async () => {
    const accounts = await testAccounts({ engine });
    const link = await resent(accounts);
    await (await accounts.user()).delete();
    expect(await follow(accounts, link)).toEqual(INVALID);
  });
});

describe("the verification link", () => {
  test("S38 expires after verificationExpiresInMinutes minutes", async () => {
    const accounts = await testAccounts({ ACCOUNTS: { verificationExpiresInMinutes: 30 } });
    const link = await resent(accounts);
    const start = Date.now();
    setClock(() => start + 31 * 60_000);
    expect(await follow(accounts, link)).toEqual(INVALID);
    setClock(() => start + 29 * 60_000);
    expect(await follow(accounts, link)).toBe("verified");
  });

  test("S38 is valid for a day by default, and the mail says so", async () => {
    const accounts = await testAccounts();
    await (await accounts.loggedIn()).post("/email/resend");
    const [mail] = await accounts.mails();
    expect(mail?.text).toContain("This link expires in 24 hours.");
    const start = Date.now();
    const link = pathIn(mail);
    setClock(() => start + 24 * 3_600_000);
    expect(await follow(accounts, link)).toEqual(INVALID);
    setClock(() => start + 23 * 3_600_000);
    expect(await follow(accounts, link)).toBe("verified");
  });

  test("S28 HEAD changes nothing, and responds like GET would", async () => {
    const accounts = await testAccounts();
    const link = await resent(accounts);
    const response = await accounts.head(link);
    expect([response.status, response.headers.get("location"), await response.text()]).toEqual([200, null, ""]);
    expect((await accounts.user()).hasVerifiedEmail()).toBe(false);
    expect(await accounts.toldOf("auth.email_verified")).toEqual([]);
    expect(await follow(accounts, link)).toBe("verified");
    expect((await accounts.head(link)).headers.get("location")).toBe("/login");
    expect((await accounts.head(`${link}x`)).headers.get("location")).toBe("/email/verify/notice");
  });

  test("S37 verifies the address it was sent to, whichever user is logged in", async () => {
    const accounts = await testAccounts();
    const link = await resent(accounts);
    const bob = await accounts.loggedIn(BOB);
    expect(await outcomeOf(bob, `${link}?user_id=2&id=2`)).toBe("verified");
    const verified = [await accounts.user(ADA.id), await accounts.user(BOB.id)].map((user) => user.hasVerifiedEmail());
    expect(verified).toEqual([true, false]);
  });

  test("verifies nothing if the model lacks MustVerifyEmail", async () => {
    const accounts = await testAccounts({ User: class User extends Unverifiable {} as typeof PlainUser });
    const service = accounts.application.container.make("accounts");
    const link = new URL(service.pages.verificationUrl("web", await accounts.user(), null)).pathname;
    expect(await follow(accounts, link)).toEqual(INVALID);
  });

  test("is invalid if its guard no longer exists", async () => {
    const accounts = await testAccounts();
    const service = accounts.application.container.make("accounts");
    const link = new URL(service.pages.verificationUrl("admin", await accounts.user(), null)).pathname;
    expect(await follow(accounts, link)).toEqual(INVALID);
  });

  test("of another guard is about that guard's user, even if key and address are the same", async () => {
    const Admin = class Admin extends AdminUser {};
    const accounts = await testAccounts({ guards: { admin: { driver: "web", model: Admin } } });
    Admin.useDatabase(accounts.database);
    const admin = await Admin.findOrFail(1);
    expect(admin.email).toBe(ADA.email);
    const service = accounts.application.container.make("accounts");
    expect(await follow(accounts, new URL(service.pages.verificationUrl("admin", admin as never, null)).pathname)).toBe(
      "verified",
    );
    expect([(await Admin.findOrFail(1)).hasVerifiedEmail(), (await accounts.user()).hasVerifiedEmail()]).toEqual([
      true,
      false,
    ]);
    expect(await accounts.toldOf("auth.email_verified")).toMatchObject([{ guard: "admin", user: { id: 1 } }]);
  });

  test("S47 the event contains time, user, address and guard, and nothing else", async () => {
    const accounts = await testAccounts();
    await follow(accounts, await resent(accounts));
    const [event] = await accounts.toldOf("auth.email_verified");
    const user = expect.objectContaining({ id: ADA.id, verified_at: expect.any(Date) });
    expect(event).toEqual({ time: expect.any(Date), address: "203.0.113.7", guard: "web", user });
  });
});

describe("readVerification()", () => {
  test("returns the address that a link proves, and whether it is a new one, but null for links to another guard's pages", async () => {
    class Admin extends AdminUser {}
    const accounts = await testAccounts({
      models: [Admin],
      guards: { admin: { driver: "web", model: Admin } },
      routes: [
        authRoutes(ACCOUNT_CONTROLLERS, { guard: "admin" }).prefix("/admin"),
        Route.get("/read/@token", ({ accounts: own, request }) => ({
          link: own.readVerification(request.param("token")),
        })),
      ],
    });
    const service = accounts.application.container.make("accounts");
    const read = async (guard: string, newEmail: string | null, end = ""): Promise<unknown> => {
      const token = service.pages
        .verificationUrl(guard, await accounts.user(), newEmail)
        .split("/")
        .at(-1);
      return (await accounts.visitor().get(`/read/${token}${end}`)).body;
    };
    expect(await read("web", null)).toEqual({ link: { email: ADA.email, isChange: false } });
    expect(await read("web", "new@example.org")).toEqual({ link: { email: "new@example.org", isChange: true } });
    expect([await read("admin", null), await read("web", null, "x")]).toEqual([{ link: null }, { link: null }]);
  });
});

describe("sendVerification()", () => {
  test("returns whether it has sent a link", async () => {
    const routes = [Route.post("/send", async ({ accounts }) => ({ isSent: await accounts.sendVerification() }))];
    const accounts = await testAccounts({ routes });
    const visitor = await accounts.loggedIn();
    const json = { accept: "application/json" };
    expect(await visitor.post("/send", {}, json)).toMatchObject({ status: 200, body: { isSent: true } });
    await (await accounts.user()).markEmailAsVerified();
    expect(await visitor.post("/send", {}, json)).toMatchObject({ status: 200, body: { isSent: false } });
    expect(await accounts.mails()).toHaveLength(1);
  });

  test("mails a user who is not logged in", async () => {
    const routes = [
      Route.post("/send", async ({ accounts }) => ({ isSent: await accounts.sendVerification(await ada()) })),
    ];
    const accounts = await testAccounts({ routes });
    const ada = async () => (await accounts.user()) as never;
    const visitor = accounts.visitor();
    expect((await visitor.post("/send", {}, { accept: "application/json" })).body).toEqual({ isSent: true });
    const [mail] = await accounts.mails();
    expect(mail?.to).toBe(ADA.email);
  });

  test("fails if the mail cannot be created", async () => {
    const accounts = await testAccounts({ ACCOUNTS: { mailables: { verifyEmail: BrokenMailable } } });
    const visitor = await accounts.loggedIn();
    expect((await visitor.post("/email/resend", {}, { accept: "application/json" })).status).toBe(500);
    expect(await accounts.toldOf("auth.verification_sent")).toEqual([]);
  });

  test("S40 the link's host is APP_URL's, regardless of the request", async () => {
    const accounts = await testAccounts();
    const visitor = await accounts.loggedIn();
    const evil = { host: "evil.example", "x-forwarded-host": "evil.example", origin: APP_URL };
    await visitor.post("/email/resend", {}, evil);
    const [mail] = await accounts.mails();
    expect(linkIn(mail).startsWith(`${APP_URL}/email/verify/`)).toBe(true);
    expect(JSON.stringify(mail)).not.toContain("evil");
  });

  test("S40 without APP_URL the link's host is the default's, regardless of the request", async () => {
    const accounts = await testAccounts({ environment: { APP_URL: "" } });
    const visitor = await accounts.loggedIn();
    await visitor.post("/email/resend", {}, { "x-forwarded-host": "evil.example" });
    const [mail] = await accounts.mails();
    expect(linkIn(mail).startsWith("http://localhost:3000/email/verify/")).toBe(true);
    expect(JSON.stringify(mail)).not.toContain("shop.example/");
  });

  test("a user whose address is verified gets no mail, and goes home", async () => {
    const accounts = await testAccounts();
    await (await accounts.user()).markEmailAsVerified();
    const { headers } = await (await accounts.loggedIn()).post("/email/resend");
    expect([headers.get("location"), await accounts.mails()]).toEqual(["/home", []]);
  });

  test("a user whose model lacks MustVerifyEmail gets no mail", async () => {
    const accounts = await testAccounts({ User: class User extends Unverifiable {} as typeof PlainUser });
    const { headers } = await (await accounts.loggedIn()).post("/email/resend");
    expect([headers.get("location"), await accounts.mails()]).toEqual(["/home", []]);
  });

  test("the error in an application without mail names the missing provider", async () => {
    const accounts = await testAccounts({ without: [MailProvider] });
    const answer = await (await accounts.loggedIn()).post("/email/resend", {}, { accept: "application/json" });
    expect(answer).toMatchObject({
      status: 500,
      body: {
        code: "E_INVALID_CONFIGURATION",
        detail: expect.stringContaining("config/providers.ts: PROVIDERS: lacks MailProvider"),
      },
    });
  });
});
