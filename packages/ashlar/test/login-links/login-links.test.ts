import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { captureEvents, createTestClient, linksIn, travel, travelBack } from "../../src/testing/index.ts";
import { claimsOf, type TokenPair } from "../support/feature-shop.ts";
import { checkTypes } from "../support/generated-application.ts";
import { EMAIL, LoginLinkShop, mailedLogin, PASSWORD } from "../support/login-link-shop.ts";

const NOBODY = "unknown@example.com";
const REMOVED = "Earlier ways to log in were removed from your account";

let shop: LoginLinkShop;

beforeAll(async () => {
  shop = await LoginLinkShop.install({ config: { app: { APP: { languages: ["en", "de"] } } } });
});
afterAll(() => shop.end());
afterEach(travelBack);

test("the installed files pass the type checker", () => checkTypes(shop.root));

describe("the code of a mail", () => {
  test("logs in once, in any spelling", async () => {
    const ada = await shop.addAda();
    using events = captureEvents(shop.application);
    const client = shop.visitor();
    (await client.follow(await client.get("/login"))).assertSee("Log in by email");
    const { code } = await shop.ask(client);
    (await shop.enter(client, ` ${code.toLowerCase().replace("-", " ")} `)).assertRedirect("/home");
    await client.assertAuthenticatedAs(ada);
    events.assertEmitted("auth.login", { by: ["mail"] });
    events.assertEmitted("login_links.sent", { email: EMAIL });
    const other = shop.visitor();
    await shop.ask(other);
    await shop.enter(other, code);
    await other.assertGuest();
  });

  test("is refused if it is wrong, expired, of another request or of another user", async () => {
    await shop.addAda();
    await shop.addUser("Eve", "eve@example.com");
    const ofEve = await shop.ask(shop.visitor(), "eve@example.com");
    const before = await shop.ask(shop.visitor());
    const client = shop.visitor();
    const { code } = await shop.ask(client);
    for (const wrong of ["WDJB-MJHT", ofEve.code, before.code]) {
      const answer = await client.follow(await shop.enter(client, wrong));
      answer.assertSee("This code is not right, or no longer works.");
      // What was typed is a secret, so no page shows it again.
      expect(answer.text).not.toContain(`value="${wrong}"`);
      await client.assertGuest();
    }
    travel(16);
    (await client.withCsrfToken().postJson("/login/mail/code", { mailed_code: code })).assertStatus(422);
    (await client.get("/login/mail/code")).assertRedirect("/login/mail");
  });

  test.each<[string, (shop: LoginLinkShop) => Promise<unknown>]>([
    [
      "a new password",
      async ({ User }) => {
        const user = (await User.findBy("email", EMAIL))!;
        await user.setPassword("another of hers");
        await user.save();
      },
    ],
    [
      "another address",
      async ({ User }) => User.where("email", EMAIL).update({ email: "other@example.com" } as object),
    ],
    ["the end of all access", async ({ User }) => (await User.findBy("email", EMAIL))!.endAccess()],
  ])("S51 is void after %s, and so is the link", async (_name, change) => {
    await shop.addAda();
    const client = shop.visitor();
    const { code, link } = await shop.ask(client);
    await change(shop);
    (await client.withCsrfToken().postJson("/login/mail/code", { mailed_code: code })).assertStatus(422);
    (await client.get(link)).assertRedirect("/login/mail");
    await client.assertGuest();
  });

  test("S206 doesn't log in to a blocked account, and neither does the link", async () => {
    const ada = await shop.addAda();
    const client = shop.visitor();
    const { code, link } = await shop.ask(client);
    const { blocks } = shop.application.container.make("accounts");
    await blocks.block("web", (await shop.User.findOrFail(ada.id)) as never, { by: "test", reason: null } as never);
    (await client.withCsrfToken().postJson("/login/mail/code", { mailed_code: code })).assertStatus(422);
    (await client.get(link)).assertRedirect("/login/mail");
    await shop.mail.clear();
    await client.withCsrfToken().postJson("/login/mail", { email: EMAIL });
    await shop.application.background.settled();
    expect(await shop.mail.all()).toEqual([]);
  });

  test("S133 counts like a password, within the one budget of the account, whether or not there is one", async () => {
    await shop.addAda({ password: PASSWORD });
    for (const email of [EMAIL, NOBODY]) {
      const client = shop.visitor("203.0.113.9").withCsrfToken();
      (await client.postJson("/login/mail", { email })).assertStatus(202);
      const wrong = { mailed_code: "WDJB-MJHT" };
      for (let attempt = 0; attempt < 5; attempt++) {
        (await client.postJson("/login/mail/code", wrong)).assertStatus(422);
      }
      (await client.postJson("/login/mail/code", wrong)).assertStatus(429);
    }
    await shop.addAda({ password: PASSWORD });
    const throttle = shop.application.container.make("throttle");
    const realm = shop.application.container.make("auth").realmOf("web");
    const client = shop.visitor();
    await shop.ask(client);
    const left = async () => (await throttle.peek("login.account", { realm, account: EMAIL })).buckets[0]!.remaining;
    const before = await left();
    await shop.enter(client, "WDJB-MJHT");
    expect(await left()).toBe(before - 1);
    const { code } = await shop.ask(client);
    (await shop.enter(client, code)).assertRedirect("/home");
    expect(await left()).toBe(before - 1);
  });

  test("remembers the login if the visitor wanted that", async () => {
    await shop.addAda();
    for (const [fields, isRemembered] of [
      [{}, false],
      [{ remember: "1" }, true],
    ] as const) {
      const client = shop.visitor();
      const { code } = await shop.ask(client, EMAIL, fields);
      const answer = await shop.enter(client, code);
      answer.assertRedirect("/home");
      const login = (await shop.rows("logins")).at(-1);
      const days = (new Date(login!.expires_at as string).getTime() - Date.now()) / 86_400_000;
      expect(days > 1).toBe(isRemembered);
      await (await shop.User.findBy("email", EMAIL))!.endAccess();
    }
  });
});

