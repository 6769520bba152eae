import { afterEach, describe, expect, test } from "vitest";
import { Browser, sessionApplication } from "../../../test/support/session-application.ts";
import type { Application } from "../../boot/index.ts";
import { Route, type RouteEntry } from "../../routing/index.ts";
import { setClock } from "../../support/index.ts";
import { SessionMiddleware } from "../index.ts";

/** The headers that browsers send when they load resources. */
const PAGE = { accept: "text/html,*/*;q=0.8", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
const IMAGE = { accept: "image/avif,image/*,*/*;q=0.8", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image" };
const SCRIPT = { accept: "*/*", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty" };
const FRAME = { ...PAGE, "sec-fetch-dest": "iframe" };
const AHEAD = { ...PAGE, "sec-purpose": "prefetch;prerender" };
const PLAIN_IMAGE = { accept: IMAGE.accept };
const PLAIN_SCRIPT = { accept: "*/*" };

let slow = Promise.withResolvers<void>();

const ROUTES: readonly RouteEntry[] = [
  Route.post("/save", ({ session, response }) => {
    session
      .flash("status", "Saved.")
      .flash("other", 1)
      .flashInput({ name: "Ada" })
      .flashErrors({ name: ["Wrong."] });
    return response.redirect("/page");
  }),
  Route.get("/page", ({ session }) => ({
    status: session.flashed("status"),
    other: session.get("other"),
    name: session.old("name"),
    errors: Object.keys(session.errors()),
  })),
  Route.get("/count", ({ session }) => {
    session.put("count", Number(session.get("count", 0)) + 1);
    return "";
  }),
  Route.get("/cart", ({ session }) => ({ cart: session.get("cart", []) })),
  Route.get("/status", ({ session }) => ({ status: session.flashed("status") })),
  Route.get("/slow", async ({ session }) => {
    const cart = session.get("cart", []);
    await slow.promise;
    return { cart };
  }),
];

const ALL = { status: "Saved.", other: 1, name: "Ada", errors: ["name"] };
const NONE = { status: null, other: null, name: null, errors: [] };

afterEach(() => {
  setClock(null);
  slow = Promise.withResolvers();
});

describe.each(["cookie", "database"])("S162 with the store %s", (store) => {
  const create = (): Promise<Application> =>
    sessionApplication({ routes: ROUTES, session: { store }, web: [SessionMiddleware] });

  const page = async (browser: Browser, path = "/page"): Promise<object> =>
    JSON.parse((await browser.send(path, { headers: PAGE })).text);

  test.each<[string, Record<string, string>]>([
    ["an image", IMAGE],
    ["a script's data", SCRIPT],
    ["a frame", FRAME],
    ["a page loaded ahead", AHEAD],
    ["an image over plain http", PLAIN_IMAGE],
    ["a script's data over plain http", PLAIN_SCRIPT],
  ])("%s leaves what was flashed for the next page, and sends no cookie", async (_, headers) => {
    const browser = new Browser(await create());
    await browser.send("/save", { method: "POST", headers: PAGE });
    for (let time = 0; time < 2; time++) {
      expect((await browser.send("/cart", { headers })).cookies).toEqual([]);
    }
    await browser.send("/count", { headers });
    expect(await page(browser)).toEqual(ALL);
    expect(await page(browser)).toEqual(NONE);
  });

  test("a page uses up flashed data, read or not", async () => {
    const browser = new Browser(await create());
    await browser.send("/save", { method: "POST", headers: PAGE });
    await page(browser, "/cart");
    expect(await page(browser)).toEqual(NONE);
  });

  test("data that a script's request reads is used up, as with a script that replaces the page, and nothing else is", async () => {
    const browser = new Browser(await create());
    await browser.send("/save", { method: "POST", headers: PAGE });
    expect(JSON.parse((await browser.send("/status", { headers: SCRIPT })).text)).toEqual({ status: "Saved." });
    expect(await page(browser)).toEqual({ ...ALL, status: null });
  });

  test("a late response doesn't restore the session's contents from the start of its request", async () => {
    let time = Date.now();
    setClock(() => time);
    const browser = new Browser(await create());
    await browser.send("/count", { headers: PAGE });
    // Long enough ago for a request that only reads to count as a use.
    time += 600_000;
    const late = browser.send("/slow", { headers: SCRIPT });
    await browser.send("/save", { method: "POST", headers: PAGE });
    time += 1001;
    slow.resolve();
    expect((await late).cookies).toEqual([]);
    expect(await page(browser)).toEqual(ALL);
  });

  test("a script's requests keep a session in use", async () => {
    let time = Date.now();
    setClock(() => time);
    const browser = new Browser(await create());
    await browser.send("/count", { headers: PAGE });
    for (let hour = 0; hour < 4; hour++) {
      time += 3_600_000;
      await browser.send("/cart", { headers: SCRIPT });
    }
    expect(browser.cookies.size).toBe(1);
    expect((await browser.send("/count", { headers: SCRIPT })).cookies).toEqual(["session"]);
  });
});
