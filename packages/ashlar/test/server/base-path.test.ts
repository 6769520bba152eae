// A generated application at https://x.example/shop, which only sets APP_URL in .env.

import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Application } from "../../src/public/index.ts";
import { createTestClient, linksIn, type TestClient, type TestResponse } from "../../src/testing/index.ts";
import { bootApplication } from "../support/booted-application.ts";
import { edit, execute, generateApplication, generatedApplication, serve } from "../support/generated-application.ts";

const PASSWORD = "a password of hers";

async function atShop(root: string, url = "https://x.example/shop"): Promise<void> {
  const env = join(root, ".env");
  await writeFile(env, (await readFile(env, "utf8")).replace(/^APP_URL=.*$/m, `APP_URL=${url}`));
}

/** The page's references to its own origin. */
function referencesOf(page: TestResponse): string[] {
  return [...page.text.matchAll(/ (?:href|src|action)="(\/[^"]*)"/g)].map(([, path]) => path!);
}

describe("a generated application under a base path", () => {
  let application: Application;
  const ends: (() => Promise<void>)[] = [];

  beforeAll(async () => {
    const { root, remove } = await generateApplication();
    ends.push(remove);
    await atShop(root);
    await edit(root, "routes/web.ts", [
      "export const ROUTES: RouteEntry[] = [",
      `export const ROUTES: RouteEntry[] = [
  Route.get("/where", ({ request }) => [request.getPath(), request.url(), request.fullUrl(), request.contains("/where")]),
  Route.get("/go", ({ request, response }) => response.redirect(request.string("to"))),
  Route.get("/back", ({ response }) => response.back("/fallback")),
  Route.get("/cookie", ({ response }) => response.cookie("theme", "dark").html("set")),
  Route.get("/signed", () => "signed").name("signed").middleware("signed"),`,
    ]);
    const booted = await bootApplication(root);
    application = booted.application;
    ends.unshift(booted.end);
  });
  afterAll(async () => {
    for (const end of ends) await end();
  });

  async function registered(client: TestClient, email: string): Promise<TestResponse> {
    const form = { name: "Ada", email, password: PASSWORD, password_confirmation: PASSWORD };
    return await client.submit(await client.get("/register"), form);
  }

  test("every link, form and file on its pages is under the base path, and works", async () => {
    const client = createTestClient(application);
    const seen = new Map<string, number>();
    const visit = async (path: string): Promise<void> => {
      if (seen.has(path)) return;
      const page = await client.get(path);
      seen.set(path, page.status);
      if (page.redirectsTo !== null) return await visit(page.redirectsTo);
      for (const reference of referencesOf(page)) {
        expect(reference).toMatch(/^\/shop(?:\/|$)/);
        if (!/action="/.test(reference) && !/logout|resend|end-others/.test(reference)) await visit(reference);
      }
    };
    await visit("/");
    (await registered(client, "walker@example.com")).assertRedirect("/email/verify/notice");
    for (const path of ["/home", "/account/email", "/account/password", "/logins", "/missing"]) await visit(path);
    expect(seen.size).toBeGreaterThan(12);
    expect([...seen].filter(([, status]) => status >= 500)).toEqual([]);
    expect([...seen].filter(([path, status]) => status === 404 && !/missing|dev.mailbox/.test(path))).toEqual([]);
    expect([...seen.keys()].some((path) => path.startsWith("/shop/style.css?v="))).toBe(true);
  });

  test("an account is registered, verified, logged out and reset with the links in its mails", async () => {
    const client = createTestClient(application);
    const mailer = application.container.make("mail");
    mailer.clear();
    const linkOfLast = async (): Promise<string> => {
      await mailer.settled();
      return linksIn(mailer.captured.at(-1)!)[0]!;
    };
    expect((await registered(client, "ada@example.com")).headers.get("location")).toBe("/shop/email/verify/notice");
    const verify = await linkOfLast();
    expect(verify).toMatch(/^https:\/\/x\.example\/shop\/email\/verify\//);
    expect((await client.get(verify)).headers.get("location")).toMatch(/^\/shop\//);
    expect(mailer.captured.at(-1)!.html).toContain('href="https://x.example/shop"');
    await client.submit(await client.get("/home"), '[action="/logout"]');
    const wanted = await client.get("/account/email?from=mail");
    wanted.assertRedirect("/login");
    const login = { email: "ada@example.com", password: PASSWORD };
    const after = await client.submit(await client.follow(wanted), login);
    expect(after.headers.get("location")).toBe("/shop/account/email?from=mail");
    await client.submit(await client.get("/home"), '[action="/logout"]');
    await client.submit(await client.get("/change_password"), { email: "ada@example.com" });
    const reset = await linkOfLast();
    expect(reset).toMatch(/^https:\/\/x\.example\/shop\/password_reset\?token=/);
    const changed = { password: "another password", password_confirmation: "another password" };
    (await client.submit(await client.get(reset), changed)).assertRedirect("/login");
  });

  test("a form with mistakes is shown again at its own path", async () => {
    const client = createTestClient(application);
    const answer = await client.submit(await client.get("/register"), { name: "" });
    const shown = await client.follow(answer);
    expect([new URL(shown.url).pathname, shown.status < 500]).toEqual(["/shop/register", true]);
  });

  test("a request has the path within the application, and the URL that visitors see", async () => {
    const client = createTestClient(application);
    const url = "https://x.example/shop/where";
    expect((await client.get("/where?a=1")).json).toEqual(["/where", url, `${url}?a=1`, true]);
    expect(application.url).toBe("https://x.example/shop");
    expect(application.router.to("login")).toBe("/shop/login");
  });

  test.each([
    ["/login", "/shop/login"],
    ["/shop/login", "/shop/login"],
    ["/", "/shop/"],
    ["https://x.example/shop/login", "/shop/login"],
    ["//evil.example", "/shop/"],
    ["https://evil.example/shop", "/shop/"],
  ])("S29 a redirect to %s leads to %s", async (to, location) => {
    const page = await createTestClient(application).get(`/go?to=${encodeURIComponent(to)}`);
    expect(page.headers.get("location")).toBe(location);
  });

  test("a redirect back leads to the page that the request came from, or to the fallback", async () => {
    const client = createTestClient(application);
    const headers = { referer: "https://x.example/shop/where?a=1" };
    expect((await client.get("/back", { headers })).headers.get("location")).toBe("/shop/where?a=1");
    expect((await client.get("/back")).headers.get("location")).toBe("/shop/fallback");
  });

  test("S188 cookies are not shared with another application on the host", async () => {
    const client = createTestClient(application);
    await registered(client, "cookies@example.com");
    const names = (response: Response): string[] =>
      response.headers.getSetCookie().map((cookie) => cookie.split("=")[0]!);
    const login = await application.fetch(new Request("https://x.example/shop/login"));
    expect(names(login)).toEqual(["__Host-session~shop"]);
    expect(client.cookies.get("__Host-token~shop")).not.toBe(null);
    expect(client.cookies.get("__Host-device~shop")).not.toBe(null);
    const own = await application.fetch(new Request("https://x.example/shop/cookie"));
    expect(own.headers.getSetCookie()).toEqual(["theme=dark; Path=/shop; HttpOnly; Secure; SameSite=Lax"]);
  });

  test("a signed URL is valid under the base path", async () => {
    const client = createTestClient(application);
    const url = application.router.signed("signed");
    expect(url).toMatch(/^\/shop\/signed\?/);
    (await client.get(url)).assertStatus(200);
    (await client.get(`${url}x`)).assertStatus(403);
  });

  test("S188 paths outside the base path are not found, except by health checks", async () => {
    const status = async (path: string): Promise<number> => {
      return (await application.fetch(new Request(`https://x.example${path}`))).status;
    };
    expect(await status("/shop/login")).toBe(200);
    expect(await status("/shop")).toBe(200);
    for (const path of ["/login", "/", "/shopping", "/style.css", "/SHOP/login", "/%73hop/login"]) {
      expect([path, await status(path)]).toEqual([path, 404]);
    }
    for (const path of ["/up", "/ready", "/shop/up", "/shop/ready"])
      expect([path, await status(path)]).toEqual([path, 200]);
    expect(await status("/shop/style.css")).toBe(200);
  });

  test("the API's token endpoints and problem documents work under the base path", async () => {
    const client = createTestClient(application);
    await registered(client, "api@example.com");
    const credentials = { username: "api@example.com", password: PASSWORD };
    (await createTestClient(application).postJson("/api/auth", credentials)).assertStatus(200);
    const missing = await createTestClient(application).getJson("/api/missing");
    expect([missing.status, missing.headers.get("content-type")]).toEqual([404, "application/problem+json"]);
  });
});

test("a generated application's own tests pass under a base path, whatever options it was created with", async () => {
  for (const options of [{}, { pages: false, json: true }]) {
    const root = await generatedApplication(options);
    await atShop(root);
    const files = (await readdir(join(root, "tests")))
      .filter((name) => name.endsWith(".test.ts"))
      .map((name) => `tests/${name}`);
    const { code, output } = await execute(root, process.execPath, ["--test", ...files]);
    expect(code, output).toBe(0);
  }
});

test("a development server prints its address, and has the mailbox, under the base path", async () => {
  const root = await generatedApplication();
  await atShop(root, "http://localhost:3000/shop");
  const { url } = await serve(root);
  expect(url).toMatch(/^http:\/\/localhost:\d+\/shop\/$/);
  const page = await (await fetch(`${url}dev/mailbox`)).text();
  expect([...page.matchAll(/href="([^"]+)"/g)].map(([, path]) => path)).toEqual([
    "/shop/dev/mailbox",
    "/shop/dev/mailbox/preview",
  ]);
  expect((await fetch(`${url}dev/mailbox/preview`)).status).toBe(200);
});

test("a proxy that removes the base path is a setting, with the same pages", async () => {
  const root = await generatedApplication();
  await atShop(root);
  await edit(root, "config/app.ts", [
    `url: env("APP_URL"),`,
    `url: env("APP_URL"),\n  server: { basePath: "removed" },`,
  ]);
  const { application, end } = await bootApplication(root);
  try {
    const page = await application.fetch(new Request("https://x.example/login"));
    expect([page.status, /action="([^"]+)"/.exec(await page.text())?.[1]]).toEqual([200, "/shop/login"]);
    expect((await application.fetch(new Request("https://x.example/shop/login"))).status).toBe(404);
    (await createTestClient(application).get("/login")).assertStatus(200);
  } finally {
    await end();
  }
});
