import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MAILBOX, PASSWORD, PlacedShop } from "./placed-shop.ts";
import { type ShopSource, shopSource } from "./shop-source.ts";
import { BROWSER_NAMES, type BrowserName, PLACES } from "./what-browsers-send.ts";

const NEW_PASSWORD = "a dry stone wall";

let source: ShopSource;
beforeAll(async () => {
  source = await shopSource();
});
afterAll(() => source?.remove());

describe.each(Object.entries(PLACES))("S130 an application over %s, whose own forms", (_, origin) => {
  let shop: PlacedShop;
  beforeAll(async () => {
    shop = await PlacedShop.open(await source.copy(), origin);
  });
  afterAll(() => shop?.end());

  const logIn = (browser: BrowserName, email: string, password = PASSWORD) =>
    shop
      .visitor(browser)
      .type("/login")
      .then((visitor) => visitor.press("Log in", { "Email address": email, Password: password }));

  test.for(BROWSER_NAMES)("%s register, verify, log out and log in", async (browser) => {
    const email = shop.newAddress();
    const visitor = await shop.registered(browser, email);
    expect([visitor.page.status, visitor.path]).toEqual([200, "/email/verify/notice"]);
    await visitor.press("Send another link");
    expect([visitor.page.status, visitor.path]).toEqual([200, "/email/verify/notice"]);
    expect(visitor.page.text).toContain('role="status"');
    await visitor.follow(await shop.mailed(email, "/email/verify/"), MAILBOX);
    expect([visitor.page.status, visitor.path]).toEqual([200, "/home"]);
    await visitor.reload();
    await visitor.press("Log out");
    expect([visitor.page.status, visitor.path]).toEqual([200, "/login"]);
    const filling = { "Email address": email, "Stay logged in on this device": true } as const;
    await visitor.press("Log in", { ...filling, Password: "not the password" });
    expect(visitor.page.text).toContain("Incorrect email address or password.");
    await visitor.press("Log in", { ...filling, Password: PASSWORD });
    expect([visitor.page.status, visitor.path]).toEqual([200, "/home"]);
  });

  test.for(BROWSER_NAMES)("%s verify an address from another device", async (browser) => {
    const email = shop.newAddress();
    await shop.registered(browser, email);
    const phone = await shop.visitor(browser).follow(await shop.mailed(email, "/email/verify/"), MAILBOX);
    expect(phone.page.text).toContain("<h1>Confirm your email address</h1>");
    await phone.press("Confirm");
    expect([phone.page.status, phone.path]).toEqual([200, "/login"]);
    expect(phone.page.text).toContain("Your email address is verified.");
  });

  test.for(BROWSER_NAMES)("%s change a password", async (browser) => {
    const email = shop.newAddress();
    const visitor = await shop.verified(browser, email);
    await visitor.type("/account/password");
    const filling = { "New password": NEW_PASSWORD, "Confirm new password": NEW_PASSWORD };
    await visitor.press("Change password", { ...filling, "Current password": PASSWORD });
    expect(visitor.page.text).toContain('role="status"');
    expect((await logIn(browser, email, NEW_PASSWORD)).path).toBe("/home");
  });

  test.for(BROWSER_NAMES)("%s change an address", async (browser) => {
    const [email, next] = [shop.newAddress(), shop.newAddress()];
    const visitor = await shop.verified(browser, email);
    await visitor.type("/account/email");
    await visitor.press("Send link", { "New email address": next, Password: PASSWORD });
    expect(visitor.page.text).toContain('role="status"');
    await visitor.follow(await shop.mailed(next, "/email/verify/"), MAILBOX);
    expect([visitor.page.status, visitor.path]).toEqual([200, "/home"]);
    expect((await logIn(browser, next)).path).toBe("/home");
  });

  test.for(BROWSER_NAMES)("%s undo a change of address", async (browser) => {
    const [email, next] = [shop.newAddress(), shop.newAddress()];
    const visitor = await shop.verified(browser, email);
    await visitor.type("/account/email");
    await visitor.press("Send link", { "New email address": next, Password: PASSWORD });
    await visitor.follow(await shop.mailed(next, "/email/verify/"), MAILBOX);
    await visitor.follow(await shop.mailed(email, "/email/undo/"), MAILBOX);
    await visitor.press("Undo the change");
    expect(visitor.page.status).toBe(200);
    expect(visitor.page.text).toContain(`${email} is the address of your account again.`);
  });

  test.for(BROWSER_NAMES)("%s reset a forgotten password", async (browser) => {
    const email = shop.newAddress();
    await shop.registered(browser, email);
    const visitor = await shop.visitor(browser).type("/login");
    await visitor.follow("/change_password");
    await visitor.press("Send link", { "Email address": email });
    await visitor.follow(await shop.mailed(email, "/password_reset"), MAILBOX);
    await visitor.press("Set password", { "New password": "short", "Confirm new password": "short" });
    expect(visitor.page.text).toContain('aria-invalid="true"');
    await visitor.press("Set password", { "New password": NEW_PASSWORD, "Confirm new password": NEW_PASSWORD });
    expect([visitor.page.status, visitor.path]).toEqual([200, "/login"]);
    await visitor.press("Log in", { "Email address": email, Password: NEW_PASSWORD });
    expect(visitor.path).toBe("/home");
  });

  test.for(BROWSER_NAMES)("%s work on an error page", async (browser) => {
    const visitor = await shop.registered(browser);
    await visitor.type("/nowhere");
    expect(visitor.page.status).toBe(404);
    await visitor.press("Log out");
    expect([visitor.page.status, visitor.path]).toEqual([200, "/login"]);
  });

  test.for(BROWSER_NAMES)("%s confirm a password, and create and revoke a token", async (browser) => {
    const visitor = await shop.verified(browser);
    await visitor.type("/account/tokens");
    expect(visitor.path).toBe("/confirm_password");
    await visitor.press("Confirm", { Password: PASSWORD });
    expect([visitor.page.status, visitor.path]).toEqual([200, "/account/tokens"]);
    await visitor.press("Create token", { Name: "backup", "orders.read": true });
    const [, token = ""] = /<code class="secret">([^<]+)</.exec(visitor.page.text) ?? [];
    expect(token).toMatch(/^ash_/);
    await visitor.press("Revoke");
    expect(visitor.page.text).toContain("The token has been revoked.");
  });

  test.for(BROWSER_NAMES)("%s end other logins, and the user's own", async (browser) => {
    const email = shop.newAddress();
    const visitor = await shop.verified(browser, email);
    const phone = await logIn(browser, email);
    await visitor.type("/logins");
    await visitor.press("Log out all other devices");
    expect([visitor.page.status, visitor.path]).toEqual([200, "/logins"]);
    expect((await phone.type("/home")).path).toBe("/login");
  });

  test.for(BROWSER_NAMES)("%s keep the typed text if they are refused, however long", async (browser) => {
    const visitor = await shop.registered(browser);
    await visitor.type("/notes");
    const text = "Every stone has its place. ".repeat(1000);
    await visitor.press("Save", { Text: text });
    expect(visitor.path).toBe("/notes");
    expect(visitor.page.text).toContain("This is refused.");
    expect(visitor.page.text.includes(text)).toBe(true);
  });

  test.for(BROWSER_NAMES)("%s can be sent by a script, as JSON", async (browser) => {
    const email = shop.newAddress();
    const visitor = await shop.visitor(browser).type("/");
    const json = { accept: "application/json" };
    const send = async (path: string, fields: object) => {
      const csrf = JSON.parse((await visitor.load("fetch GET", "/csrf", { headers: json })).text) as { token: string };
      const headers = { ...json, "x-csrf-token": csrf.token };
      const { status, text } = await visitor.load("fetch POST", path, { json: fields, headers });
      return [status, text === "" ? null : JSON.parse(text)];
    };
    const confirmation = { password: PASSWORD, password_confirmation: PASSWORD };
    expect(await send("/register", { name: "Ada", email, ...confirmation })).toMatchObject([201, { data: {} }]);
    const { pathname } = new URL(await shop.mailed(email, "/email/verify/"));
    expect(await send(pathname, {})).toMatchObject([200, { data: { status: "verified" } }]);
    expect(await send("/logout", {})).toMatchObject([200, { data: { status: "logged_out" } }]);
    expect(await send("/change_password", { email })).toMatchObject([202, { data: {} }]);
    const token = new URL(await shop.mailed(email, "/password_reset")).searchParams.get("token");
    const fields = { token, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
    expect(await send("/password_reset", fields)).toMatchObject([200, { data: {} }]);
    expect(await send("/login", { email, password: NEW_PASSWORD })).toMatchObject([
      200,
      { data: { status: "complete" } },
    ]);
    const credentials = { username: email, password: NEW_PASSWORD };
    const issued = await visitor.load("fetch POST", "/api/auth", { json: credentials, headers: json });
    const { data } = JSON.parse(issued.text) as { data: string };
    const headers = { ...json, authorization: `Bearer ${data}` };
    expect(JSON.parse((await visitor.load("fetch GET", "/api/me", { headers })).text)).toMatchObject({ email });
    const renewed = await visitor.load("fetch POST", "/api/reauth", { json: { token: data }, headers: json });
    expect(renewed.status).toBe(200);
  });
});
