import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { ashlar } from "../support/command-line.ts";
import { type OpenProxy, openProxy } from "../support/deployed-proxies.ts";
import { freePort } from "../support/free-port.ts";
import { edit } from "../support/generated-application.ts";
import { inEachBrowser } from "../support/real-browsers.ts";
import { PASSWORD, PlacedShop } from "./placed-shop.ts";
import { Recorder } from "./recorder.ts";
import { type ShopSource, shopSource } from "./shop-source.ts";

/** The folder for a screenshot of the last page of every walk; without it, none are taken. */
const PICTURES = process.env.ASHLAR_SCREENSHOTS;
const NEW_PASSWORD = "a dry stone wall";
const SUBDOMAIN = "app.shop.example";
const CHECKOUT = "https://checkout.elsewhere.test";
const PLACES = { "on an intranet name": "http://intranet", "behind nginx": `https://${SUBDOMAIN}` } as const;
type PlaceName = keyof typeof PLACES;

let source: ShopSource;
/** Another site. */
let checkout: Recorder;
let proxy: OpenProxy;
const shops = new Map<string, PlacedShop>();
const ports = { 80: 0, 443: 0 };

/** Runs the application behind the generated file for nginx, which listens on a subdomain. */
async function openBehindNginx(): Promise<void> {
  const root = await source.copy();
  const port = await freePort(1);
  await edit(root, ".env", ["PORT=3000", `PORT=${port}`]);
  expect(await ashlar(root, "make:deploy", "nginx", `--domain=${SUBDOMAIN}`)).toMatchObject({ code: 0 });
  proxy = await openProxy("nginx", await readFile(join(root, "deploy/nginx.conf"), "utf8"), SUBDOMAIN);
  shops.set("behind nginx", await PlacedShop.open(root, PLACES["behind nginx"], port));
  ports[443] = proxy.secure;
}

async function openOnIntranet(): Promise<void> {
  const shop = await PlacedShop.open(await source.copy(), PLACES["on an intranet name"]);
  shops.set("on an intranet name", shop);
  ports[80] = shop.port;
}

beforeAll(async () => {
  checkout = await Recorder.start();
  source = await shopSource(`${checkout.at(CHECKOUT)}/sent/payment`);
  await openBehindNginx();
  await openOnIntranet();
});
afterAll(async () => {
  proxy?.end();
  checkout?.close();
  for (const shop of shops.values()) await shop.end();
  await source?.remove();
});

