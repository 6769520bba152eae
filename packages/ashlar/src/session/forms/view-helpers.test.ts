import { describe, expect, test, vi } from "vitest";
import { Browser, sessionApplication } from "../../../test/support/session-application.ts";
import type { Application } from "../../boot/index.ts";
import { Route, type RouteEntry } from "../../routing/index.ts";
import { ValidationError } from "../../support/index.ts";

const FORM = `<form method="post">{{ csrf_field }}
@if(flash('status'))
<p>{{ flash('status') }}</p>
@end
<input name="name" value="{{ old('name') }}"><input name="city" value="{{ old('city', 'Rome') }}">
@each(problem in errors.name)
<i>{{ problem.message }}</i>
@end
@!component('components/summary')
</form>`;

const VIEWS = {
  plain: "<p>{{ title }}</p>",
  form: FORM,
  "components/summary": "@each((problems, field) in errors)\n<b>{{ field }}: {{ problems.length }}</b>\n@end",
  token: '<meta name="csrf" content="{{ csrf_token() }}">',
  everything:
    "[{{ csrf_field }}][{{ csrf_token() }}][{{ old('a') }}][{{ old('a', 'b') }}][{{ Object.keys(errors).length }}][{{ flash('a') }}][{{ flash('a', 'c') }}]",
  has: "{{ 'name' in errors }} {{ 'toString' in errors }} {{ typeof errors.toString }}",
};

const ROUTES: readonly RouteEntry[] = [
  Route.get("/plain", ({ view }) => view.render("plain", { title: "Hello" })),
  Route.view("/form", "form"),
  Route.post("/form", ({ session, request, response }) => {
    if (request.input("name") !== "Ada")
      throw new ValidationError({ name: ["is <odd>", "is taken"], city: ["is far"] });
    session.flash("status", "Saved & sound.");
    return response.redirect("/form").status(303);
  }),
  Route.view("/token", "token"),
  Route.view("/everything", "everything"),
  Route.view("/has", "has"),
  Route.view("/bare", "everything").withoutMiddleware("web"),
];

function create(session: object = {}): Promise<Application> {
  return sessionApplication({ routes: ROUTES, views: VIEWS, session });
}

describe.each(["cookie", "database"])("pages with the store %s", (store) => {
  test("S26 csrf_field is the hidden input, unescaped, and its form works", async () => {
    const browser = new Browser(await create({ store }));
    const page = await browser.open("/form");
    expect(page.text).toMatch(/^<form method="post"><input type="hidden" name="__token" value="[\w-]{86}">\n/);
    expect((await browser.post("/form", { name: "Ada" })).status).toBe(419);
    expect((await browser.submit("/form", { name: "Ada" })).text).toContain("<p>Saved &amp; sound.</p>");
    expect((await browser.open("/form")).text).not.toContain("Saved");
  });

  test("S41 a form with mistakes is shown again with messages and the typed input, escaped, and without the password", async () => {
    const browser = new Browser(await create({ store }));
    await browser.open("/form");
    const typed = '"><script>alert(1)</script>';
    const { text } = await browser.submit("/form", { name: typed, password: "hunter22" });
    expect(text).toContain(
      '<input name="name" value="&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;"><input name="city" value="Rome">',
    );
    expect(text).toContain("<i>is &lt;odd&gt;</i>\n<i>is taken</i>");
    expect(text).toContain("<b>name: 2</b>\n<b>city: 1</b>");
    expect((await browser.open("/form")).text).not.toContain("script");
  });

  test("a page that uses no helper opens no session and sets no cookie", async () => {
    const browser = new Browser(await create({ store }));
    const page = await browser.open("/plain");
    expect([page.text, page.cookies, page.headers.get("vary")]).toEqual(["<p>Hello</p>", [], null]);
  });

  test("a page that only looks for messages sets no cookie", async () => {
    const page = await new Browser(await create({ store })).open("/has");
    expect([page.text, page.cookies, page.headers.get("vary")]).toEqual(["false false undefined", [], "cookie"]);
  });

  test("the messages of a form that is shown again can be looked up by field", async () => {
    const browser = new Browser(await create({ store }));
    await browser.open("/form");
    await browser.post("/form", { __token: browser.token, name: "Bob" });
    expect((await browser.open("/has")).text).toBe("true false undefined");
  });

  test("all helpers are empty if nothing was typed or flashed", async () => {
    const page = await new Browser(await create({ store })).open("/everything");
    expect(page.text).toMatch(/^\[<input [^\]]*>\]\[[\w-]{86}\]\[\]\[b\]\[0\]\[null\]\[c\]$/);
  });
});

