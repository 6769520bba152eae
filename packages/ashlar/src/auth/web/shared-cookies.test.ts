import { expect, test } from "vitest";
import { ADA, type TestWeb, testWeb } from "../../../test/support/web-application.ts";
import { SessionProvider } from "../../session/index.ts";

const APP = "https://app.shop.example";
const WWW = "https://www.shop.example";
const environment = { APP_URL: APP };
const shared = { guard: { domain: "shop.example" }, environment };

interface Answer {
  readonly body: unknown;
  /** Name, value and attributes of each cookie that was set. */
  readonly cookies: readonly string[];
}

/** One request, with exactly these cookies. */
async function send(web: TestWeb, method: string, url: string, cookie = ""): Promise<Answer> {
  const response = await web.application.fetch(new Request(url, { method, headers: cookie === "" ? {} : { cookie } }));
  const text = await response.text();
  return { body: text.startsWith("{") ? JSON.parse(text) : text, cookies: response.headers.getSetCookie() };
}

function named({ cookies }: Answer, name: string): string | undefined {
  return cookies.find((cookie) => cookie.startsWith(`${name}=`));
}

function pair(cookie: string | undefined): string {
  return cookie!.split(";")[0]!;
}

test("a login is shared by the hosts of the domain, and its cookie is never one of a single host", async () => {
  const web = await testWeb({ ...shared, environment: { ...environment, APP_HOSTS: "www.shop.example" } });
  const login = await send(web, "POST", `${APP}/login/${ADA.id}`);
  const cookie = named(login, "__Secure-token");
  expect(cookie).toMatch(/^__Secure-token=[\w-]{43}; Domain=shop\.example; Path=\/; HttpOnly; Secure; SameSite=Lax$/);
  expect(named(login, "__Host-token")).toBe(undefined);
  expect((await send(web, "GET", `${WWW}/me`, pair(cookie))).body).toMatchObject({ user: { id: ADA.id } });
});

test("S19 a logout deletes the cookie of the domain and the one of the host, and the login", async () => {
  const web = await testWeb(shared);
  const cookie = pair(named(await send(web, "POST", `${APP}/login/${ADA.id}`), "__Secure-token"));
  const logout = await send(web, "POST", `${APP}/logout`, cookie);
  expect(named(logout, "__Secure-token")).toMatch(/^__Secure-token=; Max-Age=0; Domain=shop\.example; Path=\/;/);
  expect(named(logout, "__Host-token")).toMatch(/^__Host-token=; Max-Age=0; Path=\/;/);
  expect(await web.rows()).toEqual([]);
});

test("a login from before the domain was set continues, and its cookie becomes one of the domain", async () => {
  const before = await testWeb({ environment });
  const former = pair(named(await send(before, "POST", `${APP}/login/${ADA.id}`), "__Host-token"));
  const web = await testWeb({ ...shared, sharing: before });
  const moved = await send(web, "GET", `${APP}/me`, former);
  expect(moved.body).toMatchObject({ user: { id: ADA.id } });
  const cookie = named(moved, "__Secure-token");
  expect(cookie).toContain("Domain=shop.example");
  expect(pair(cookie).split("=")[1]).toBe(former.split("=")[1]);
  expect(named(moved, "__Host-token")).toMatch(/^__Host-token=; Max-Age=0/);
  const after = await send(web, "GET", `${APP}/me`, pair(cookie));
  expect([after.body, after.cookies]).toEqual([moved.body, []]);
});

test("S18 a login replaces both cookies, and ends the logins of both", async () => {
  const before = await testWeb({ environment });
  const host = pair(named(await send(before, "POST", `${APP}/login/1`), "__Host-token"));
  const web = await testWeb({ ...shared, sharing: before });
  const domain = pair(named(await send(web, "POST", `${APP}/login/1`), "__Secure-token"));
  expect(await web.rows()).toHaveLength(2);
  const login = await send(web, "POST", `${APP}/login/2`, `${host}; ${domain}`);
  expect(await web.rows()).toHaveLength(1);
  const cookie = pair(named(login, "__Secure-token"));
  expect((await send(web, "GET", `${APP}/me`, `${host}; ${cookie}`)).body).toMatchObject({ user: { id: 2 } });
});

test("S20 without a domain, a cookie that other hosts can set logs no one in", async () => {
  const before = await testWeb(shared);
  const cookie = pair(named(await send(before, "POST", `${APP}/login/${ADA.id}`), "__Secure-token"));
  const web = await testWeb({ environment, sharing: before });
  expect((await send(web, "GET", `${APP}/me`, cookie)).body).toEqual({ user: null });
  const login = await send(web, "POST", `${APP}/login/${ADA.id}`, cookie);
  const own = pair(named(login, "__Host-token"));
  expect((await send(web, "GET", `${APP}/me`, `${cookie}; ${own}`)).body).toMatchObject({ user: { id: ADA.id } });
});

test("over http the shared cookie has a separate name too", async () => {
  const url = "http://app.shop.example";
  const web = await testWeb({ guard: { domain: "shop.example" }, environment: { APP_URL: url } });
  const login = await send(web, "POST", `${url}/login/${ADA.id}`);
  expect(named(login, "shared.token")).toMatch(/; Domain=shop\.example; Path=\/; HttpOnly; SameSite=Lax$/);
});

test.each(["acme.example", "not-listed.example", "evilshop.example", "127.0.0.1"])(
  "at %s, outside of the domain, a login has a separate cookie, works there, and can be ended there",
  async (host) => {
    const web = await testWeb({ ...shared, environment: { ...environment, APP_HOSTS: "acme.example" } });
    const login = await send(web, "POST", `https://${host}/login/${ADA.id}`);
    expect(named(login, "__Secure-token")).toMatch(
      /^__Secure-token=[\w-]{43}; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
    );
    const cookie = pair(named(login, "__Secure-token"));
    expect((await send(web, "GET", `https://${host}/me`, cookie)).body).toMatchObject({ user: { id: ADA.id } });
    const logout = await send(web, "POST", `https://${host}/logout`, cookie);
    expect(named(logout, "__Secure-token")).toMatch(/^__Secure-token=; Max-Age=0; Path=\/;/);
    expect(await web.rows()).toEqual([]);
  },
);

test("sessions are shared by the hosts of SESSION.domain", async () => {
  const session = { domain: "shop.example", cookie: "visit" };
  const web = await testWeb({ environment, session, providers: [SessionProvider] });
  expect(web.application.container.make("session").settings).toMatchObject({
    cookie: "__Secure-visit",
    domain: "shop.example",
  });
});

test.each([
  ["other.example", "is not in it"],
  ["shop.example.evil.example", "is not in it"],
  ["pp.shop.example", "is not in it"],
  ["co.uk", "belong to anyone"],
  ["example", "is not a domain"],
  [".shop.example", "is not a domain"],
  ["127.0.0.1", "is not a domain"],
  ["https://shop.example", "is not a domain"],
])("the application refuses to start with a domain %s", async (domain, problem) => {
  for (const options of [{ guard: { domain } }, { session: { domain }, providers: [SessionProvider] }]) {
    await expect(testWeb({ environment, ...options })).rejects.toThrow(problem);
  }
});

test("a domain needs APP_URL", async () => {
  await expect(testWeb({ guard: { domain: "shop.example" } })).rejects.toThrow("APP_URL is not set");
});