describe("the link of a mail", () => {
  test("has a page with a button in the browser that asked, and logs in there", async () => {
    const ada = await shop.addAda();
    const client = shop.visitor();
    const { link } = await shop.ask(client);
    const page = (await client.get(link)).assertSee(`This logs you in as ${EMAIL}.`);
    expect(page.text).not.toContain("mailed_code");
    expect(page.headers.get("referrer-policy")).toBe("no-referrer");
    (await client.submit(page)).assertRedirect("/home");
    await client.assertAuthenticatedAs(ada);
    const again = shop.visitor();
    (await again.follow(await again.get(link))).assertSee("This link was used already");
  });

  test("asks for the code of the same mail in another browser", async () => {
    const ada = await shop.addAda();
    const { code, link } = await shop.ask(shop.visitor());
    const other = await shop.ask(shop.visitor());
    const phone = shop.visitor();
    (await phone.get(link)).assertSee("You asked for this email in another browser.");
    await shop.follow(phone, link, other.code);
    await phone.assertGuest();
    (await shop.follow(phone, link, code)).assertRedirect("/home");
    await phone.assertAuthenticatedAs(ada);
    (await shop.visitor().get(link)).assertRedirect("/login/mail");
  });

  test("S59 a scanner that follows it, and presses its button, doesn't log in and uses nothing up", async () => {
    const ada = await shop.addAda();
    const client = shop.visitor();
    const { link } = await shop.ask(client);
    const scanner = createTestClient(shop.application, { address: "198.51.100.7" });
    (await scanner.get(link)).assertStatus(200);
    (await scanner.send("HEAD", link)).assertStatus(200);
    await scanner.submit(await scanner.get(link));
    (await scanner.withCsrfToken().postJson(link, {})).assertStatus(422);
    await scanner.assertGuest();
    (await client.send("HEAD", link)).assertStatus(200);
    await client.get(link);
    await client.assertGuest();
    (await shop.follow(client, link)).assertRedirect("/home");
    await client.assertAuthenticatedAs(ada);
  });

  test("survives a mail program that rewrites it, and the code is alone on a line in text and HTML", async () => {
    await shop.addAda();
    const client = shop.visitor();
    const { mail, code, link } = await shop.ask(client);
    const url = linksIn(mail).find((one) => one.includes("/login/mail/link/"))!;
    const safe = `https://eur01.safelinks.protection.outlook.com/?url=${encodeURIComponent(url)}&data=05%7C01%7C&reserved=0`;
    expect(new URL(safe).searchParams.get("url")).toBe(url);
    // Nothing in it is changed by being escaped, or by being read as a form.
    expect(link).toMatch(/^\/login\/mail\/link\/[\w.-]+$/);
    expect(mail.text.split("\n")).toContain(code);
    expect(mail.text.split("\n")).toContain(url);
    expect(mail.html).toMatch(new RegExp(`<p style="[^"]*white-space: nowrap[^"]*">${code}</p>`));
    expect(mail.html).toContain(`href="${url}"`);
    (await shop.follow(client, `/login/mail/link/${encodeURIComponent(link.split("/").at(-1)!)}`)).assertRedirect(
      "/home",
    );
  });

  test("of a guessed or altered token is refused", async () => {
    await shop.addAda();
    const client = shop.visitor();
    const { link } = await shop.ask(client);
    for (const path of [`${link}x`, "/login/mail/link/x", link.replace("/link/", "/link/x")]) {
      (await client.get(path)).assertRedirect("/login/mail");
      (await client.withCsrfToken().postJson(path, {})).assertStatus(410);
    }
    await client.assertGuest();
  });
});

