import { describe, expect, test } from "vitest";
import {
  ADA,
  BOB,
  FullUser,
  linkIn,
  NEW_PASSWORD,
  PASSWORD,
  type TestAccounts,
  type TestAccountsOptions,
  testAccounts,
} from "../../../../test/support/account-application.ts";
import { Mailable, type MailContent } from "../../../mail/index.ts";
import { Route } from "../../../routing/index.ts";
import type { PasswordChangedData } from "../mails/account-mailables.ts";

const APP_URL = "https://shop.example";
/** A tenant's own domain, which the application admits, as it would any that a tenant has entered. */
const EVIL = "https://evil.example";
const config = { app: { APP: { hosts: () => true } } };

function admitting(options: TestAccountsOptions = {}): Promise<TestAccounts> {
  return testAccounts({ User: class User extends FullUser {}, config, ...options });
}

/** The origin of each link in the mails since the last call. */
async function origins(accounts: TestAccounts): Promise<string[]> {
  const mails = await accounts.mails();
  return mails.flatMap(({ text }) => (text.match(/https?:\S+/g) ?? []).map((url) => new URL(url).origin));
}

test("S186 a reset link that a stranger requests never leads to a tenant's own domain", async () => {
  const accounts = await admitting();
  const attacker = accounts.visitor({ origin: EVIL });
  await attacker.post("/change_password", { email: ADA.email });
  const link = new URL(linkIn((await accounts.mails())[0]));
  expect(link.origin).toBe(APP_URL);
  // The owner who follows it reaches the host of the account.
  const owner = accounts.visitor();
  const form = { token: link.searchParams.get("token"), password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
  await owner.get(link.pathname + link.search);
  expect((await owner.post("/password_reset", form)).status).toBe(302);
});

test("S186 no link to verify, change or restore an address leads to a tenant's domain, and no link in a notice does", async () => {
  class Notice extends Mailable {
    readonly data: PasswordChangedData;
    constructor(data: PasswordChangedData) {
      super();
      this.data = data;
    }
    override subject(): string {
      return "Changed";
    }
    override content(): MailContent {
      return { plainText: `${this.data.newPasswordUrl}` };
    }
  }
  const accounts = await admitting({ ACCOUNTS: { mailables: { passwordChanged: Notice } } });
  const visitor = accounts.visitor({ origin: EVIL });
  const passwords = { password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
  await visitor.post("/register", { name: "Eve", email: "eve@example.com", ...passwords });
  expect(await origins(accounts)).toEqual([APP_URL]);
  await visitor.post("/email/resend");
  expect(await origins(accounts)).toEqual([APP_URL]);
  await (await accounts.user(ADA.id)).markEmailAsVerified();
  const ada = accounts.visitor({ origin: EVIL });
  await ada.post("/login", { email: ADA.email, password: PASSWORD });
  await ada.post("/confirm_password", { password: PASSWORD });
  await ada.post("/account/password", { current_password: PASSWORD, ...passwords });
  expect(await origins(accounts)).toEqual([APP_URL]);
  await ada.post("/account/email", { email: "lovelace@example.com", password: NEW_PASSWORD });
  const mails = await accounts.mails();
  const links = mails.flatMap(({ text }) => text.match(/https?:\S+/g) ?? []);
  expect(links.map((link) => new URL(link).origin)).toEqual(links.map(() => APP_URL));
  const change = links.find((link) => link.includes("/email/verify/"))!;
  await ada.post(new URL(change).pathname);
  const completed = (await accounts.mails()).find(({ text }) => text.includes("/email/undo/"));
  expect(linkIn(completed)).toMatch(`${APP_URL}/email/undo/`);
});

test("S186 no link that finishes a registration, or is for the owner of a taken address, leads to a tenant's domain", async () => {
  const accounts = await admitting({ ACCOUNTS: { preventEnumeration: true } });
  await (await accounts.user(BOB.id)).markEmailAsVerified();
  const passwords = { password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
  for (const { email } of [ADA, BOB]) {
    await accounts.visitor({ origin: EVIL }).post("/register", { name: "Eve", email, ...passwords });
    const found = await origins(accounts);
    expect(found.length).toBeGreaterThan(0);
    expect(new Set(found)).toEqual(new Set([APP_URL]));
  }
});

test.each([
  [EVIL, APP_URL],
  ["https://acme.shop.example", "https://acme.shop.example"],
])("S186 the link that lets a device in, after guesses at %s, leads to %s", async (requested, expected) => {
  const accounts = await admitting({
    routes: [
      Route.get("/guessed", async (context) => {
        const { deviceLinks } = accounts.application.container.make("accounts");
        await deviceLinks.promise(context, "web", await accounts.user(ADA.id), ADA.email);
        return "";
      }),
    ],
  });
  await (await accounts.user(ADA.id)).markEmailAsVerified();
  await accounts.visitor({ origin: requested }).get("/guessed");
  const [mail] = await accounts.mails();
  expect(mail!.text).toContain("/login/device/");
  const found = mail!.text.match(/https?:\S+/g)!.map((url) => new URL(url).origin);
  expect(new Set(found)).toEqual(new Set([expected]));
});

test("S186 the application's own mail about an account links to where the framework's would", async () => {
  class Reset extends Mailable {
    override subject(): string {
      return "A new password";
    }
    override content(): MailContent {
      return { plainText: `${this.route("password_reset")} ${this.url("/")}` };
    }
  }
  const accounts = await admitting({ ACCOUNTS: { mailables: { resetPassword: Reset } } });
  await accounts.visitor({ origin: EVIL }).post("/change_password", { email: ADA.email });
  expect(await origins(accounts)).toEqual([APP_URL, APP_URL]);
});

test("S186 pages on a subdomain are looked up below the site of APP_URL", async () => {
  const accounts = await admitting({
    leftOut: { resetPassword: false },
    routes: [
      Route.get("/password_reset", () => "a form")
        .name("password_reset")
        .domain("accounts"),
    ],
  });
  await accounts.visitor({ origin: "https://accounts.shop.example" }).post("/change_password", { email: ADA.email });
  expect(await origins(accounts)).toEqual(["https://accounts.shop.example"]);
  await accounts.visitor({ origin: "https://accounts.evil.example" }).post("/change_password", { email: ADA.email });
  expect(await origins(accounts)).toEqual(["https://accounts.shop.example"]);
});

test("other links, pages and forms stay with the host that was requested", async () => {
  class Note extends Mailable {
    override subject(): string {
      return "A note";
    }
    override content(): MailContent {
      return { plainText: this.url("/notes") };
    }
  }
  const accounts = await admitting({
    routes: [
      Route.post("/note", async ({ mail, request }) => {
        await mail.queue(new Note(), ADA.email);
        return request.url();
      }),
    ],
  });
  const { body } = await accounts.visitor({ origin: EVIL }).post("/note");
  expect(body).toBe(`${EVIL}/note`);
  expect(await origins(accounts)).toEqual([EVIL]);
});

describe("S186 whether a host belongs to the site of APP_URL", () => {
  test.each([
    ["https://www.shop.example", "https://shop.example", true],
    ["https://www.shop.example", "https://a.b.shop.example", true],
    ["https://shop.co.uk", "https://acme.shop.co.uk", true],
    ["https://shop.co.uk", "https://evil.co.uk", false],
    ["https://shop.fly.dev", "https://evil.fly.dev", false],
    ["https://shop.example", "https://evilshop.example", false],
    ["https://shop.example", "https://shop.example.evil.example", false],
    ["https://shop", "https://evil", false],
    ["https://example", "https://evil.example", false],
    ["https://192.0.2.1", "https://192.0.2.2", false],
    ["http://localhost:3000", "http://a.localhost:3000", true],
    ["http://localhost:3000", "http://evil.example:3000", false],
  ])("%s, %s: %s", async (url, requested, isSame) => {
    const accounts = await admitting({ environment: { APP_URL: url } });
    await accounts.visitor({ origin: requested }).post("/change_password", { email: ADA.email });
    expect(await origins(accounts)).toEqual([isSame ? requested : url]);
  });
});