test("S26 the first page of an application prints the input unescaped, before anything else was rendered", async () => {
  const application = await create();
  const pages = await Promise.all(Array.from({ length: 5 }, () => new Browser(application).open("/form")));
  for (const page of pages) expect(page.text).toContain('<input type="hidden" name="__token"');
});

describe("in a new process", () => {
  /** Loads the modules again, in their initial state. */
  async function begun() {
    vi.resetModules();
    const support = await import("../../../test/support/session-application.ts");
    const routing = await import("../../routing/index.ts");
    return { ...support, Route: routing.Route };
  }

  test("S26 a page that was used to render a mail before prints the input unescaped", async () => {
    const fresh = await begun();
    const routes = [fresh.Route.view("/everything", "everything")];
    const application = await fresh.sessionApplication({ routes, views: VIEWS });
    await application.container.make("views").render("everything");
    const { text } = await new fresh.Browser(application).open("/everything");
    expect(text).toContain('[<input type="hidden" name="__token"');
  });

  test.each([{ views: VIEWS }, {}])("the first response that renders no page waits for nothing", async (options) => {
    const fresh = await begun();
    const routes = [fresh.Route.get("/plain", () => "plain")];
    const application = await fresh.sessionApplication({ routes, ...options });
    expect(application.fetch(new Request("http://localhost/plain"))).toBeInstanceOf(Response);
  });
});

test("csrf_token() gives scripts the bare token", async () => {
  const browser = new Browser(await create());
  const token = /content="([\w-]{86})"/.exec((await browser.open("/token")).text)![1]!;
  const answer = await browser.send("/form", {
    method: "POST",
    headers: { "x-csrf-token": token, accept: "application/json" },
  });
  expect(answer.status).toBe(422);
});

test("on a page without a session, such as a 404, all helpers are empty and none fails", async () => {
  const application = await create();
  application.errorPage(404, ({ view }) => view.render("everything"));
  const browser = new Browser(application);
  const nothing = "[][][][b][0][null][c]";
  expect((await browser.send("/bare")).text).toBe(nothing);
  const unknown = await browser.send("/unknown");
  expect([unknown.status, unknown.text, unknown.cookies]).toEqual([404, nothing, []]);
});

test("in a template rendered outside of a request, such as a mail, all helpers are empty", async () => {
  const application = await create();
  expect(await application.container.make("views").render("everything")).toBe("[][][][b][0][null][c]");
});

test("an error page of a route has the session's helpers, and its form works", async () => {
  const application = await sessionApplication({
    routes: [...ROUTES, Route.get("/fail", () => Promise.reject(new ValidationError({ x: ["y"] })))],
    views: VIEWS,
  });
  application.errorPage(422, ({ view }) => view.render("form"));
  const browser = new Browser(application);
  browser.page = await browser.send("/fail");
  expect(browser.page.status).toBe(422);
  expect((await browser.submit("/form", { name: "Ada" })).text).toContain("Saved");
});

test("S24 pages rendered concurrently do not mix", async () => {
  const application = await create();
  const browsers = Array.from({ length: 60 }, () => new Browser(application));
  await Promise.all(browsers.map((browser) => browser.open("/form")));
  const pages = await Promise.all(browsers.map((browser, index) => browser.submit("/form", { name: `n${index}` })));
  expect(pages.map((page) => /name="name" value="([^"]*)"/.exec(page.text)?.[1])).toEqual(
    pages.map((_, index) => `n${index}`),
  );
});
