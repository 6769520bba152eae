import { describe, expect, test } from "vitest";
import { Browser, type Page, type Sent, sessionApplication } from "../../../test/support/session-application.ts";
import type { Application } from "../../boot/index.ts";
import { Route, type RouteEntry } from "../../routing/index.ts";
import { AshlarError, ValidationError } from "../../support/index.ts";
import { csrfToken } from "./view-helpers.ts";

const FORM = `<form method="post">{{ csrf_field }}<textarea name="story">{{ old('story') }}</textarea><input name="name" value="{{ old('name') }}"></form>
@each(problems in Object.values(errors))
<p>{{ problems.map(({ message }) => message).join() }}</p>
@end`;
const COUNTED = `<title>{{ Object.keys(errors).length > 0 ? 'Error' : 'Form' }}</title>{{ csrf_field }}`;
const STORY = "and so on ".repeat(2000);

const often = () => Promise.reject(new AshlarError("E_TOO_MANY_REQUESTS"));
const refuse = () => Promise.reject(new ValidationError({ title: ["is taken"] }));

/** How often the guarded page ran. */
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

const VIEWS = { form: FORM, report: `<h1>the report</h1>${FORM}`, counted: COUNTED };

function create(environment: Record<string, string> = {}): Promise<Application> {
  shown = 0;
  return sessionApplication({ routes: ROUTES, views: VIEWS, environment });
}

/** The link of an error page's button. */
function linkOf({ text }: Page): string | null {
  return /<a class="button" href="([^"]*)">Back to the page<\/a>/.exec(text)?.[1]?.replaceAll("&amp;", "&") ?? null;
}

/** Sends a form that names its page in a field or in `Referer`. */
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

