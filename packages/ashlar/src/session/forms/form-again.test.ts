import { describe, expect, test } from "vitest";
import { Browser, sessionApplication } from "../../../test/support/session-application.ts";
import type { Application } from "../../boot/index.ts";
import type { HttpResponse } from "../../http/index.ts";
import { Route, type RouteEntry } from "../../routing/index.ts";
import { AshlarError } from "../../support/index.ts";

const FORM = `<form method="post">{{ csrf_field }}<input name="article" value="{{ old('article') }}"></form>
@each((problems, field) in errors)
<p>{{ field }}: {{ problems.map(({ message }) => message).join() }}</p>
@end`;

/** A page that responds with a redirect, or with a similar status. */
const leading = (status: number, location: string | null) =>
  Route.get(`/${status}/${location === null ? "nowhere" : "on"}`, ({ response }): HttpResponse => {
    response.status(status).text("its own words");
    return location === null ? response : response.header("location", location);
  });

const ROUTES: readonly RouteEntry[] = [
  Route.view("/form", "form"),
  Route.post("/form", () => "done"),
  Route.get("/gone", ({ response, session, view }) => {
    session.put("seen", true);
    response.status(404);
    return view.render("form");
  }),
  Route.get("/checked", ({ response, session }) => {
    session.flashErrors({ name: ["Choose a name first."] });
    return response.redirect("/form");
  }),
  leading(299, "/form"),
  leading(300, "/form"),
  leading(308, "/form"),
  leading(300, null),
  leading(400, "/form"),
  Route.post("/@status/@place", () => "done"),
  Route.post("/gone", () => "done"),
  Route.post("/checked", () => "done"),
  Route.post("/apart", () => "done"),
  Route.get("/cart/add", ({ session }) => {
    session.put("cart", "a lamp");
    return "added";
  }),
  Route.get("/cart", ({ session }) => String(session.get("cart"))),
  Route.get("/busy", ({ response }) => response.redirect("/form")),
  Route.post("/often", () => Promise.reject(new AshlarError("E_TOO_MANY_REQUESTS"))),
  Route.view("/often", "form"),
  Route.get("/asked", () => {
    asked++;
    throw new AshlarError("E_TOO_MANY_REQUESTS");
  }),
  Route.view("/forbidden", "form"),
  Route.post("/forbidden", () => Promise.reject(new AshlarError("E_FORBIDDEN"))),
  Route.view("/foreign", "form"),
  Route.post("/foreign", () => Promise.reject(Object.assign(new Error("no"), { code: "E_TOO_MANY_REQUESTS" }))),
  Route.get("/things", ({ view }) => view.render("list")),
  Route.view("/things/create", "form"),
  Route.post("/things", () => "done"),
  Route.post("/things/often", () => Promise.reject(new AshlarError("E_TOO_MANY_REQUESTS"))),
  Route.post("/busy", () => Promise.reject(new AshlarError("E_TOO_MANY_REQUESTS"))),
];

const logged: Record<string, unknown>[] = [];
/** How often the page `/asked` was requested. */
let asked = 0;

function create(): Promise<Application> {
  logged.length = 0;
  return sessionApplication({ routes: ROUTES, views: { form: FORM, list: `<h1>all things</h1>${FORM}` }, logged });
}

/**
 * Without `Referer`, like some browsers. Then the form's page is the page at the form's path.
 */
const ANONYMOUS = { headers: { referer: null } };

/** A browser that has a session. */
async function known(application: Application): Promise<Browser> {
  const browser = new Browser(application);
  await browser.open("/form");
  return browser;
}

test("S26 a form without a session is shown again with one, in which it can be sent", async () => {
  const browser = new Browser(await create());
  const headers = { "content-length": "14" };
  browser.page = await browser.post("/form", { article: "a lamp" }, { headers });
  expect([browser.page.status, browser.page.cookies]).toEqual([419, ["session"]]);
  expect(browser.page.text).toContain('value="a lamp"');
  expect((await browser.submit("/form")).text).toBe("done");
});

test.each([
  [300, "on", 303],
  [308, "on", 303],
  [299, "on", 419],
  [400, "on", 419],
  [300, "nowhere", 419],
])("an expired form whose page responds with %i and leads %s gets %i", async (status, place, answered) => {
  const browser = await known(await create());
  const { status: given, headers } = await browser.post(`/${status}/${place}`, {}, ANONYMOUS);
  expect([given, headers.get("location")]).toEqual([answered, answered === 303 ? "/form" : null]);
  expect(logged).toEqual([]);
});

test("a page that redirects after an expired form starts no session", async () => {
  const browser = new Browser(await create());
  const { status, cookies } = await browser.post("/300/on");
  expect([status, cookies]).toEqual([303, []]);
});

test("problems that the page itself has found are shown at the redirect's target, after an expired form too", async () => {
  const browser = await known(await create());
  expect((await browser.post("/checked", {}, ANONYMOUS)).status).toBe(303);
  const { text } = await browser.open("/form");
  expect(text).toContain("<p>name: Choose a name first.</p>");
  expect(text).not.toContain("had expired");
  expect(logged).toEqual([]);
});

test("a page that no longer exists is not sent as a form again, even if it is rendered with the messages", async () => {
  const browser = await known(await create());
  const { status, text } = await browser.post("/gone", {}, ANONYMOUS);
  expect([status, text.includes("<form")]).toEqual([419, false]);
});

