import { mkdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { type BrowserShop, openBrowserShop } from "../support/browser-shop.ts";
import { inBrowser, startBrowser } from "../support/chromium.ts";
import { installPersonalTokens } from "../support/install-personal-tokens.ts";
import { linkIn } from "../support/mail-server.ts";

/** The folder for screenshots of every page, for inspection; without it, none are taken. */
const PICTURES = process.env.ASHLAR_SCREENSHOTS;
const AXE = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** A new application with personal tokens. */
const openShop = () => openBrowserShop(installPersonalTokens);

inBrowser("accounts, in a browser", () => {
  let browser: Browser;
  // One for all tests: each has its own accounts in it.
  let shop: BrowserShop;
  beforeAll(async () => {
    [browser, shop] = await Promise.all([startBrowser(), openShop()]);
  });
  afterAll(async () => {
    await browser?.close();
    await shop?.close();
  });
  afterEach(async () => {
    for (const context of browser.contexts()) await context.close();
    // Otherwise, the test would only report that the browser can't connect.
    expect(shop.end()).toBe(null);
  });

  async function visitor(javaScriptEnabled = true): Promise<BrowserContext> {
    const context = await browser.newContext({ javaScriptEnabled });
    context.setDefaultTimeout(60_000);
    return context;
  }

  async function register(page: Page, { url }: BrowserShop, name: string, password: string): Promise<void> {
    await page.goto(`${url}/register`);
    await page.getByLabel("Name").fill(name);
    await page.getByLabel("Email address").fill(`${name.toLowerCase()}@example.com`);
    await page.getByLabel("Password", { exact: true }).fill(password);
    await page.getByLabel("Confirm password").fill(password);
    await page.getByRole("main").getByRole("button", { name: "Register" }).click();
  }

  async function logIn(page: Page, { url }: BrowserShop, name: string, password: string): Promise<void> {
    // After a wrong password, the form is shown again.
    if (page.url() !== `${url}/login`) await page.goto(`${url}/login`);
    await page.getByLabel("Email address").fill(`${name.toLowerCase()}@example.com`);
    await page.getByLabel("Password", { exact: true }).fill(password);
    await page.getByRole("main").getByRole("button", { name: "Log in" }).click();
  }

  async function heading(page: Page): Promise<string> {
    return ((await page.getByRole("heading", { level: 1 }).textContent()) ?? "").trim();
  }

  test.for([
    ["with JavaScript", true, "Ada"],
    ["without JavaScript", false, "Grace"],
  ] as const)("from registration to a forgotten password, %s", async ([, scripts, name]) => {
    const email = `${name.toLowerCase()}@example.com`;
    const context = await visitor(scripts);
    const page = await context.newPage();

    await register(page, shop, name, "stones and mortar");
    expect(await heading(page)).toBe("Verify your address");
    expect(new URL(page.url()).pathname).toBe("/email/verify/notice");

    const verification = linkIn(await shop.mail.next(email, /verif/i));
    expect(verification.startsWith(`${shop.url}/email/verify/`)).toBe(true);
    const phone = await (await visitor(scripts)).newPage();
    await phone.goto(verification);
    expect(await heading(phone)).toBe("Confirm your email address");
    await page.goto(verification);
    expect(await heading(page)).toBe(`Hello, ${name}`);
    expect(await page.getByRole("status").textContent()).toBe("Your email address is verified.");
    await page.goto(verification);
    expect(await page.getByRole("status").textContent()).toBe("Your email address is already verified.");
    await phone.getByRole("button", { name: "Confirm" }).click();
    expect(await heading(phone)).toBe("Log in");
    expect(await phone.getByRole("status").textContent()).toBe("Your email address is already verified.");

    await page.getByRole("button", { name: "Log out" }).click();
    expect(await heading(page)).toBe("Log in");
    await page.goto(`${shop.url}/home`);
    expect(await heading(page)).toBe("Log in");

    await logIn(page, shop, name, "not her password");
    expect(await heading(page)).toBe("Log in");
    expect(await page.getByRole("alert").textContent()).toContain("Incorrect email address or password.");
    expect(await page.getByLabel("Email address").inputValue()).toBe(email);
    expect(await page.getByLabel("Password", { exact: true }).inputValue()).toBe("");

    for (let attempt = 2; attempt <= 6; attempt++) await logIn(page, shop, name, "not her password");
    expect(await page.getByRole("main").textContent()).toContain("Too many attempts");

    await page.goto(`${shop.url}/login`);
    await page.getByRole("link", { name: "Forgot your password?" }).click();
    await page.getByLabel("Email address").fill(email);
    await page.getByRole("button", { name: "Send link" }).click();
    const reset = linkIn(await shop.mail.next(email, /password/i));
    await page.goto(reset);
    await page.getByLabel("New password", { exact: true }).fill("short");
    await page.getByLabel("Confirm new password").fill("short");
    await page.getByRole("button", { name: "Set password" }).click();
    expect(await page.getByRole("alert").textContent()).toContain("8");
    await page.getByLabel("New password", { exact: true }).fill("another stone wall");
    await page.getByLabel("Confirm new password").fill("another stone wall");
    await page.getByRole("button", { name: "Set password" }).click();
    expect(await heading(page)).toBe("Log in");
    await shop.mail.next(email, /password/i);

    await logIn(page, shop, name, "stones and mortar");
    expect(await heading(page)).toBe("Log in");
    await logIn(page, shop, name, "another stone wall");
    expect(await heading(page)).toBe(`Hello, ${name}`);

    const elsewhere = await (await visitor(scripts)).newPage();
    await logIn(elsewhere, shop, name, "another stone wall");
    expect(await heading(elsewhere)).toBe(`Hello, ${name}`);
    await page.goto(`${shop.url}/logins`);
    expect(await page.getByRole("main").getByRole("listitem").count()).toBe(2);
    await page.getByRole("button", { name: "Log out all other devices" }).click();
    expect(await page.getByRole("main").getByRole("listitem").count()).toBe(1);
    await elsewhere.goto(`${shop.url}/home`);
    expect(await heading(elsewhere)).toBe("Log in");
    await page.goto(`${shop.url}/home`);
    expect(await heading(page)).toBe(`Hello, ${name}`);
  });

  test("a second click after the page has changed neither ends another login nor revokes another token", async () => {
    const page = await (await visitor()).newPage();
    await register(page, shop, "Gil", "stones and mortar");
    for (let count = 0; count < 3; count++) {
      await logIn(await (await visitor()).newPage(), shop, "Gil", "stones and mortar");
    }
    await page.goto(linkIn(await shop.mail.next("gil@example.com", /verif/i)));
    await page.goto(`${shop.url}/account/tokens`);
    await page.getByLabel("Password", { exact: true }).fill("stones and mortar");
    await page.getByRole("main").getByRole("button").click();
    for (const name of ["first", "second", "third"]) {
      await page.getByLabel("Name").fill(name);
      await page.getByLabel("orders.read").check();
      await page.getByRole("button", { name: "Create token" }).click();
    }
    for (const path of ["/account/tokens", "/logins"]) {
      await page.goto(`${shop.url}${path}`);
      const rows = page.locator(".rows > li");
      const before = await rows.count();
      expect(before).toBeGreaterThan(2);
      const row = rows.nth(path === "/logins" ? 1 : 0);
      await row.locator("summary").dblclick();
      expect(await rows.count()).toBe(before);
      if ((await row.locator("details").getAttribute("open")) === null) await row.locator("summary").click();
      const { x, y, width, height } = (await row.getByRole("button").boundingBox())!;
      const place = [x + width / 2, y + height / 2] as const;
      await Promise.all([page.waitForEvent("load"), page.mouse.click(...place)]);
      expect(await rows.count()).toBe(before - 1);
      await page.mouse.click(...place);
      await page.reload();
      expect(await rows.count(), path).toBe(before - 1);
    }
  });

  test("with longer sentences, the device list's buttons stay beside them, or below them on a phone", async () => {
    const page = await (await visitor()).newPage();
    await page.setExtraHTTPHeaders({ "X-Forwarded-For": "2001:db8:85a3:8d3:1319:8a2e:370:7348" });
    await register(page, shop, "Hanna", "stones and mortar");
    await page.setExtraHTTPHeaders({ "Accept-Language": "de" });
    await page.goto(`${shop.url}/logins`);
    expect(await heading(page)).toBe("Ihre Geräte");
    const device = page.getByRole("main").getByRole("listitem");
    const place = async (width: number): Promise<string> => {
      await page.setViewportSize({ width, height: 860 });
      const [text, button] = await Promise.all([
        device.locator("div").boundingBox(),
        device.locator("summary").boundingBox(),
      ]);
      if (button!.y >= text!.y + text!.height) return "below";
      return button!.x >= text!.x + text!.width ? "beside" : "over";
    };
    expect([await place(1280), await place(390)]).toEqual(["beside", "below"]);
    if (PICTURES) {
      await page.setViewportSize({ width: 1280, height: 860 });
      await mkdir(PICTURES, { recursive: true });
      await page.screenshot({ path: join(PICTURES, "logins-german.png") });
    }
  });

  test("S33 only the client that guesses passwords is stopped", async () => {
    const page = await (await visitor()).newPage();
    await register(page, shop, "Bob", "a dry stone wall");
    await page.getByRole("button", { name: "Log out" }).click();
    let status: number | undefined;
    for (let attempt = 0; attempt < 7 && status !== 429; attempt++) {
      const answered = page.waitForResponse((response) => response.request().method() === "POST");
      await logIn(page, shop, "Bob", "a guess");
      status = (await answered).status();
    }
    expect(status).toBe(429);
    expect(await page.getByRole("main").textContent()).toContain("Too many attempts");
    await register(page, shop, "Carol", "cut true to fit");
    expect(await heading(page)).toBe("Verify your address");
  });

  test("S24 two visitors in one browser never see each other's account", async () => {
    const [ada, bob] = [await (await visitor()).newPage(), await (await visitor()).newPage()];
    await Promise.all([
      register(ada, shop, "Edith", "stones and mortar"),
      register(bob, shop, "Emil", "a dry stone wall"),
    ]);
    for (let round = 0; round < 10; round++) {
      await Promise.all([ada.goto(`${shop.url}/home`), bob.goto(`${shop.url}/home`)]);
      expect([await heading(ada), await heading(bob)]).toEqual(["Hello, Edith", "Hello, Emil"]);
    }
    const [adas, bobs] = await Promise.all([ada.context().cookies(), bob.context().cookies()]);
    // Applications on this machine distinguish their cookies by the port.
    const own = `token~${new URL(shop.url).port}`;
    const tokens = [adas, bobs].map((cookies) => cookies.find(({ name }) => name === own));
    expect(tokens[0]?.value).toEqual(expect.any(String));
    expect(tokens[0]?.value).not.toBe(tokens[1]?.value);
    expect(tokens[0]).toMatchObject({ httpOnly: true, sameSite: "Lax", path: "/" });
  });

  test("every page is accessible and loads nothing from elsewhere, in light and dark, on phone and desktop", async () => {
    const context = await visitor();
    const page = await context.newPage();
    const foreign: string[] = [];
    const complaints: string[] = [];
    page.on("request", (request) => {
      if (!request.url().startsWith(shop.url)) foreign.push(request.url());
    });
    page.on("console", (message) => {
      if (message.type() === "error" && /Content.Security.Policy/i.test(message.text()))
        complaints.push(message.text());
    });

    const look = async (name: string): Promise<void> => {
      await page.evaluate(`${AXE}; 0`);
      // Colors don't depend on the width, or the layout on colors, so each is checked once.
      for (const [colorScheme, device, width] of [
        ["light", "phone", 390],
        ["dark", "desktop", 1280],
      ] as const) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height: 860 });
        // Passed checks, which are most of the result, stay in the page.
        const found = await page.evaluate<string[]>(
          `axe.run(document, { resultTypes: ["violations"], runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] })
            .then(({ violations }) => violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html).join(" ")))`,
        );
        expect(found, `${name}, ${colorScheme}, ${device}`).toEqual([]);
        const overflow = await page.evaluate(
          "document.documentElement.scrollWidth - document.documentElement.clientWidth",
        );
        expect(overflow, `${name} is wider than the ${device}`).toBe(0);
        if (PICTURES) {
          await mkdir(PICTURES, { recursive: true });
          await page.screenshot({ path: join(PICTURES, `${name}-${colorScheme}-${device}.png`), fullPage: true });
        }
      }
    };

    for (const path of ["/", "/login", "/register", "/change_password", "/logout", "/nowhere"]) {
      await page.goto(`${shop.url}${path}`);
      await look(path === "/" ? "welcome" : path.slice(1));
    }
    await page.goto(`${shop.url}/register`);
    await page.getByLabel("Name").fill("Fay");
    await page.getByLabel("Email address").fill("fay@example.com");
    await page.getByLabel("Password", { exact: true }).fill("short");
    await page.getByLabel("Confirm password").fill("other");
    await page.getByRole("main").getByRole("button", { name: "Register" }).click();
    await look("register-problems");

    await register(page, shop, "Fay", "stones and mortar");
    await look("email-verify-notice");
    const verification = linkIn(await shop.mail.next("fay@example.com", /verif/i));
    for (const path of [
      "/home",
      "/logins",
      "/account/security",
      "/confirm_password",
      "/account/password",
      "/account/email",
    ]) {
      await page.goto(`${shop.url}${path}`);
      await look(path.slice(1).replaceAll("/", "-"));
    }
    await page.goto(verification);
    await page.goto(`${shop.url}/account/tokens`);
    // A registration proves no password.
    expect(new URL(page.url()).pathname).toBe("/confirm_password");
    await page.getByLabel("Password", { exact: true }).fill("stones and mortar");
    await page.getByRole("main").getByRole("button").click();
    await page.getByLabel("Name").fill("nightly backup");
    await page.getByRole("button", { name: "Create token" }).click();
    await look("account-tokens-problems");
    await page.getByLabel("Name").fill("nightly backup");
    await page.getByLabel("orders.read").check();
    await page.getByRole("button", { name: "Create token" }).click();
    await look("account-tokens-created");
    const shown = await page.getByRole("status").textContent();
    expect(shown).toMatch(/ash_[0-9A-Za-z]{36}/);
    await page.reload();
    expect(await page.getByRole("status").textContent()).toContain("already created a token");
    await look("account-tokens");
    await page.locator("summary").click();
    await look("account-tokens-revoke");
    await page.getByRole("button", { name: "Revoke" }).click();
    expect(await page.getByRole("status").textContent()).toBe("The token has been revoked.");
    await logIn(await (await visitor()).newPage(), shop, "Fay", "stones and mortar");
    await page.goto(`${shop.url}/logins`);
    await page.getByText("This also revokes your personal tokens.").waitFor();
    await look("logins-others");
    await page.getByRole("button", { name: "Log out all other devices" }).click();
    await page.getByText("Your personal tokens have been revoked.").waitFor();
    await look("logins-others-ended");
    await page.goto(`${shop.url}/home`);
    await page.getByRole("button", { name: "Log out" }).click();
    await page.goto(`${shop.url}/change_password`);
    await page.getByLabel("Email address").fill("fay@example.com");
    await page.getByRole("button", { name: "Send link" }).click();
    await look("change_password-sent");
    await page.goto(linkIn(await shop.mail.next("fay@example.com", /password/i)));
    await look("password_reset");
    for (let attempt = 1; attempt <= 6; attempt++) await logIn(page, shop, "Fay", "not her password");
    await look("login-throttled");

    expect(foreign).toEqual([]);
    expect(complaints).toEqual([]);
  });
});
