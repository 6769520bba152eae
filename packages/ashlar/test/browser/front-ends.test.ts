// The example front ends, built as their README says, on a different origin than the application.
import { once } from "node:events";
import { cp, mkdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, onTestFailed, onTestFinished, test } from "vitest";
import { inBrowser, startBrowser } from "../support/chromium.ts";
import { ashlar } from "../support/command-line.ts";
import {
  execute,
  freePort,
  generateApplication,
  generatedApplication,
  startServing,
} from "../support/generated-application.ts";
import { serveFolder } from "../support/static-site.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const EXAMPLES = join(import.meta.dirname, "../../../../examples");
const VITE = join(EXAMPLES, "../node_modules/vite/bin/vite.js");
const AXE = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/** The folder for screenshots, for inspection; without it, none are taken. */
const PICTURES = process.env.ASHLAR_SCREENSHOTS;

const EMAIL = "ada@example.com";
const PASSWORD = "a password of hers";
const OTHER = "another password altogether";

/** Builds an example for an application at this address. */
async function build(name: string, api: string, folder: string): Promise<void> {
  const args = [VITE, "build", "--outDir", folder, "--emptyOutDir", "--logLevel", "warn"];
  const { code, output } = await execute(join(EXAMPLES, name), process.execPath, args, { VITE_API_URL: api });
  expect(code, output).toBe(0);
}

/** Serves an application with the routes that the front ends need, in development, with its mailbox. */
async function startApi(port: number, origin: string): Promise<void> {
  const { root, remove } = await generateApplication({ pages: false, json: true });
  const end = { process: async () => {} };
  onTestFinished(async () => {
    await end.process();
    await remove();
  });
  await cp(join(EXAMPLES, "front-end-api/routes"), join(root, "routes"), { recursive: true });
  await ashlar(root, "migrate");
  const { child, output } = await startServing(root, {
    PORT: String(port),
    APP_URL: `http://localhost:${port}`,
    TRUSTED_ORIGINS: origin,
    FRONTEND_URL: origin,
  });
  end.process = async () => {
    const closed = once(child, "close");
    child.kill("SIGKILL");
    await closed;
  };
  onTestFailed(() => console.log(output()));
}

test("the example adds routes to those of a new application", async () => {
  const root = await generatedApplication({ pages: false, json: true });
  const routes = async (file: string): Promise<string[]> =>
    (await readFile(file, "utf8")).split("\n").filter((line) => /^ {2}\.\.\./.test(line));
  const generated = await routes(join(root, "routes/web.ts"));
  expect(generated).toHaveLength(3);
  expect(await routes(join(EXAMPLES, "front-end-api/routes/web.ts"))).toEqual(generated);
});

test("the README's line checks the types of the example with React", async () => {
  const [, line = ""] = /^(node node_modules\/typescript\S* .+)$/m.exec(
    await readFile(join(EXAMPLES, "README.md"), "utf8"),
  )!;
  const check = await execute(join(EXAMPLES, ".."), process.execPath, line.split(" ").slice(1));
  expect(check).toEqual({ code: 0, output: "" });
});

