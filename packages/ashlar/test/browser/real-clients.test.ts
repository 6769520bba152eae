import { mkdir, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { captureMail, linksIn } from "../../src/testing/index.ts";
import { bootApplication } from "../support/booted-application.ts";
import { inBrowser, startBrowser } from "../support/chromium.ts";
import { edit, freePort, generateApplication } from "../support/generated-application.ts";

/** The folder for screenshots, for inspection; without it, none are taken. */
const PICTURES = process.env.ASHLAR_SCREENSHOTS;
/** An intranet host over plain http, to which browsers don't send `Sec-Fetch-Site`. */
const HOST = "shop.intranet.example";
const PROVIDER = "provider.example";
const PASSWORD = "stones and mortar";

const page = (title: string, body: string): string =>
  `@component("layouts/sheet", { title: "${title}" })\n${body}\n@end\n`;

/** Requests by a page that is still open after its login has ended. */
const LOADS = `
  const load = (name) => new Promise((done) => {
    const element = document.createElement(name);
    element.onload = element.onerror = done;
    element.src = "/own/" + name;
    document.body.append(element);
  });
  const sent = [fetch("/own/data"), fetch("/own/page", { headers: { accept: "text/html", "x-requested-with": "XMLHttpRequest" } })];
  // Over plain http, a frame can't be distinguished from a page.
  const names = ["img", "script", ...(isSecureContext ? ["iframe"] : [])];
  Promise.allSettled([...sent, ...names.map(load)]).then(() => (document.title = "Loaded"));
`;

const VIEWS = {
  "../public/loads.js": LOADS,
  open: page("Open", '<script src="/loads.js"></script>'),
  story: page(
    "Story",
    `<form method="post" action="/stories">
  {{ csrf_field }}
  @!field({ name: "title", label: "Title" })
  <textarea name="story">{{ old("story") }}</textarea>
  <button>Save</button>
</form>`,
  ),
  orders: page("Orders", "<p>Orders</p>"),
  pay: page("Pay", `<form method="post" action="/pay">{{ csrf_field }}<button>Pay now</button></form>`),
};

const ROUTES = (provider: string): string => `
  Route.view("/open", "open"),
  Route.view("/orders", "orders").middleware("auth"),
  Route.get("/own/@what", () => "yours").middleware("auth"),
  Route.view("/stories/create", "story"),
  Route.post("/stories", () => Promise.reject(new ValidationError({ title: ["Choose another title."] }))),
  Route.view("/pay", "pay"),
  Route.post("/pay", ({ response }) => response.away("${provider}/checkout").status(303)),
`;

/** Another site, whose pages show the requested path. */
async function startProvider(): Promise<Server> {
  const server = createServer((request, response) => {
    response.setHeader("content-type", "text/html");
    response.end(`<!doctype html><title>Provider</title><h1>${request.url}</h1>`);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

async function startShop(provider: string) {
  const { root, remove } = await generateApplication({ api: false });
  for (const [name, text] of Object.entries(VIEWS)) {
    const path = join(root, "views", name.includes(".") ? name : `${name}.edge`);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
  await edit(root, "routes/web.ts", ["type RouteEntry }", "type RouteEntry, ValidationError }"]);
  await edit(root, "routes/web.ts", ["  ...Csrf.routes(),", `  ...Csrf.routes(),${ROUTES(provider)}`]);
  const port = await freePort();
  const url = `http://${HOST}:${port}`;
  const { application, end } = await bootApplication(root, { environment: { APP_URL: url } });
  const mail = await captureMail(application);
  await application.listen({ port, hostname: "127.0.0.1", handleSignals: false });
  return {
    url,
    mail,
    async end() {
      await end();
      await remove();
    },
  };
}

inBrowser("pages on plain http, in a browser", () => {
  let browser: Browser;
  let provider: Server;
  let shop: Awaited<ReturnType<typeof startShop>>;
  let elsewhere = "";
  beforeAll(async () => {
    provider = await startProvider();
    elsewhere = `http://${PROVIDER}:${(provider.address() as AddressInfo).port}`;
    [browser, shop] = await Promise.all([startBrowser([HOST, PROVIDER]), startShop(elsewhere)]);
  });
  afterAll(async () => {
    await browser?.close();
    await shop?.end();
    provider?.close();
  });
  afterEach(async () => {
    for (const context of browser.contexts()) await context.close();
  });

  async function visitor(): Promise<BrowserContext> {
    const context = await browser.newContext();
    context.setDefaultTimeout(60_000);
    return context;
  }

  async function picture(page: Page, name: string): Promise<void> {
    if (PICTURES !== undefined) await page.screenshot({ path: join(PICTURES, `real-clients-${name}.png`) });
  }

  async function register(page: Page, email: string): Promise<void> {
    await page.goto(`${shop.url}/register`);
    await page.getByLabel("Name").fill("Ada");
    await page.getByLabel("Email address").fill(email);
    await page.getByLabel("Password", { exact: true }).fill(PASSWORD);
    await page.getByLabel("Confirm password").fill(PASSWORD);
    await page.getByRole("main").getByRole("button", { name: "Register" }).click();
    await page.waitForURL("**/email/verify/notice");
  }

  async function lastLink(email: string, path: string): Promise<string> {
    const links = (await shop.mail.all()).filter(({ to }) => to === email).flatMap((mail) => linksIn(mail));
    return links.findLast((link) => new URL(link).pathname.startsWith(path))!;
  }

  test("S130 a page without a referrer sends its own form: a password is reset with the mailed link", async () => {
    const email = "ada@example.com";
    await register(await (await visitor()).newPage(), email);
    const page = await (await visitor()).newPage();
    await page.goto(`${shop.url}/change_password`);
    await page.getByLabel("Email address").fill(email);
    await page.getByRole("main").getByRole("button").click();
    await expect.poll(() => lastLink(email, "/password_reset")).toBeDefined();
    await page.goto(await lastLink(email, "/password_reset"));
    await page.getByLabel("New password", { exact: true }).fill("another of her passwords");
    await page.getByLabel("Confirm new password").fill("another of her passwords");
    const sent = page.waitForRequest((request) => request.method() === "POST");
    await page.getByRole("main").getByRole("button").click();
    const headers = await (await sent).allHeaders();
    await page.waitForURL("**/login");
    await picture(page, "reset");
    // The point of this test: the browser hides the page's URL and sends nothing else about it.
    expect([headers.origin, headers.referer, headers["sec-fetch-site"]]).toEqual(["null", undefined, undefined]);
  });

  test("S130 the response to a form leads to another site", async () => {
    const page = await (await visitor()).newPage();
    const problems: string[] = [];
    page.on("console", (message) => problems.push(message.text()));
    await page.goto(`${shop.url}/pay`);
    await page.getByRole("main").getByRole("button").click();
    await page.waitForURL(`${elsewhere}/checkout`, { timeout: 60_000 }).catch(() => {});
    await picture(page, "pay");
    expect(page.url(), problems.join("\n")).toBe(`${elsewhere}/checkout`);
  });

  test.each([
    ["over plain http", HOST],
    ["where browsers say what a request is for", "localhost"],
  ])("S161 a login leads back to the opened page, regardless of other pages' requests, %s", async (_, host) => {
    const email = `grace@${host}.example`;
    await register(await (await visitor()).newPage(), email);
    const url = shop.url.replace(HOST, host);
    const context = await visitor();
    const page = await context.newPage();
    await page.goto(`${url}/orders?page=2`);
    expect(new URL(page.url()).pathname).toBe("/login");
    const other = await context.newPage();
    const modes: (string | undefined)[] = [];
    other.on("request", async (request) => {
      if (request.url().includes("/own/")) modes.push((await request.allHeaders())["sec-fetch-mode"]);
    });
    await other.goto(`${url}/open`);
    await expect.poll(() => other.title()).toBe("Loaded");
    await page.getByLabel("Email address").fill(email);
    await page.getByLabel("Password", { exact: true }).fill(PASSWORD);
    await page.getByRole("main").getByRole("button", { name: "Log in" }).click();
    await page.waitForURL((url) => url.pathname !== "/login");
    await picture(page, `intended-${host}`);
    expect(page.url()).toBe(`${url}/orders?page=2`);
    const isSaid = host === "localhost";
    // Headers arrive some time after the requests that they belong to.
    await expect.poll(() => modes.length).toBeGreaterThanOrEqual(isSaid ? 5 : 4);
    expect([modes.length, modes.every((mode) => (mode !== undefined) === isSaid)]).toEqual([isSaid ? 5 : 4, true]);
  });

  test("S163 a refused form keeps a long text, and can be sent again", async () => {
    const story = "Once upon a time. ".repeat(5000).trim();
    const page = await (await visitor()).newPage();
    await page.goto(`${shop.url}/stories/create?draft=1`);
    await page.locator("textarea").fill(story);
    for (const title of ["First", "Second"]) {
      await page.getByLabel("Title").fill(title);
      const answered = page.waitForResponse((response) => response.request().method() === "POST");
      await page.getByRole("button", { name: "Save" }).click();
      expect((await answered).status()).toBe(422);
      await page.getByText("Choose another title.").first().waitFor();
      expect([await page.getByLabel("Title").inputValue(), await page.locator("textarea").inputValue()]).toEqual([
        title,
        story,
      ]);
    }
    await picture(page, "long-form");
  });
});
