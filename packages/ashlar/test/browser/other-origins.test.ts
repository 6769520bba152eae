import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { captureMail, linksIn } from "../../src/testing/index.ts";
import { bootApplication } from "../support/booted-application.ts";
import { inBrowser, startBrowser } from "../support/chromium.ts";
import { edit, generateApplication } from "../support/generated-application.ts";

const PASSWORD = "a password of hers";
const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/** A script's result: a response, or the browser's error if the script may not read it. */
type Reply = { readonly status: number; readonly data: Record<string, unknown> } | { readonly error: string };

/** Calls `fetch` with cookies on the open page, like a front end's script. */
class Script {
  readonly page: Page;
  readonly #api: string;

  constructor(page: Page, api: string) {
    this.page = page;
    this.#api = api;
  }

  async send(method: string, path: string, body: object | null = null, headers: object = {}): Promise<Reply> {
    const type = body === null ? {} : { "content-type": "application/json" };
    const init = { method, headers: { accept: "application/json", ...type, ...headers } };
    const sent = { url: this.#api + path, init: { ...init, body: body === null ? null : JSON.stringify(body) } };
    return await this.page.evaluate(async ({ url, init }) => {
      try {
        const response = await fetch(url, { ...init, credentials: "include" });
        const { data, ...rest } = (await response.json()) as { data?: Record<string, unknown> };
        return { status: response.status, data: data ?? rest };
      } catch (error) {
        return { error: (error as Error).name };
      }
    }, sent);
  }

  /** The same with a CSRF token, as every request that changes something needs one. */
  async change(method: string, path: string, body: object = {}): Promise<Reply> {
    const csrf = await this.send("GET", "/csrf");
    if ("error" in csrf) return csrf;
    return await this.send(method, path, body, { "x-csrf-token": csrf.data.token });
  }
}

const BLOCKED: Reply = { error: "TypeError" };

/** An empty page on a separate origin. */
async function startFrontEnd(): Promise<Server> {
  const server = createServer((_, response) => {
    response.setHeader("content-type", "text/html");
    response.end("<!doctype html><title>Front end</title>");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

/** An application without pages, and a route for each method. */
async function startApi(environment: Record<string, string>) {
  const { root, remove } = await generateApplication({ pages: false, json: true, api: false });
  const echo = `Route.match(${JSON.stringify(METHODS)}, "/echo", ({ request }) => ({ method: request.raw.method })),`;
  await edit(root, "routes/web.ts", ["  ...Csrf.routes(),", `  ...Csrf.routes(),\n  ${echo}`]);
  const { application, end } = await bootApplication(root, { environment });
  const mail = await captureMail(application);
  const { url } = await application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false });
  return {
    port: Number(new URL(url).port),
    mail,
    async end() {
      await end();
      await remove();
    },
  };
}

inBrowser("an application and its front end on another origin, in a browser", () => {
  let browser: Browser;
  let api: Awaited<ReturnType<typeof startApi>>;
  const frontEnds: Server[] = [];
  /** Ports of a listed front end, and of another site. */
  let listed = 0;
  let stranger = 0;
  beforeAll(async () => {
    frontEnds.push(await startFrontEnd(), await startFrontEnd());
    [listed, stranger] = frontEnds.map((server) => (server.address() as AddressInfo).port) as [number, number];
    const origin = `http://localhost:${listed}`;
    [browser, api] = await Promise.all([
      startBrowser(),
      startApi({ TRUSTED_ORIGINS: `${origin}, http://127.0.0.1:${listed}`, FRONTEND_URL: origin }),
    ]);
  });
  afterAll(async () => {
    await browser?.close();
    await api?.end();
    for (const server of frontEnds) server.close();
  });

  async function open(origin: string): Promise<Script> {
    const context = await browser.newContext();
    onTestFinished(() => context.close());
    context.setDefaultTimeout(60_000);
    const page = await context.newPage();
    await page.goto(origin);
    return new Script(page, `http://localhost:${api.port}`);
  }

  const fieldsOf = (email: string) => ({ name: "Ada", email, password: PASSWORD, password_confirmation: PASSWORD });

  describe("S106 S107 a listed origin of the same site", () => {
    test("S106 S107 has accounts, from registration to logout", async () => {
      const script = await open(`http://localhost:${listed}`);
      const email = "ada@example.com";
      expect(await script.send("GET", "/home")).toMatchObject({ status: 401, data: { code: "E_UNAUTHENTICATED" } });
      const registered = { status: 201, data: { status: "complete", verificationSent: true } };
      expect(await script.change("POST", "/register", fieldsOf(email))).toEqual(registered);
      expect(await script.send("GET", "/home")).toMatchObject({ status: 200, data: { user: { email } } });
      const link = new URL(linksIn((await api.mail.all()).findLast(({ to }) => to === email)!)[0]!);
      expect(link.origin).toBe(`http://localhost:${listed}`);
      expect(await script.change("POST", link.pathname)).toMatchObject({ status: 200, data: { status: "verified" } });
      const login = { email, password: PASSWORD };
      expect(await script.change("POST", "/logout")).toMatchObject({ status: 200, data: { status: "logged_out" } });
      expect(await script.change("POST", "/login", { ...login, password: "no" })).toMatchObject({ status: 422 });
      expect(await script.change("POST", "/login", login)).toEqual({ status: 200, data: { status: "complete" } });
      expect(await script.change("DELETE", "/logins")).toMatchObject({ status: 200, data: { status: "ended" } });
      // Scripts can't read the cookies that they send.
      expect(await script.page.evaluate("document.cookie")).toBe("");
    });

    test("S107 needs the session's token for every method that changes something", async () => {
      const script = await open(`http://localhost:${listed}`);
      for (const method of METHODS) {
        const isSafe = method === "GET";
        const reply = await script.send(method, "/echo", isSafe ? null : {});
        expect([method, reply]).toMatchObject([method, isSafe ? { data: { method } } : { status: 419 }]);
        if (!isSafe) expect(await script.change(method, "/echo")).toEqual({ status: 200, data: { method } });
      }
      const foreign = { "x-csrf-token": "a".repeat(86) };
      expect(await script.send("POST", "/echo", {}, foreign)).toMatchObject({ status: 419, data: { code: "E_CSRF" } });
    });
  });

  test("S106 S107 an unlisted origin can neither read nor change anything", async () => {
    const own = await open(`http://localhost:${listed}`);
    const email = "grace@example.com";
    expect(await own.change("POST", "/register", fieldsOf(email))).toMatchObject({ status: 201 });
    // Another port of the same host is the same site, so the browser sends the cookies from there.
    await own.page.goto(`http://localhost:${stranger}`);
    expect(await own.send("GET", "/home")).toEqual(BLOCKED);
    expect(await own.send("GET", "/csrf")).toEqual(BLOCKED);
    for (const method of METHODS)
      expect(await own.send(method, "/echo", method === "GET" ? null : {})).toEqual(BLOCKED);
    // A form needs no permission, but has no token.
    await own.page.setContent(`<form method="post" action="http://localhost:${api.port}/logout"></form>`);
    const [response] = await Promise.all([
      own.page.waitForResponse("**/logout"),
      own.page.waitForURL("**/logout"),
      own.page.evaluate('document.querySelector("form").submit()'),
    ]);
    expect(response.status()).toBe(419);
    await own.page.goto(`http://localhost:${listed}`);
    expect(await own.send("GET", "/home")).toMatchObject({ status: 200, data: { user: { email } } });
  });

  test("S106 a listed origin on another site can read, but has no session because the browser withholds its cookies", async () => {
    const script = await open(`http://127.0.0.1:${listed}`);
    expect(await script.send("GET", "/home")).toMatchObject({ status: 401 });
    expect(await script.change("POST", "/login", { email: "ada@example.com", password: PASSWORD })).toMatchObject({
      status: 419,
      data: { code: "E_CSRF" },
    });
  });
});