describe.each(BASES)(
  "S163 under the base path %j, a response to a form never shows a page at another path",
  (base, env) => {
    const ways = [
      ["a field", { field: "/admin/report?all=1" }],
      ["Referer", { referer: `${base}/admin/report?all=1` }],
    ] as const;

    describe.each(ways)("that the form names by %s", (_, page) => {
      const location = `${base}/admin/report?all=1`;

      test("without a session", async () => {
        const answer = await naming(new Browser(await create(env)), `${base}/login`, page);
        expect([answer.status, linkOf(answer), answer.cookies, shown]).toEqual([419, location, [], 0]);
        expect(answer.text).toContain(
          "Go back to it, and submit the form again. If that doesn&#39;t help, allow cookies",
        );
      });

      test.each([
        ["an expired form", "/login", 419, "The page had expired, and nothing was changed. Go back to it"],
        ["a throttled form", "/often", 429, "There were too many requests."],
      ])("within a session: %s", async (_, path, status, message) => {
        const browser = new Browser(await create(env));
        await browser.open(`${base}/login`);
        const fields = { __token: status === 419 ? "stale" : browser.token, story: "once", name: "Ada" };
        const answer = await naming(browser, `${base}${path}`, page, fields);
        expect([answer.status, linkOf(answer), shown]).toEqual([status, location, 0]);
        expect(answer.text).toContain(message);
        expect(answer.text).toContain("What you typed will be filled in again");
        const report = await browser.open(location);
        expect(report.text).toContain(">once</textarea>");
        // The error page has already explained what happened.
        expect(report.text).not.toContain("<p>");
      });

      test("within a session: a form with mistakes that is too large for the session", async () => {
        const browser = new Browser(await create(env));
        await browser.open(`${base}/login`);
        const fields = { __token: browser.token, story: STORY, name: "Ada" };
        const answer = await naming(browser, `${base}/orders`, page, fields);
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
        expect([answer.status, linkOf(answer), shown]).toEqual([419, location, 0]);
      });

      test("with a token that no page has shown", async () => {
        const browser = new Browser(await create(env));
        await browser.open(`${base}/login`);
        const { text } = await browser.send(`${base}/token`);
        const answer = await naming(browser, `${base}/often`, page, { __token: text });
        expect([answer.status, linkOf(answer), shown]).toEqual([429, location, 0]);
      });
    });

    test("except the page that it was sent from, as its token proves, any number of times", async () => {
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
  },
);

test("S163 a token proves its page at its host only", async () => {
  const environment = { APP_URL: "http://localhost", APP_HOSTS: "*.localhost" };
  const browser = new Browser(await create(environment));
  await browser.open("/orders/create");
  const headers = { host: "a.localhost", origin: "http://a.localhost" };
  const fields = { __token: browser.token, __page: "/orders/create", story: STORY };
  expect((await browser.post("/orders", fields, { headers })).status).toBe(303);
});

test("a page that only counts the mistakes, in its title, is not a refused form's page", async () => {
  const browser = new Browser(await create());
  await browser.open("/counted");
  expect((await browser.post("/counted", { __token: browser.token, story: STORY })).status).toBe(303);
  const expired = await browser.post("/counted", { __token: "stale" });
  expect([expired.status, expired.text.includes("<title>Error</title>")]).toEqual([419, false]);
});

describe("the button of an error page that leads back to a form's page", () => {
  const PAGE = { referer: "/admin/report" };
  const BACKGROUND = { accept: "image/png", "sec-fetch-dest": "image", "sec-fetch-mode": "no-cors" };

  test("fills it in again, whatever the error's page loads in the meantime", async () => {
    const browser = new Browser(await create());
    await browser.open("/login");
    await naming(browser, "/often", PAGE, { __token: browser.token, story: "once" });
    await browser.send("/token", { headers: BACKGROUND });
    expect((await browser.open("/admin/report")).text).toContain(">once</textarea>");
    expect((await browser.open("/admin/report")).text).not.toContain("once");
  });

  test("says if not all typed text could be kept, and restores the rest", async () => {
    const browser = new Browser(await create());
    await browser.open("/login");
    const answer = await naming(browser, "/login", PAGE, { __token: "stale", story: STORY, name: "Ada" });
    expect([answer.status, answer.text.includes("Not everything you typed could be kept.")]).toEqual([419, true]);
    expect((await browser.open("/admin/report")).text).toContain('value="Ada"');
  });

  test("doesn't mention the typed text if none of it may be kept", async () => {
    const browser = new Browser(await create());
    await browser.open("/login");
    const answer = await naming(browser, "/login", PAGE, { __token: "stale", password: "stone on stone" });
    expect([linkOf(answer), answer.text.includes("you typed")]).toEqual(["/admin/report", false]);
  });

  test("starts a session for the typed text if the form's session has ended", async () => {
    const browser = new Browser(await create());
    const answer = await naming(browser, "/login", PAGE, { __token: "stale", name: "Ada" });
    expect([answer.status, linkOf(answer), answer.cookies]).toEqual([419, "/admin/report", ["session"]]);
    const said =
      "The page had expired, and nothing was changed. Go back to it, and submit the form again. If that doesn&#39;t help, allow cookies for this site.";
    expect(answer.text).toContain(said);
    expect(answer.text).not.toContain("Go back, reload the page");
    expect(answer.text).toContain("What you typed will be filled in again, except for passwords and files.");
    const { text } = await browser.open("/admin/report");
    expect(text).toContain('value="Ada"');
  });

  test.each([
    ["some of it", { story: STORY, name: "Ada" }, ["session"], "Not everything you typed could be kept."],
    ["none of it", { story: STORY }, [], "What you typed could not be kept."],
  ])("says so if such a session has room for %s", async (_, fields, cookies, said) => {
    const answer = await naming(new Browser(await create()), "/login", PAGE, { __token: "stale", ...fields });
    expect([answer.status, linkOf(answer), answer.cookies]).toEqual([419, "/admin/report", cookies]);
    const notes = answer.text.match(/(Not everything|What) you typed [^.]*\./g);
    expect(notes).toEqual([said]);
  });

  test("says that the typed text is lost if it is too long to be read", async () => {
    const browser = new Browser(await create());
    const page = { referer: "/admin/report" };
    const answer = await naming(browser, "/login", page, { story: "x".repeat(1024 * 1024) });
    expect([answer.status, answer.cookies, linkOf(answer)]).toEqual([419, [], "/admin/report"]);
    expect(answer.text).toContain("What you typed could not be kept.");
  });

  test.each([
    ["nothing that may be kept was typed", {}, { password: "stone on stone" }],
    ["the browser doesn't say that this site sent the form", { "sec-fetch-site": "none" }, { name: "Ada" }],
    ["another site sent the form", { "sec-fetch-site": "cross-site", origin: "http://evil.example" }, { name: "Eve" }],
  ])("S27 starts no session if %s", async (_, headers, fields) => {
    const browser = new Browser(await create());
    const sent = { referer: "http://localhost/admin/report", ...headers };
    const body = new URLSearchParams(fields).toString();
    const answer = await browser.send("/often", {
      method: "POST",
      body,
      headers: { "content-type": "application/x-www-form-urlencoded", "content-length": String(body.length), ...sent },
    });
    expect([answer.status, answer.cookies, answer.text.includes("you typed")]).toEqual([419, [], false]);
  });

  test("is in German for those who read German", async () => {
    const browser = new Browser(await sessionApplication({ routes: ROUTES, views: VIEWS, languages: ["de"] }));
    await browser.open("/login");
    const headers = { "accept-language": "de", referer: "http://localhost/admin/report" };
    const { text } = await browser.post("/login", { __token: "stale", name: "Ada" }, { headers });
    expect(text).toContain("Die Seite war abgelaufen, und es wurde nichts geändert. Gehen Sie zur Seite zurück");
    expect(text).toContain("Ihre Eingaben werden dort wieder eingetragen");
    expect(text).toContain('<a class="button" href="/admin/report">Zurück zur Seite</a>');
  });

  test("is passed to the application's own error pages", async () => {
    const error = "{{ status }}|{{ message }}|{{ formPage ? formPage.url + '|' + formPage.note : 'no form' }}";
    const browser = new Browser(await sessionApplication({ routes: ROUTES, views: { ...VIEWS, error } }));
    await browser.open("/login");
    const answer = await naming(browser, "/login", PAGE, { __token: "stale", name: "Ada" });
    expect([answer.status, answer.text]).toEqual([
      419,
      "419|The page had expired, and nothing was changed. Go back to it, and submit the form again.|/admin/report|" +
        "What you typed will be filled in again, except for passwords and files.",
    ]);
    expect((await browser.send("/nowhere")).text).toContain("404|");
    expect((await browser.send("/nowhere")).text).toContain("|no form");
  });
});

describe("S163 a field that names the form's page counts only if this site sent the form", () => {
  const FOREIGN = { "sec-fetch-site": "cross-site", origin: "http://evil.example" };

  test.each([
    ["/login", "another path's page", "/admin/report"],
    ["/login", "its own page with another query", "/login?name=Eve"],
  ])("to %s, %s", async (path, _, field) => {
    const browser = new Browser(await create());
    await browser.open("/login");
    for (const headers of [FOREIGN, { "sec-fetch-site": "none" }]) {
      const answer = await browser.post(path, { __token: "stale", __page: field }, { headers });
      expect([answer.status, linkOf(answer), answer.text.includes("Eve"), shown]).toEqual([419, null, false, 0]);
    }
  });
});

test("S33 a throttled form that is shown again says when it may be sent again", async () => {
  const limited = () =>
    Promise.reject(new AshlarError("E_TOO_MANY_REQUESTS", "Wait.", { headers: { "retry-after": "7" } }));
  const routes = [Route.view("/form", "form"), Route.post("/form", limited), Route.post("/apart", limited), ROUTES[0]!];
  const application = await sessionApplication({ routes, views: { form: FORM, report: FORM } });
  const browser = new Browser(application);
  await browser.open("/form");
  const again = await browser.post("/form", { __token: browser.token });
  expect([again.status, again.headers.get("retry-after"), again.text.includes("<form")]).toEqual([429, "7", true]);
  const apart = await naming(browser, "/apart", { referer: "/admin/report" }, { __token: browser.token });
  expect([apart.status, apart.headers.get("retry-after"), linkOf(apart)]).toEqual([429, "7", "/admin/report"]);
});