test("S142 the code and the link of one mail work once together", async () => {
  await shop.addAda();
  const client = shop.visitor();
  const { code, link } = await shop.ask(client);
  (await shop.follow(shop.visitor(), link, code)).assertRedirect("/home");
  (await client.withCsrfToken().postJson("/login/mail/code", { mailed_code: code })).assertStatus(422);
  (await client.withCsrfToken().postJson(link, {})).assertStatus(410);
});

describe("S146 the first proof of an address", () => {
  test("voids the password, the logins and the tokens of a stranger who registered it, and tells the owner", async () => {
    await shop.addAda({ password: PASSWORD, isVerified: false });
    const stranger = shop.visitor();
    const login = { email: EMAIL, password: PASSWORD };
    (await stranger.submit(await stranger.get("/login"), '[action="/login"]', login)).assertRedirect("/home");
    const token = await shop.visitor().postJson("/api/auth", { username: EMAIL, password: PASSWORD });
    const { data } = token.assertStatus(200).json as TokenPair;
    const owner = shop.visitor();
    const { code } = await shop.ask(owner);
    const home = await owner.follow((await shop.enter(owner, code)).assertRedirect("/home"));
    home.assertSee("we removed the password and other ways to log in that were set up before");
    await stranger.assertGuest();
    (await shop.visitor().postJson("/api/auth", { username: EMAIL, password: PASSWORD })).assertStatus(401);
    (
      await shop
        .visitor()
        .withToken(data as never)
        .getJson("/api/me")
    ).assertStatus(401);
    expect(await shop.rows("users")).toMatchObject([{ password: "!", verified_at: expect.anything() }]);
    const subjects = (await shop.mail.all()).map(({ subject }) => subject);
    expect(subjects).toContain(REMOVED);
  });

  test("of an account without a password ends what is older, without a word", async () => {
    await shop.addAda({ isVerified: false });
    const ada = (await shop.User.findBy("email", EMAIL))!;
    const before = await shop.visitor().actingAs(ada);
    const owner = shop.visitor();
    const { code } = await shop.ask(owner);
    (await shop.enter(owner, code)).assertRedirect("/home");
    await before.assertGuest();
    expect(await shop.rows("users")).toMatchObject([{ password: null, verified_at: expect.anything() }]);
    expect((await shop.mail.all()).map(({ subject }) => subject)).not.toContain(REMOVED);
  });

  test("of an account whose address was proved before removes nothing", async () => {
    await shop.addAda({ password: PASSWORD });
    const before = await shop.visitor().actingAs((await shop.User.findBy("email", EMAIL))!);
    const owner = shop.visitor();
    const { code } = await shop.ask(owner);
    (await shop.enter(owner, code)).assertRedirect("/home");
    await before.assertAuthenticatedAs((await shop.User.findBy("email", EMAIL))!);
    const login = { email: EMAIL, password: PASSWORD };
    const other = shop.visitor();
    (await other.submit(await other.get("/login"), '[action="/login"]', login)).assertRedirect("/home");
  });
});

