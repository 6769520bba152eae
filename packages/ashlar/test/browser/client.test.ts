// `ashlar/client` on pages of other origins, with cookies, CSRF tokens and CORS as a browser enforces them.
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { travel, travelBack } from "../../src/testing/index.ts";
import { makeCertificate } from "../support/certificate.ts";
import { inBrowser, startBrowser, startWindowWithAllCookies } from "../support/chromium.ts";
import { type ClientApi, startClientApi } from "../support/client-api.ts";
import { type LocalServer, serveClientPage, serveSecurely } from "../support/client-pages.ts";
import { makeFolder, temporaryFolder } from "../support/temporary-folder.ts";

const PASSWORD = "a password of hers";
/** The outcome of a call on a page. */
type Result = { readonly value: unknown } | { readonly name: string; readonly code: string };

/** The error that a page gets if it may not read the response, as for any network failure. */
const BLOCKED = { name: "ClientError", code: "E_NETWORK", status: 0 };

inBrowser("ashlar/client, in a browser", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await startBrowser();
  });
  afterAll(() => browser?.close());

  async function newContext(): Promise<BrowserContext> {
    const context = await browser.newContext({ ignoreHTTPSErrors: true });
    onTestFinished(() => context.close());
    context.setDefaultTimeout(60_000);
    return context;
  }

  /** Opens a page with two clients for an application, `session` and `tokens`. */
  async function open(context: BrowserContext, origin: string, api: string): Promise<Page> {
    const page = await context.newPage();
    await page.goto(origin);
    await page.waitForFunction("globalThis.isReady");
    await page.evaluate(`
      globalThis.session = new client.SessionClient({ url: "${api}" });
      globalThis.tokens = new client.TokenClient({ url: "${api}", store });
      undefined`);
    return page;
  }

  const run = (page: Page, call: string): Promise<Result> => page.evaluate<Result>(`result(${call})`);
  const register = (page: Page, email: string) =>
    run(page, `session.register(${JSON.stringify({ name: "Ada", email, password: PASSWORD })})`);
  const logIn = (page: Page, email: string) =>
    run(page, `session.login(${JSON.stringify({ email, password: PASSWORD })})`);

  /** The requests by a page's scripts, as `POST /login`, including preflights. */
  function watch(page: Page): string[] {
    const seen: string[] = [];
    page.on("request", (request) => {
      if (request.resourceType() === "fetch") seen.push(`${request.method()} ${new URL(request.url()).pathname}`);
    });
    return seen;
  }

  describe("over http", () => {
    let api: ClientApi;
    let url: string;
    let listed: LocalServer;
    let stranger: LocalServer;
    beforeAll(async () => {
      [listed, stranger] = await Promise.all([serveClientPage(), serveClientPage()]);
      const origins = ["localhost", "127.0.0.1"].map((host) => `http://${host}:${listed.port}`);
      api = await startClientApi({
        tokens: "many",
        environment: { TRUSTED_ORIGINS: origins.join(), FRONTEND_URL: origins[0]! },
      });
      url = `http://localhost:${api.port}`;
    });
    afterAll(async () => {
      travelBack();
      await api?.end();
      listed?.close();
      stranger?.close();
    });

    test("S106 S107 a listed origin on the same site can use accounts, and can read errors", async () => {
      const page = await open(await newContext(), `http://localhost:${listed.port}`, url);
      const email = "ada@example.com";
      expect(await run(page, "session.user()")).toEqual({ value: null });
      expect(await register(page, email)).toEqual({ value: { status: "complete", verificationSent: true } });
      expect(await run(page, "session.user()")).toMatchObject({ value: { email } });
      const link = await api.linkTo(email);
      expect(link.origin).toBe(`http://localhost:${listed.port}`);
      const token = JSON.stringify(link.pathname.split("/").at(-1));
      expect(await run(page, `session.verifyEmail(${token})`)).toMatchObject({ value: { status: "verified" } });
      expect(await run(page, "session.changePassword({ current_password: 'no', password: 'short' })")).toMatchObject({
        code: "E_INVALID_INPUT",
        fields: { current_password: [expect.any(String)] },
      });
      for (const method of ["put", "patch", "delete"]) {
        expect(await run(page, `session.${method}("/echo", { note: "é" })`)).toEqual({
          value: { method: method.toUpperCase(), note: "é" },
        });
      }
      expect(await run(page, "session.logins()")).toMatchObject({ value: { logins: [{ isCurrent: true }] } });
      expect(await run(page, "session.logout()")).toMatchObject({ value: { status: "logged_out" } });
      for (let attempt = 0; attempt < 5; attempt++) {
        await run(page, `session.login({ email: "${email}", password: "wrong" })`);
      }
      const limited = await logIn(page, email);
      expect(limited).toMatchObject({ code: "E_TOO_MANY_REQUESTS", status: 429, retryAfter: expect.any(Number) });
      expect(await page.evaluate("document.cookie")).toBe("");
    });

    test("S107 after a login in another tab, requests fetch a new token once, and are sent again", async () => {
      const context = await newContext();
      const [page, tab] = [
        await open(context, `http://localhost:${listed.port}`, url),
        await open(context, `http://localhost:${listed.port}`, url),
      ];
      await run(page, `session.post("/echo")`);
      await register(tab, "tab@example.com");
      const seen = watch(page);
      const all = "Promise.all(Array.from({ length: 5 }, (_, note) => session.post('/echo', { note })))";
      expect(await run(page, all)).toEqual({
        value: Array.from({ length: 5 }, (_, note) => ({ method: "POST", note })),
      });
      expect(seen.filter((one) => one === "GET /csrf")).toHaveLength(1);
      expect(seen.filter((one) => one === "POST /echo")).toHaveLength(10);
    });

    test("S106 S107 an unlisted origin can neither read nor change anything", async () => {
      const context = await newContext();
      const own = await open(context, `http://localhost:${listed.port}`, url);
      await register(own, "grace@example.com");
      // Another port of the same host is the same site, so the browser sends the cookies from there.
      const other = await open(context, `http://localhost:${stranger.port}`, url);
      for (const call of ["user()", "logout()", "get('/home')", "post('/echo')", "endOtherLogins()"]) {
        expect([call, await run(other, `session.${call}`)]).toMatchObject([call, BLOCKED]);
      }
      expect(await run(other, "tokens.login({ username: 'grace@example.com', password: 'no' })")).toMatchObject(
        BLOCKED,
      );
      // The same request without the client and without a preflight. It has no token.
      const status = await other.evaluate(`new Promise((resolve) => {
        const form = document.createElement("form");
        Object.assign(form, { method: "post", action: "${url}/logout", target: "frame" });
        const frame = Object.assign(document.createElement("iframe"), { name: "frame" });
        document.body.append(frame, form);
        frame.onload = () => resolve("sent");
        form.submit();
      })`);
      expect(status).toBe("sent");
      expect(await run(own, "session.user()")).toMatchObject({ value: { email: "grace@example.com" } });
    });

    test("S106 a listed origin on another site has no session, and its requests stop after the second", async () => {
      const page = await open(await newContext(), `http://127.0.0.1:${listed.port}`, url);
      expect(await run(page, "session.user()")).toEqual({ value: null });
      const seen = watch(page);
      expect(await logIn(page, "ada@example.com")).toMatchObject({ code: "E_CSRF", status: 419 });
      expect(seen.filter((one) => one === "POST /login")).toHaveLength(2);
    });

    test("S106 tokens work without cookies from a listed origin on another site, and one tab renews for all", async () => {
      const own = await open(await newContext(), `http://localhost:${listed.port}`, url);
      const email = "lin@example.com";
      await register(own, email);
      const context = await newContext();
      const origin = `http://127.0.0.1:${listed.port}`;
      const tabs = [
        await open(context, origin, url),
        await open(context, origin, url),
        await open(context, origin, url),
      ];
      const credentials = JSON.stringify({ username: email, password: PASSWORD, name: "A browser" });
      expect(await run(tabs[0]!, `tokens.login(${credentials})`)).toEqual({ value: { abilities: null } });
      travel(16 * 60);
      const seen = tabs.map(watch);
      const all = "Promise.all(Array.from({ length: 5 }, () => tokens.get('/api/me')))";
      const results = await Promise.all(tabs.map((tab) => run(tab, all)));
      for (const result of results) expect(result).toMatchObject({ value: Array(5).fill({ email }) });
      expect(seen.flat().filter((one) => one === "POST /api/reauth")).toHaveLength(1);
      expect(await context.cookies()).toEqual([]);
      const old = await tabs[0]!.evaluate<string>("store.get()");
      expect(await run(tabs[1]!, "tokens.logout()")).toEqual({});
      expect(await run(tabs[2]!, "tokens.get('/api/me')")).toMatchObject({ code: "E_UNAUTHENTICATED" });
      const { access } = JSON.parse(old) as { access: string };
      const headers = { authorization: `Bearer ${access}` };
      expect((await fetch(`${api.url}/api/me`, { headers })).status).toBe(401);
    });
  });

  describe("over https, with cookies of other sites", () => {
    let api: ClientApi;
    let url: string;
    const servers: LocalServer[] = [];
    const files = makeFolder({});
    beforeAll(async () => {
      const certificate = makeCertificate(files.folder, "localhost");
      servers.push(await serveClientPage(certificate), await serveClientPage(certificate));
      servers.push(await serveSecurely(() => api.port, certificate));
      url = `https://localhost:${servers[2]!.port}`;
      api = await startClientApi({
        session: ["lifetimeMinutes: 120,", 'lifetimeMinutes: 120,\n  sameSite: "none",'],
        environment: {
          APP_URL: url,
          TRUSTED_PROXIES: "loopback",
          TRUSTED_ORIGINS: `https://127.0.0.1:${servers[0]!.port}`,
          FRONTEND_URL: `https://127.0.0.1:${servers[0]!.port}`,
        },
      });
    });
    afterAll(async () => {
      await api?.end();
      for (const server of servers) server.close();
      files.remove();
    });

    test("S106 S107 a listed origin on another site has a session if its cookies are sent from all sites", async () => {
      const context = await startWindowWithAllCookies(await temporaryFolder());
      onTestFinished(() => context.close());
      const page = await open(context, `https://127.0.0.1:${servers[0]!.port}`, url);
      const email = "ada@example.com";
      expect(await register(page, email)).toMatchObject({ value: { status: "complete" } });
      expect(await run(page, "session.post('/notes')")).toEqual({ value: { by: email } });
      const cookies = await context.cookies(url);
      expect(cookies.length).toBeGreaterThan(1);
      for (const { httpOnly, secure, sameSite } of cookies) {
        expect({ httpOnly, secure, sameSite }).toEqual({ httpOnly: true, secure: true, sameSite: "None" });
      }
      // Every site's requests include the cookies, so only the list and the token protect against them.
      const other = await open(context, `https://127.0.0.1:${servers[1]!.port}`, url);
      for (const call of ["user()", "logout()", "post('/notes')"]) {
        expect([call, await run(other, `session.${call}`)]).toMatchObject([call, BLOCKED]);
      }
      const form = await context.newPage();
      await form.goto(`https://127.0.0.1:${servers[1]!.port}`);
      await form.setContent(`<form method="post" action="${url}/logout"></form>`);
      const [response] = await Promise.all([
        form.waitForResponse("**/logout"),
        form.evaluate('document.querySelector("form").submit()'),
      ]);
      expect([response.status(), (await response.request().allHeaders()).cookie]).toEqual([419, expect.any(String)]);
      expect(await run(page, "session.user()")).toMatchObject({ value: { email } });
      expect(await run(page, "session.logout()")).toMatchObject({ value: { status: "logged_out" } });
      expect(await run(page, "session.user()")).toEqual({ value: null });
    });

    test("S106 if the user blocks such cookies, the browser withholds them", async () => {
      const page = await open(await newContext(), `https://127.0.0.1:${servers[0]!.port}`, url);
      expect(await run(page, "session.user()")).toEqual({ value: null });
      expect(await logIn(page, "ada@example.com")).toMatchObject({ code: "E_CSRF", status: 419 });
    });
  });
});
