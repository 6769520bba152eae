// Takes the manual's screenshots of a new application's pages: `npm run screenshots`, after `npm run build`. They
// are in docs/public/screenshots.
//
// `--all <folder>` takes pictures of every page there instead, in light and dark, for a phone and a desktop; with
// `--site <folder>`, of a built site as well. Look at them before you change a style.
import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import type { Application } from "ashlar";
import type { Browser, Page } from "playwright-core";
import { startBrowser } from "../packages/ashlar/test/support/browser-process.ts";
import { serveFolder } from "../packages/ashlar/test/support/static-site.ts";

const root = join(import.meta.dirname, "..");
const SCHEMES = ["light", "dark"] as const;
const SIZES = { phone: { width: 390, height: 780 }, desktop: { width: 1120, height: 700 } } as const;
type Size = keyof typeof SIZES;

/** The pages of a new application, in the order in which they are visited. */
const PAGES = {
  welcome: "/",
  register: "/register",
  login: "/login",
  home: "/home",
  devices: "/logins",
  security: "/account/security",
  mailbox: "/dev/mailbox",
  error: "/nowhere",
} as const;
type PageName = keyof typeof PAGES;
const FOR_GUESTS: readonly string[] = ["welcome", "register", "login"];

/** The screenshots in the manual. */
const SHOWN: readonly (readonly [PageName, Size])[] = [
  ["login", "desktop"],
  ["devices", "desktop"],
  ["mailbox", "desktop"],
];

/** The pages of the site that are worth a look. */
const SITE = {
  home: "/",
  guide: "/account-stores.html",
  reference: "/reference/",
  class: "/reference/api/ashlar/classes/HttpRequest.html",
  module: "/reference/api/ashlar/auth/",
  table: "/security.html",
  missing: "/nowhere.html",
} as const;

const account = { name: "Ada", email: "ada@example.com" };
const password = "stone on stone";
const { values } = parseArgs({ options: { all: { type: "string" }, site: { type: "string" } } });
const out = resolve(values.all ?? join(root, "docs/public/screenshots"));
const combinations = Object.keys(SIZES).flatMap((size) => SCHEMES.map((scheme) => [size as Size, scheme] as const));

/** A page as it looks on the given device. */
async function openPage(browser: Browser, size: Size, scheme: (typeof SCHEMES)[number]): Promise<Page> {
  const context = await browser.newContext({
    viewport: SIZES[size],
    colorScheme: scheme,
    deviceScaleFactor: 2,
    reducedMotion: "reduce",
    userAgent: "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
  });
  return await context.newPage();
}

async function take(page: Page, name: string, isWhole = false): Promise<void> {
  await page.screenshot({ path: join(out, `${name}.png`), fullPage: isWhole, animations: "disabled" });
}

/** A new application with an account, listening. */
async function openApplication(folder: string): Promise<{ readonly url: string; readonly application: Application }> {
  const command = join(root, "packages/create-ashlar/bin/create-ashlar.js");
  const shop = join(folder, "shop");
  const { status } = spawnSync(process.execPath, [command, shop, "--yes", "--no-install"], { stdio: "inherit" });
  if (status !== 0) throw new Error("The application could not be created.");
  const { default: application } = (await import(pathToFileURL(join(shop, "app.ts")).href)) as { default: Application };
  const { User } = await import(pathToFileURL(join(shop, "app/models/user.ts")).href);
  const user = new User().fill(account);
  await user.setPassword(password);
  await user.save();
  await user.markEmailAsVerified();
  const { url } = await application.listen({ port: 0, hostname: "127.0.0.1" });
  return { url: url.replace(/\/$/, ""), application };
}

async function picture(browser: Browser, url: string): Promise<void> {
  for (const [size, scheme] of combinations) {
    const wanted = Object.entries(PAGES).filter(
      ([name]) => values.all !== undefined || SHOWN.some(([page, at]) => page === name && at === size),
    );
    if (wanted.length === 0) continue;
    const page = await openPage(browser, size, scheme);
    let isLoggedIn = false;
    for (const [name, path] of wanted) {
      if (!isLoggedIn && !FOR_GUESTS.includes(name)) {
        await page.goto(`${url}/login`);
        await page.getByLabel("Email address").fill(account.email);
        await page.getByLabel("Password", { exact: true }).fill(password);
        await page.getByRole("main").getByRole("button", { name: "Log in" }).click();
        await page.waitForURL(`${url}/home`);
        isLoggedIn = true;
      }
      await page.goto(`${url}${path}`);
      await take(page, `${name}-${size}-${scheme}`);
    }
    await page.context().close();
  }
}

async function pictureSite(browser: Browser, folder: string): Promise<void> {
  const site = await serveFolder(resolve(folder));
  for (const [size, scheme] of combinations) {
    const page = await openPage(browser, size, scheme);
    for (const [name, path] of Object.entries(SITE)) {
      await page.goto(`${site.url}${path}`, { waitUntil: "networkidle" });
      await take(page, `site-${name}-${size}-${scheme}`, name === "home");
    }
    await page.context().close();
  }
  await site.close();
}

await mkdir(out, { recursive: true });
const browser = await startBrowser();
try {
  if (values.site !== undefined) {
    await pictureSite(browser, values.site);
  } else {
    // Inside the package, so that the application finds the framework by name.
    const folder = await mkdtemp(join(root, "packages/ashlar/.generated-"));
    try {
      const { url, application } = await openApplication(folder);
      await picture(browser, url);
      await application.shutdown();
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
} finally {
  await browser.close();
}