describe("S58 an address without an account", () => {
  test("gets the same responses, and no mail", async () => {
    await shop.addAda();
    const answers = [];
    for (const email of [EMAIL, NOBODY]) {
      await shop.mail.clear();
      const client = shop.visitor();
      const asked = await client.submit(await client.get("/login/mail"), '[action="/login/mail"]', { email });
      await shop.application.background.settled();
      const page = await client.get("/login/mail/code");
      const wrong = await client.submit(page, { mailed_code: "WDJB-MJHT" });
      const refused = await client.follow(wrong);
      const json = await client.withCsrfToken().postJson("/login/mail/code", { mailed_code: "WDJB-MJHT" });
      const without = (text: string) =>
        text.replaceAll(email, "").replace(/name="_csrf" value="[^"]*"|nonce-[\w-]+/g, "");
      answers.push([asked.status, asked.headers.get("location"), without(refused.pageText), json.status, json.json]);
      expect(await shop.mail.all()).toHaveLength(email === EMAIL ? 1 : 0);
    }
    expect(answers[1]).toEqual(answers[0]);
  });

  test("S33 has the same limit of mails", async () => {
    await shop.addAda();
    for (const email of [EMAIL, NOBODY]) {
      const client = shop.visitor("203.0.113.10").withCsrfToken();
      const ask = () => client.postJson("/login/mail", { email });
      for (let mail = 0; mail < 5; mail++) (await ask()).assertStatus(202);
      (await ask()).assertStatus(429);
    }
    (await shop.visitor().withCsrfToken().postJson("/login/mail", { email: "no address" })).assertStatus(422);
  });
});

describe("confirming by mail", () => {
  test("lets a user without a password into settings", async () => {
    const ada = await shop.addAda();
    const client = await shop.visitor().actingAs(ada);
    const passwords = { password: PASSWORD, password_confirmation: PASSWORD };
    const setPassword = async () => {
      return client.submit(await client.get("/account/password"), '[action="/account/password"]', passwords);
    };
    const page = await client.follow((await setPassword()).assertRedirect("/confirm_mail"));
    (await client.submit(page, '[action="/confirm_mail/send"]')).assertRedirect("/confirm_mail");
    const { code, link, mail } = mailedLogin(await shop.mail.assertSent(({ to }) => to === EMAIL));
    expect([link, mail.subject]).toEqual(["", "Your code"]);
    const form = await client.get("/confirm_mail");
    await client.submit(form, '[action="/confirm_mail"]', { mailed_code: "WDJB-MJHT" });
    const confirmed = await client.submit(await client.get("/confirm_mail"), '[action="/confirm_mail"]', {
      mailed_code: code,
    });
    confirmed.assertRedirect("/account/password");
    // Another browser's login isn't confirmed by the same code.
    const other = await shop.visitor().actingAs(ada);
    (await other.withCsrfToken().postJson("/confirm_mail", { mailed_code: code })).assertStatus(422);
    // Nor does it log in.
    const visitor = shop.visitor();
    await shop.ask(visitor);
    await shop.enter(visitor, code);
    await visitor.assertGuest();
    (await setPassword()).assertRedirect("/home");
    expect((await shop.User.findOrFail(ada.id)).passwordHash()).not.toBeNull();
  });

  test("isn't offered to a user whose address was never verified", async () => {
    const ada = await shop.addAda({ password: PASSWORD, isVerified: false });
    const client = await shop.visitor().actingAs(ada);
    (await client.withCsrfToken().postJson("/confirm_mail/send")).assertStatus(422);
  });
});

describe("an app", () => {
  test("gets a token for the code of a mail, which has no link", async () => {
    await shop.addAda();
    const app = shop.visitor();
    const { data } = (await app.postJson("/api/login-mail", { email: EMAIL })).assertStatus(202).json as {
      data: { request: string };
    };
    await shop.application.background.settled();
    const { code, link } = mailedLogin(await shop.mail.assertSent(({ to }) => to === EMAIL));
    expect(link).toBe("");
    const token = (body: object) => app.postJson("/api/login-mail/token", body);
    (await token({ ...data, mailed_code: "WDJB-MJHT" })).assertStatus(401);
    (await token({ mailed_code: code })).assertStatus(401);
    const issued = (await token({ ...data, mailed_code: code })).assertStatus(200).json as { data: string };
    expect(claimsOf(issued.data)).toMatchObject({ amr: ["email"] });
    (await token({ ...data, mailed_code: code })).assertStatus(401);
    // The same for an address without an account.
    const other = await app.postJson("/api/login-mail", { email: NOBODY });
    expect(other.assertStatus(202).json).toEqual({ data: { request: expect.any(String) } });
    const { data: unknown } = other.json as { data: { request: string } };
    (await token({ ...unknown, mailed_code: "WDJB-MJHT" })).assertStatus(401);
  });
});

test("pages and mails are in German", async () => {
  await shop.addAda();
  const client = shop.visitor().withLanguage("de");
  (await client.get("/login/mail")).assertSee("Per E-Mail anmelden");
  const { mail } = await shop.ask(client);
  expect(mail.subject).toBe("Melden Sie sich bei Ihrem Konto an");
  (await client.get("/login/mail/code")).assertSee("Sehen Sie in Ihr Postfach");
});