test("a throttled form does not follow its page's redirect", async () => {
  const browser = await known(await create());
  const answer = await browser.post("/busy", { __token: browser.token }, ANONYMOUS);
  expect([answer.status, answer.headers.get("location")]).toEqual([429, null]);
});

test("a form at an address without a page is refused, and nothing else fails", async () => {
  const browser = await known(await create());
  expect((await browser.post("/apart", {}, ANONYMOUS)).status).toBe(419);
  expect(logged).toEqual([]);
});

describe("a form that is sent to a path other than its page's", () => {
  test("is shown again with the typed text, if its token proves its page", async () => {
    const browser = new Browser(await create());
    await browser.open("/things/create?draft=1");
    const { status, text } = await browser.post("/things/often", { __token: browser.token, article: "a lamp" });
    expect([status, text.includes("<form"), text.includes('value="a lamp"')]).toEqual([429, true, true]);
    expect(text).not.toContain("all things");
  });

  test("gets an error page that leads back to its page with the typed text, if its token has expired", async () => {
    const browser = new Browser(await create());
    await browser.open("/things/create?draft=1");
    const refused = await browser.post("/things", { __token: "stale", article: "a lamp" });
    expect([refused.status, refused.headers.get("location")]).toEqual([419, null]);
    expect(refused.text).toContain("The page had expired, and nothing was changed.");
    expect(refused.text).toContain('<a class="button" href="/things/create?draft=1">Back to the page</a>');
    const { text } = await browser.open("/things/create?draft=1");
    expect([text.includes('value="a lamp"'), text.includes("had expired")]).toEqual([true, false]);
  });

  test("ends no session that has no room for the typed text", async () => {
    const browser = new Browser(await create());
    await browser.open("/cart/add");
    await browser.open("/things/create");
    const refused = await browser.post("/things", { __token: "stale", article: "a lamp ".repeat(1000) });
    expect([refused.status, refused.text.includes("What you typed could not be kept.")]).toEqual([419, true]);
    expect((await browser.send("/cart")).text).toBe("a lamp");
  });

  test.each([
    ["a page of another site", "http://evil.example/things/create"],
    ["an address that no route has", "http://localhost/nowhere"],
    ["no address", null],
  ])("is shown as the page at its own path, if it names %s", async (_, referer) => {
    const browser = new Browser(await create());
    await browser.open("/things/create");
    const { status, text } = await browser.post("/things", { __token: "stale" }, { headers: { referer } });
    expect([status, text.includes("all things")]).toEqual([419, true]);
  });

  test("S27 is not shown, if the browser doesn't say that this site sent it", async () => {
    const browser = new Browser(await create());
    await browser.open("/things/create");
    const headers = { "sec-fetch-site": "none" };
    const { status, text } = await browser.post("/things", { article: "a lamp" }, { headers });
    expect([status, text.includes("all things"), text.includes("a lamp")]).toEqual([419, true, false]);
  });
});

test("a form that is refused and not shown starts no session", async () => {
  const browser = new Browser(await create());
  const { status, cookies } = await browser.post("/gone", { article: "a lamp" }, ANONYMOUS);
  expect([status, cookies]).toEqual([419, []]);
});

test("S27 a request's body is not even read unless the request is known to come from this site", async () => {
  const application = await create();
  const headers = { "content-type": "application/x-www-form-urlencoded", "content-length": "9", accept: "text/html" };
  const sent = (site: string): Request => {
    const all = { ...headers, "sec-fetch-site": site };
    return new Request("http://localhost/form", { method: "POST", headers: all, body: "article=a" });
  };
  const [own, other] = [sent("same-origin"), sent("none")];
  for (const request of [own, other]) expect((await application.fetch(request)).status).toBe(419);
  expect([own.bodyUsed, other.bodyUsed]).toEqual([true, false]);
});

test("an expired form that cannot be parsed is shown empty", async () => {
  const browser = new Browser(await create());
  const headers = { "content-type": "multipart/form-data", "content-length": "4" };
  const { status, text } = await browser.send("/form", { method: "POST", headers, body: "what" });
  expect([status, text.includes("<form"), logged]).toEqual([419, true, []]);
});

test("a throttled page is not requested again", async () => {
  asked = 0;
  const browser = await known(await create());
  expect([(await browser.send("/asked")).status, asked]).toEqual([429, 1]);
});

test.each([
  ["forbidden", 403],
  ["foreign", 500],
])("a form that has failed for another reason, as in /%s, is not shown again", async (path, answered) => {
  const browser = await known(await create());
  const { status, text } = await browser.post(`/${path}`, { __token: browser.token });
  expect([status, text.includes("<form")]).toEqual([answered, false]);
  expect(logged.filter(({ msg }) => String(msg).includes("could not be shown"))).toEqual([]);
});

test("S27 input that is not known to come from a page of this site is not filled in, even if it was read", async () => {
  const browser = await known(await create());
  const headers = { "sec-fetch-site": "none" };
  const { status, text } = await browser.post("/form", { article: "a lamp" }, { headers });
  expect([status, text.includes("<form"), text.includes("a lamp")]).toEqual([419, true, false]);
});

test("a throttled form is shown again, even if an expired one would get another response", async () => {
  const application = await create();
  application.container.make("session").respondToExpired = ({ response }) => response.text("done already");
  const browser = await known(application);
  const often = await browser.post("/often", { __token: browser.token });
  expect([often.status, often.text.includes("<form")]).toEqual([429, true]);
  expect((await browser.post("/often")).text).toBe("done already");
});
