import { describe, expect, test } from "vitest";
import { Browser, type Page, type Sent, sessionApplication } from "../../test/support/session-application.ts";
import type { Application } from "../boot/index.ts";
import { Route, type RouteEntry } from "../routing/index.ts";
import { AshlarError, ValidationError } from "../support/index.ts";
import { csrfToken } from "./csrf-field.ts";

const FORM = `<form method="post">{{ csrf_field }}<textarea name="story">{{ old('story') }}</textarea></form>
@each(problems in Object.values(errors))
<p>{{ problems.map(({ message }) => message).join() }}</p>
@end`;
const COUNTED = `<title>{{ Object.keys(errors).length > 0 ? 'Error' : 'Form' }}</title>{{ csrf_field }}`;
const STORY = "and so on ".repeat(2000);

const often = () => Promise.reject(new AshlarError("E_TOO_MANY_REQUESTS"));
const refuse = () => Promise.reject(new ValidationError({ title: ["is taken"] }));

/** How often the page that others guard was run. */
let shown = 0;

const ROUTES: readonly RouteEntry[] = [
  Route.get("/admin/report", ({ view }) => {
    shown++;
    return view.render("report");
  }),
  Route.view("/login", "form"),
  Route.post("/login", () => "done"),
  Route.view("/orders/create", "form"),
  Route.get("/orders", () => "all orders"),
  Route.post("/orders", refuse),
  Route.post("/often", often),
  Route.get("/token", (context) => csrfToken(context)),
  Route.view("/counted", "counted"),
  Route.post("/counted", refuse),
];

const BASES = [["", {}] as const, ["/shop", { APP_URL: "http://localhost/shop" }] as const];

function create(environment: Record<string, string> = {}): Promise<Application> {
  shown = 0;
  const views = { form: FORM, report: `<h1>the report</h1>${FORM}`, counted: COUNTED };
  return sessionApplication({ routes: ROUTES, views, environment });
}

/** Sends a form that names a page by a field or by its address. */
function naming(
  browser: Browser,
  path: string,
  page: { field?: string; referer?: string },
  fields: Record<string, string> = {},
): Promise<Page> {
  const body = new URLSearchParams({ ...fields, ...(page.field !== undefined && { __page: page.field }) }).toString();
  const sent: Sent = {
    body,
    headers: {
      "content-type": "application/x-www-form-urlencoded",
      "content-length": String(body.length),
      referer: page.referer === undefined ? null : `http://localhost${page.referer}`,
    },
  };
  return browser.send(path, { method: "POST", ...sent });
}

describe.each(BASES)("S163 under the base path %j, a response to a form shows no page of another path", (base, env) => {
  const ways = [
    ["a field", { field: "/admin/report?all=1" }],
    ["Referer", { referer: `${base}/admin/report?all=1` }],
  ] as const;

  describe.each(ways)("that it names by %s", (_, page) => {
    test("without a session", async () => {
      const answer = await naming(new Browser(await create(env)), `${base}/login`, page);
      expect([answer.status, answer.text.includes("the report"), shown]).toEqual([419, false, 0]);
      expect(answer.cookies).toEqual([]);
    });

    test.each([
      ["an expired form", "/login", false],
      ["a throttled form", "/often", true],
      ["a form with mistakes that the session can't hold", "/orders", true],
    ])("within a session: %s", async (_, path, isValid) => {
      const browser = new Browser(await create(env));
      await browser.open(`${base}/login`);
      const fields = { __token: isValid ? browser.token : "stale", story: STORY, name: "Ada" };
      const answer = await naming(browser, `${base}${path}`, page, fields);
      const location = `${base}/admin/report?all=1`;
      expect([answer.status, answer.headers.get("location"), shown]).toEqual([303, location, 0]);
      expect((await browser.open(location)).text).toMatch(/<p>.+<\/p>/);
    });

    test("with a token of that page in another session", async () => {
      const application = await create(env);
      const [other, browser] = [new Browser(application), new Browser(application)];
      await other.open(`${base}/admin/report`);
      await browser.open(`${base}/login`);
      shown = 0;
      const answer = await naming(browser, `${base}/login`, page, { __token: other.token });
      expect([answer.status, shown]).toEqual([303, 0]);
    });

    test("with a token that no page has shown", async () => {
      const browser = new Browser(await create(env));
      await browser.open(`${base}/login`);
      const { text } = await browser.send(`${base}/token`);
      const answer = await naming(browser, `${base}/often`, page, { __token: text });
      expect([answer.status, shown]).toEqual([303, 0]);
    });
  });

  test("but the page that it was sent from, as its token proves, again and again", async () => {
    const browser = new Browser(await create(env));
    browser.page = await browser.open(`${base}/orders/create?draft=1`);
    for (const path of ["/orders", "/often", "/orders"]) {
      const field = /name="__page" value="([^"]*)"/.exec(browser.page.text)?.[1];
      const page = field === undefined ? { referer: `${base}/orders/create?draft=1` } : { field };
      const answer = await naming(browser, `${base}${path}`, page, { __token: browser.token, story: STORY });
      expect([answer.status, answer.text.includes(STORY)]).toEqual([path === "/often" ? 429 : 422, true]);
      browser.page = answer;
    }
  });
});

test("S163 a token proves its page at its host only", async () => {
  const environment = { APP_URL: "http://localhost", APP_HOSTS: "*.localhost" };
  const browser = new Browser(await create(environment));
  await browser.open("/orders/create");
  const headers = { host: "a.localhost", origin: "http://a.localhost" };
  const fields = { __token: browser.token, __page: "/orders/create", story: STORY };
  expect((await browser.post("/orders", fields, { headers })).status).toBe(303);
});

test("a page that only counts the mistakes, in its title, is not what a refused form gets", async () => {
  const browser = new Browser(await create());
  await browser.open("/counted");
  expect((await browser.post("/counted", { __token: browser.token, story: STORY })).status).toBe(303);
  const expired = await browser.post("/counted", { __token: "stale" });
  expect([expired.status, expired.text.includes("<title>Error</title>")]).toEqual([419, false]);
});
