import { describe, expect, test } from "vitest";
import { plain } from "../../../test/support/field-errors.ts";
import { Browser, sessionApplication } from "../../../test/support/session-application.ts";
import type { Application } from "../../boot/index.ts";
import { Route, type RouteEntry } from "../../routing/index.ts";
import { ValidationError } from "../../support/index.ts";
import { SessionMiddleware } from "../index.ts";

const ROUTES: readonly RouteEntry[] = [
  Route.get("/read", ({ session }) => ({ all: session.all(), errors: session.errors(), name: session.old("name") })),
  Route.get("/form", ({ session, csrfField }) => {
    return JSON.stringify({
      errors: session.errors(),
      name: session.old("name"),
      story: session.old("story"),
      token: `${csrfField}`,
    });
  }),
  Route.post("/form", () => {
    throw new ValidationError({ name: ["is taken"] });
  }),
];

/** The data available to the next page. */
async function read(browser: Browser): Promise<unknown> {
  return JSON.parse((await browser.send("/read")).text);
}

describe("forms with mistakes", () => {
  const create = (session: object = {}): Promise<Application> =>
    sessionApplication({
      routes: [...ROUTES, Route.post("/elsewhere", () => Promise.reject(new ValidationError({ "": ["no"] })))],
      session,
      web: [SessionMiddleware],
    });

  test.each(["cookie", "database"])(
    "the form is shown again with messages and the typed input, once (%s)",
    async (store) => {
      const browser = new Browser(await create({ store }));
      await browser.open("/form");
      const answer = await browser.post("/form", { name: "Ada", password: "hunter22", __token: browser.token });
      expect([answer.status, answer.headers.get("location"), answer.text]).toEqual([303, "/form", ""]);
      const again = JSON.parse((await browser.open("/form")).text);
      expect([again.errors, again.name]).toEqual([plain({ name: ["is taken"] }), "Ada"]);
      const later = JSON.parse((await browser.open("/form")).text);
      expect([later.errors, later.name]).toEqual([{}, null]);
    },
  );

  test("the redirect goes to the page that contained the form, even if its path differs", async () => {
    const browser = new Browser(await create());
    await browser.open("/form?step=2");
    expect((await browser.post("/elsewhere")).headers.get("location")).toBe("/form?step=2");
  });

  test("S29 a Referer from another site never redirects to that site", async () => {
    const browser = new Browser(await create());
    for (const referer of [
      "https://evil.example/form",
      "http://localhost//evil.example",
      "http://localhost@evil.example/",
      "javascript:alert(1)",
    ]) {
      const answer = await browser.post("/elsewhere", {}, { headers: { referer } });
      expect([answer.status, answer.headers.get("location")]).toEqual([303, "/"]);
    }
  });

  test("without a Referer the redirect goes to the form's own path if that is a page, otherwise to the home page", async () => {
    const browser = new Browser(await create());
    expect((await browser.post("/form?x=1", {}, { headers: { referer: null } })).headers.get("location")).toBe("/form");
    expect((await browser.post("/elsewhere", {}, { headers: { referer: null } })).headers.get("location")).toBe("/");
  });

  test("without a Referer, a form whose path is too long for a redirect leads to the home page", async () => {
    const routes = [
      Route.get("/@name", () => "a page"),
      Route.post("/@name", () => Promise.reject(new ValidationError({ "": ["no"] }))),
    ];
    const browser = new Browser(await sessionApplication({ routes, web: [SessionMiddleware] }));
    const answer = await browser.post(`/${"a".repeat(2048)}`, {}, { headers: { referer: null } });
    expect([answer.status, answer.headers.get("location")]).toEqual([303, "/"]);
  });

  test("a caller that wants JSON gets the problem document and no session", async () => {
    const browser = new Browser(await create());
    const answer = await browser.send("/form", {
      method: "POST",
      body: "{}",
      headers: { accept: "application/json", "content-type": "application/json" },
    });
    expect([answer.status, answer.headers.get("content-type"), answer.cookies]).toEqual([
      422,
      "application/problem+json",
      [],
    ]);
    expect(JSON.parse(answer.text)).toMatchObject({ code: "E_INVALID_INPUT", errors: plain({ name: ["is taken"] }) });
  });

  test("a GET request with mistakes is not redirected, because it would redirect to itself", async () => {
    const application = await sessionApplication({
      routes: [Route.get("/list", ({ request }) => request.integer("page"))],
      web: [SessionMiddleware],
    });
    const answer = await new Browser(application).send("/list?page=x", {
      headers: { referer: "http://localhost/list?page=x" },
    });
    expect([answer.status, answer.headers.get("location"), answer.cookies]).toEqual([422, null, []]);
  });

  test("input that does not fit is left out; the messages and the rest are kept", async () => {
    const browser = new Browser(await create());
    // There is no page at this form's path.
    const answer = await browser.post("/elsewhere", { name: "Ada", story: "x".repeat(100_000) });
    expect([answer.status, answer.cookies]).toEqual([303, ["session"]]);
    expect(await read(browser)).toEqual({ all: {}, errors: plain({ "": ["no"] }), name: "Ada" });
  });

  test("the input never exceeds the available space, whatever its length", async () => {
    const browser = new Browser(await create());
    const kept: boolean[] = [];
    for (let length = 2400; length < 3000; length += 12) {
      const story = "x".repeat(length);
      expect([length, (await browser.post("/elsewhere", { story })).status]).toEqual([length, 303]);
      kept.push(JSON.parse((await browser.send("/form")).text).story === story);
    }
    const lost = kept.indexOf(false);
    expect([lost > 0, kept.slice(lost).includes(true)]).toEqual([true, false]);
  });

  test("messages that do not fit are summarized", async () => {
    const errors = Object.fromEntries(
      Array.from({ length: 500 }, (_, index) => [`items.${index}.name`, ["is missing"]]),
    );
    const routes = [...ROUTES, Route.post("/many", () => Promise.reject(new ValidationError(errors)))];
    const browser = new Browser(await sessionApplication({ routes, web: [SessionMiddleware] }));
    expect((await browser.post("/many", { name: "Ada" })).status).toBe(303);
    const summary = { rule: "errors.E_INVALID_INPUT", params: {}, message: "Some of the input is not valid." };
    expect(await read(browser)).toEqual({ all: {}, errors: { "": [summary] }, name: "Ada" });
  });
});
