import { mkdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { type BrowserShop, openBrowserShop } from "../support/browser-shop.ts";
import { inBrowser, startBrowser } from "../support/chromium.ts";
import { ashlar } from "../support/command-line.ts";
import { edit } from "../support/generated-application.ts";
import { linkIn, type ReceivedMail } from "../support/mail-server.ts";

/** The folder for screenshots of every page, for inspection; without it, none are taken. */
const PICTURES = process.env.ASHLAR_SCREENSHOTS;
const AXE = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** A new application with logins by mail, which make accounts. */
const openShop = () =>
  openBrowserShop(async (root) => {
    expect((await ashlar(root, "auth", "--login-links")).errors).toBe("");
    await edit(root, "config/login-links.ts", ["registers: false", "registers: true"]);
  });

function codeIn({ source }: ReceivedMail): string {
  return /^[A-Z]{4}-[A-Z]{4}\r?$/m.exec(source)?.[0].trim() ?? expect.fail(`There is no code in the mail:\n${source}`);
}

inBrowser("logins by mail, in a browser", () => {
  let browser: Browser;
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
    expect(shop.end()).toBe(null);
  });

  async function visitor(options: Parameters<Browser["newContext"]>[0] = {}): Promise<BrowserContext> {
    const context = await browser.newContext(options);
    context.setDefaultTimeout(60_000);
    return context;
  }

  /** Asks for a mail, from the login page on. */
  async function ask(page: Page, email: string): Promise<void> {
    await page.goto(`${shop.url}/login`);
    await page.getByRole("link", { name: "Log in by email" }).click();
    await page.getByLabel("Email address").fill(email);
    await page.getByRole("button", { name: "Send email" }).click();
    await page.waitForURL(`${shop.url}/login/mail/code`);
  }

  /** Makes an account by a mailed link. */
  async function register(page: Page, name: string, email: string): Promise<void> {
    await ask(page, email);
    await page.goto(linkIn(await shop.mail.next(email, /create your account/i)));
    await page.getByLabel("Name").fill(name);
    await page.getByRole("button", { name: "Create your account" }).click();
    await page.waitForURL(`${shop.url}/home`);
  }

  async function logOut(page: Page): Promise<void> {
    await page.getByRole("button", { name: "Log out" }).click();
    await page.waitForURL(`${shop.url}/login`);
  }

  test("makes an account, logs in with the code, with the link, and elsewhere with both", async () => {
    const page = await (await visitor()).newPage();
    const email = "ada@example.com";
    await register(page, "Ada", email);
    await logOut(page);
    await ask(page, email);
    await page.getByLabel("Code from the email").fill(codeIn(await shop.mail.next(email, /log in to your account/i)));
    await page.getByRole("main").getByRole("button", { name: "Log in" }).click();
    await page.getByRole("heading", { name: "Hello, Ada" }).waitFor();
    await logOut(page);
    await ask(page, email);
    const here = await shop.mail.next(email, /log in to your account/i);
    await page.goto(linkIn(here));
    expect(await page.getByLabel("Code from the email").count()).toBe(0);
    await page.getByRole("main").getByRole("button", { name: "Log in" }).click();
    await page.getByRole("heading", { name: "Hello, Ada" }).waitFor();
    await logOut(page);
    await ask(page, email);
    const mail = await shop.mail.next(email, /log in to your account/i);
    const phone = await (await visitor()).newPage();
    await phone.goto(linkIn(mail));
    await phone.getByText("You asked for this email in another browser.").waitFor();
    await phone.getByLabel("Code from the email").fill("WDJB-MJHT");
    await phone.getByRole("main").getByRole("button", { name: "Log in" }).click();
    await phone.getByRole("link", { name: /^This code is not right/ }).waitFor();
    await phone.getByLabel("Code from the email").fill(codeIn(mail).toLowerCase());
    await phone.getByRole("main").getByRole("button", { name: "Log in" }).click();
    await phone.getByRole("heading", { name: "Hello, Ada" }).waitFor();
    expect(await page.goto(`${shop.url}/home`).then(() => page.url())).toBe(`${shop.url}/login`);
  });

  test("a user without a password confirms by mail, and sets one", async () => {
    const page = await (await visitor()).newPage();
    const email = "hedy@example.com";
    await register(page, "Hedy", email);
    await page.goto(`${shop.url}/confirm_mail`);
    await page.getByRole("button", { name: "Send code" }).click();
    await page.getByLabel("Code from the email").fill(codeIn(await shop.mail.next(email, /your code/i)));
    await page.getByRole("button", { name: "Confirm", exact: true }).click();
    await page.waitForURL(`${shop.url}/home`);
    await page.goto(`${shop.url}/account/password`);
    await page.getByLabel("New password", { exact: true }).fill("stones and mortar");
    await page.getByLabel("Confirm new password").fill("stones and mortar");
    await page.getByRole("main").getByRole("button", { name: "Change password" }).click();
    await page.waitForURL(`${shop.url}/home`);
  });

  test.for([
    ["phone", { width: 390, height: 780 }],
    ["desktop", { width: 1120, height: 700 }],
  ] as const)("the pages and the mail can be used by everyone: %s", async ([size, viewport]) => {
    for (const colorScheme of ["light", "dark"] as const) {
      const page = await (await visitor({ viewport, colorScheme })).newPage();
      const look = async (name: string, shown = page): Promise<void> => {
        await shown.evaluate(AXE);
        // A mail has no landmarks: the page of the mailbox has them.
        const options =
          shown === page ? "" : '{ rules: { "landmark-one-main": { enabled: false }, region: { enabled: false } } }';
        const { violations } = (await shown.evaluate(`axe.run(${options})`)) as { violations: readonly object[] };
        expect(violations).toEqual([]);
        if (PICTURES === undefined) return;
        await mkdir(PICTURES, { recursive: true });
        await shown.screenshot({ path: join(PICTURES, `${name}-${size}-${colorScheme}.png`), fullPage: true });
      };
      const email = `ida-${size}-${colorScheme}@example.com`;
      await page.goto(`${shop.url}/login`);
      await look("login");
      await page.goto(`${shop.url}/login/mail`);
      await look("login-mail");
      await ask(page, email);
      await look("login-mail-code");
      await page.goto(linkIn(await shop.mail.next(email, /create your account/i)));
      await look("register-mail");
      await page.getByLabel("Name").fill("Ida");
      await page.getByRole("button", { name: "Create your account" }).click();
      await page.waitForURL(`${shop.url}/home`);
      await page.goto(`${shop.url}/confirm_mail`);
      await look("confirm-mail");
      await page.getByRole("button", { name: "Send code" }).click();
      await page.getByLabel("Code from the email").waitFor();
      await look("confirm-mail-sent");
      await page.goto(`${shop.url}/home`);
      await logOut(page);
      await ask(page, email);
      const mail = await shop.mail.next(email, /log in to your account/i);
      await page.getByLabel("Code from the email").fill("WDJB-MJHT");
      await page.getByRole("main").getByRole("button", { name: "Log in" }).click();
      await page.getByRole("link", { name: /^This code is not right/ }).waitFor();
      await look("login-mail-wrong");
      await page.goto(linkIn(mail));
      await look("login-mail-link");
      const other = await (await visitor({ viewport, colorScheme, locale: "de-DE" })).newPage();
      await other.goto(linkIn(mail));
      await other.getByText("Sie haben diese E-Mail in einem anderen Browser angefordert.").waitFor();
      await look("login-mail-elsewhere-german", other);
      const letter = await (await visitor({ viewport, colorScheme })).newPage();
      await letter.setContent(htmlOf(mail));
      await look("mail", letter);
    }
  });
});

/** The HTML part of a mail, with its encoding undone. */
function htmlOf({ source }: ReceivedMail): string {
  const part = source.slice(source.indexOf("<!doctype html>"));
  return part
    .slice(0, part.indexOf("</html>") + 7)
    .replaceAll(/=\r\n/g, "")
    .replaceAll(/(?:=[0-9A-F]{2})+/g, (text) => Buffer.from(text.replaceAll("=", ""), "hex").toString());
}