inBrowser("the examples of front ends, in a browser", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await startBrowser();
  });
  afterAll(() => browser?.close());

  test.each(["react", "vue"])("S106 S107 with %s, someone registers, verifies, edits, and logs out", async (name) => {
    const folder = await temporaryFolder();
    const port = await freePort();
    const api = `http://localhost:${port}`;
    const site = await serveFolder(folder, "index.html");
    onTestFinished(() => site.close());
    const origin = site.url.replace("127.0.0.1", "localhost");
    await Promise.all([build(name, api, folder), startApi(port, origin)]);

    const context = await browser.newContext();
    onTestFinished(() => context.close());
    context.setDefaultTimeout(60_000);
    const page = await context.newPage();
    const failures: string[] = [];
    page.on("pageerror", (error) => failures.push(String(error)));
    const look = (title: string) => inspect(page, `${name}-${title}`);
    const fill = async (fields: Readonly<Record<string, string>>, action: string) => {
      for (const [label, value] of Object.entries(fields)) await page.getByLabel(label, { exact: true }).fill(value);
      await page.getByRole("button", { name: action, exact: true }).click();
    };
    const shows = (text: string) => page.getByText(text).first().waitFor();
    /**
     * Waits until this many mails have a link like this, and returns the newest one's. They are sent after the
     * responses.
     */
    const mailed = async (pattern: RegExp, count: number): Promise<string> => {
      const links = async (): Promise<string[]> => {
        const mails = (await (await fetch(`${api}/dev/mailbox.json`)).json()) as { text: string }[];
        return mails.flatMap(({ text }) => pattern.exec(text)?.[0] ?? []);
      };
      await expect.poll(links).toHaveLength(count);
      return (await links())[0]!;
    };

    await page.goto(origin);
    await look("login");
    await fill({ "Email address": EMAIL, Password: PASSWORD }, "Log in");
    await shows("Incorrect email address or password.");
    expect(await page.getByLabel("Email address").getAttribute("aria-invalid")).toBe("true");
    await look("login-refused");

    await page.getByRole("link", { name: "Create an account" }).click();
    await look("register");
    await fill({ Name: "Ada", "Email address": EMAIL, Password: "short" }, "Create account");
    await page.getByLabel("Password", { exact: true }).and(page.locator("[aria-invalid=true]")).waitFor();
    await look("register-refused");
    await fill({ Password: PASSWORD }, "Create account");
    await shows("Hello, Ada");
    await look("unverified");
    expect(await page.getByLabel("Name").count()).toBe(0);
    // A logged-in user isn't asked to register or log in.
    for (const entry of ["/register", "/login"]) {
      await page.goto(`${origin}${entry}`);
      await shows("Hello, Ada");
      expect(await page.getByLabel("Email address").count()).toBe(0);
    }
    await fill({}, "Send another mail");
    await page.getByRole("status").waitFor();

    // The development mailbox shows the mail, and its link leads to the front end.
    const link = await mailed(/http:\S+\/email\/verify\/\S+/, 2);
    expect(new URL(link).origin).toBe(origin);
    await page.goto(link);
    await look("verify");
    await fill({}, "Verify");
    await shows("Your email address is verified.");
    await look("verified");
    await page.getByRole("link", { name: "Continue" }).click();

    await fill({ Name: " " }, "Save");
    await shows("Use 1 to 100 characters.");
    await fill({ Name: "Ada Lovelace" }, "Save");
    await shows("Your name has been saved.");
    await shows("Hello, Ada Lovelace");
    await fill(
      { "Current password": PASSWORD, "New password": OTHER, "New password, again": `${OTHER}!` },
      "Change password",
    );
    await shows("The passwords do not match.");
    const passwords = { "Current password": PASSWORD, "New password": OTHER, "New password, again": OTHER };
    await fill(passwords, "Change password");
    await shows("Your password has been changed");
    await look("account");

    await fill({}, "Log out");
    await shows("Create an account");
    await page.goBack();
    await shows("Create an account");
    await page.goto(origin);
    await fill({ "Email address": EMAIL, Password: OTHER }, "Log in");
    await shows("Hello, Ada Lovelace");
    // A forgotten password: the page says what happened, and after a used link offers a new one.
    await fill({}, "Log out");
    await page.getByRole("link", { name: "Forgot your password?" }).click();
    await fill({ "Email address": EMAIL }, "Send the link");
    await page.getByRole("status").waitFor();
    const resetLink = await mailed(/http:\S+\/password_reset\?\S+/, 1);
    const forgotten = { "New password": PASSWORD, "New password, again": PASSWORD };
    const dead = "This link has expired, was already used, or was replaced by a newer one.";
    const late = await context.newPage();
    await late.goto(resetLink);
    await page.goto(resetLink);
    await page.getByLabel("New password", { exact: true }).waitFor();
    await look("reset-form");
    await fill(forgotten, "Set password");
    await shows("Your password has been reset. Log in with the new one.");
    await look("reset");
    // With the same password, it would count as the same form sent twice.
    for (const label of Object.keys(forgotten)) await late.getByLabel(label, { exact: true }).fill(`${PASSWORD}!`);
    await late.getByRole("button", { name: "Set password" }).click();
    await late.getByText(dead).waitFor();
    await late.close();
    // The page of a dead link doesn't ask for a password.
    await page.goto(resetLink);
    await shows(dead);
    expect(await page.getByLabel("New password").count()).toBe(0);
    await look("reset-refused");
    expect(await page.getByRole("link", { name: "Send another link" }).getAttribute("href")).toBe("/change_password");
    await page.goto(`${origin}/login`);
    await fill({ "Email address": EMAIL, Password: PASSWORD }, "Log in");
    await shows("Hello, Ada Lovelace");
    // Scripts can't read the cookies.
    expect(await page.evaluate("document.cookie")).toBe("");

    // A login that has ended elsewhere.
    await context.clearCookies();
    await fill({ Name: "Mallory" }, "Save");
    await page.getByRole("heading", { name: "Log in" }).waitFor();
    expect(failures).toEqual([]);
  });
});

/** Checks that a page is accessible, and not wider than a phone. */
async function inspect(page: Page, title: string): Promise<void> {
  await page.locator("h1").waitFor();
  await page.evaluate(AXE);
  for (const [width, scheme] of [[1000, "light"] as const, [360, "dark"] as const]) {
    await page.setViewportSize({ width, height: 800 });
    await page.emulateMedia({ colorScheme: scheme });
    const found = await page.evaluate<string[]>(
      `axe.run(document, { resultTypes: ["violations"] })
        .then(({ violations }) => violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html).join(" ")))`,
    );
    expect([title, scheme, found]).toEqual([title, scheme, []]);
    expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBeLessThanOrEqual(0);
    if (PICTURES === undefined) continue;
    await mkdir(PICTURES, { recursive: true });
    await page.screenshot({ path: join(PICTURES, `${title}-${scheme}.png`), fullPage: true });
  }
}