inEachBrowser((name, start) => {
  let browser: Browser;
  let context: BrowserContext;
  beforeAll(async () => {
    browser = await start(["intranet", SUBDOMAIN, new URL(CHECKOUT).hostname], ports);
  });
  afterAll(() => browser?.close());
  afterEach(async ({ task }) => {
    const page = context.pages().at(-1);
    if (PICTURES && page !== undefined) {
      await mkdir(PICTURES, { recursive: true });
      const file = `${name}-${task.suite?.name}-${task.name}`.replaceAll(/\W+/g, "-");
      await page.screenshot({ path: join(PICTURES, `${file}.png`) });
    }
    await context.close();
  });

  describe.each(Object.entries(PLACES) as [PlaceName, string][])("%s", (place, origin) => {
    let page: Page;
    let shop: PlacedShop;

    async function open(path: string): Promise<void> {
      shop = shops.get(place)!;
      context = await browser.newContext({ ignoreHTTPSErrors: true });
      context.setDefaultTimeout(60_000);
      page = await context.newPage();
      await page.goto(`${origin}${path}`);
    }

    const press = (button: string): Promise<void> =>
      page.getByRole("main").getByRole("button", { name: button }).click();
    const arrives = (path: string): Promise<void> => page.waitForURL(`${origin}${path}`);

    async function fill(filling: Readonly<Record<string, string>>): Promise<void> {
      for (const [label, text] of Object.entries(filling)) await page.getByLabel(label, { exact: true }).fill(text);
    }

    async function register(email: string): Promise<void> {
      await page.goto(`${origin}/register`);
      await fill({ Name: "Ada", "Email address": email, Password: PASSWORD, "Confirm password": PASSWORD });
      await press("Register");
      await arrives("/email/verify/notice");
    }

    async function logIn(email: string, password = PASSWORD): Promise<void> {
      await fill({ "Email address": email, Password: password });
      await press("Log in");
    }

    async function logOut(): Promise<void> {
      await page.getByRole("button", { name: "Log out" }).click();
      await arrives("/login");
    }

    test("S130 a visitor registers, verifies the address, and logs in", async () => {
      await open("/");
      const email = shop.newAddress();
      await register(email);
      await page.goto(await shop.mailed(email, "/email/verify/"));
      await arrives("/home");
      await logOut();
      await logIn(email);
      await arrives("/home");
      await page.getByRole("heading", { name: "Hello, Ada" }).waitFor();
    });

    test("S130 a login leads back to where the user was going, regardless of an open page's requests", async () => {
      await open("/");
      const email = shop.newAddress();
      await register(email);
      await logOut();
      // Its image, its script and its prefetches want what is behind the login, again and again.
      const board = page;
      await board.goto(`${origin}/board`);
      const polled = () => board.waitForResponse((response) => response.url().startsWith(`${origin}/orders?by=poll`));
      await polled();
      page = await context.newPage();
      await page.goto(`${origin}/account/email`);
      await arrives("/login");
      await polled();
      await polled();
      await logIn(email);
      await arrives("/account/email");
    });

    test("S130 prefetching the logout or protected pages ends nothing", async () => {
      await open("/");
      await register(shop.newAddress());
      await page.goto(`${origin}/board`);
      await page.waitForResponse((response) => response.url().startsWith(`${origin}/orders?by=poll`));
      await page.goto(`${origin}/home`);
      await page.getByRole("heading", { name: "Hello, Ada" }).waitFor();
    });

    test("S130 a visitor resets a forgotten password", async () => {
      await open("/");
      const email = shop.newAddress();
      await register(email);
      await logOut();
      await page.getByRole("link", { name: "Forgot your password?" }).click();
      await arrives("/change_password");
      await fill({ "Email address": email });
      await press("Send link");
      await page.getByRole("status").waitFor();
      await page.goto(await shop.mailed(email, "/password_reset"));
      await fill({ "New password": NEW_PASSWORD, "Confirm new password": NEW_PASSWORD });
      await press("Set password");
      await arrives("/login");
      await logIn(email, NEW_PASSWORD);
      await arrives("/home");
    });

    test("S130 a form leads to another site", async () => {
      await open("/basket");
      await press("Pay");
      await page.waitForURL(`${checkout.at(CHECKOUT)}/sent/payment`);
      expect((await checkout.next("/sent/payment")).method).toBe("GET");
    });

    test("S130 a refused form keeps the typed text, however long", async () => {
      await open("/");
      await register(shop.newAddress());
      await page.goto(`${origin}/notes`);
      const text = "Every stone has its place. ".repeat(1000);
      await fill({ Text: text });
      await press("Save");
      await page.getByRole("alert").waitFor();
      const kept = await page.getByLabel("Text").inputValue();
      expect([kept.length, kept === text]).toEqual([text.length, true]);
    });

    test("S130 after a logout, going back, going forward and reloading never show the account", async () => {
      await open("/");
      const email = shop.newAddress();
      await register(email);
      await page.goto(`${origin}/account/email`);
      expect(await page.getByRole("main").textContent()).toContain(email);
      await logOut();
      await page.evaluate("history.back()");
      await page.getByRole("heading", { name: "Log in" }).waitFor();
      await page.reload();
      await page.getByRole("heading", { name: "Log in" }).waitFor();
      // The page before does not need a login, but showed whose account it was.
      await page.evaluate("history.back()");
      await page.getByRole("heading", { name: "Verify your address" }).waitFor();
      expect(await page.content()).not.toContain(email);
      await page.evaluate("history.forward()");
      await page.getByRole("heading", { name: "Log in" }).waitFor();
    });

    test("S26 logging out on an expired page leads back to that page, and works there", async () => {
      await open("/");
      await register(shop.newAddress());
      await page.evaluate("for (const field of document.querySelectorAll('[name=__token]')) field.value = 'stale'");
      await page.getByRole("button", { name: "Log out" }).click();
      await page.getByRole("heading", { name: "This form was not accepted" }).waitFor();
      await page.getByRole("link", { name: "Back to the page" }).click();
      await arrives("/email/verify/notice");
      await logOut();
    });

    test("the logout button stays readable under the pointer", async () => {
      await open("/");
      await register(shop.newAddress());
      await page.getByRole("button", { name: "Log out" }).hover();
      const background = "getComputedStyle(document.querySelector('header button:hover')).backgroundColor";
      expect(await page.evaluate(background)).toBe("rgba(0, 0, 0, 0)");
    });

    describe("a double click leads where one click does", () => {
      const pressTwice = (button: string): Promise<void> =>
        page.getByRole("main").getByRole("button", { name: button }).dblclick();

      test("S130 on a registration, creates one account and mails once", async () => {
        await open("/register");
        const email = shop.newAddress();
        await fill({ Name: "Ada", "Email address": email, Password: PASSWORD, "Confirm password": PASSWORD });
        await pressTwice("Register");
        await arrives("/email/verify/notice");
        await page.getByRole("heading", { name: "Verify your address" }).waitFor();
        expect(await page.getByRole("main").textContent()).toContain(email);
        await page.goto(await shop.mailed(email, "/email/verify/"));
        await arrives("/home");
        await page.getByRole("heading", { name: "Hello, Ada" }).waitFor();
        expect([await shop.accountsOf(email), await shop.subjectsTo(email)]).toEqual([
          1,
          ["Verify your email address"],
        ]);
      });

      test("S130 of a login", async () => {
        await open("/");
        const email = shop.newAddress();
        await register(email);
        await logOut();
        await fill({ "Email address": email, Password: PASSWORD });
        await pressTwice("Log in");
        await arrives("/home");
        await page.getByRole("heading", { name: "Hello, Ada" }).waitFor();
      });

      test("S130 of a logout", async () => {
        await open("/");
        const email = shop.newAddress();
        await register(email);
        await page.getByRole("button", { name: "Log out" }).dblclick();
        await arrives("/login");
        await logIn(email);
        await arrives("/home");
      });

      test("S130 of a new password", async () => {
        await open("/");
        const email = shop.newAddress();
        await register(email);
        await logOut();
        await page.goto(`${origin}/change_password`);
        await fill({ "Email address": email });
        await pressTwice("Send link");
        await page.getByRole("status").waitFor();
        await page.goto(await shop.mailed(email, "/password_reset"));
        await fill({ "New password": NEW_PASSWORD, "Confirm new password": NEW_PASSWORD });
        await pressTwice("Set password");
        await arrives("/login");
        await page.getByRole("status").waitFor();
        await logIn(email, NEW_PASSWORD);
        await arrives("/home");
      });
    });
  });
});
