import { describe, expect, test } from "vitest";
import { Browser, sessionApplication } from "../../../test/support/session-application.ts";
import type { Application } from "../../boot/index.ts";
import { Route, type RouteEntry } from "../../routing/index.ts";
import { AshlarError, ValidationError } from "../../support/index.ts";

/** A page that shows its path, the errors and the input. */
const PAGE = `<h1>{{ heading }}</h1>
<form method="post">{{ csrf_field }}<input name="title" value="{{ old('title') }}"><textarea name="story">{{ old('story') }}</textarea>
<input name="tags" value="{{ old('tags.1') }}"></form>
@each((problems, field) in errors)
<p>{{ field }}: {{ problems.map(({ message }) => message).join() }}</p>
@end`;

const STORY = `Once upon a time ${"and so on ".repeat(20_000)}The end`;
const SECRETS = { password: "hunter22!", api_token: "t0ken", "card[secret]": "s3cret" };

const refuse = (): never => {
  throw new ValidationError({ title: ["is taken"] });
};
const shown = Route.get("/stories/@id/edit", ({ request, view }) => {
  return view.render("page", {
    heading: `edit ${request.param("id")} ${request.string("tab", "none")} ${request.getPath()}`,
  });
});

const ROUTES: readonly RouteEntry[] = [
  Route.get("/stories", ({ view }) => view.render("page", { heading: "all" })),
  Route.get("/stories/create", ({ view }) => view.render("page", { heading: "create" })),
  shown,
  Route.post("/stories", refuse),
  Route.put("/stories/@id", refuse),
  Route.get("/silent", ({ csrfField }) => `<h1>silent</h1>${csrfField}`),
  Route.post("/silent", refuse),
  Route.get("/gone", () => Promise.reject(new AshlarError("E_NOT_FOUND"))),
  Route.post("/gone", refuse),
  Route.post("/nowhere", refuse),
  Route.post("/often", () => Promise.reject(new AshlarError("E_TOO_MANY_REQUESTS"))),
  Route.post("/kept", ({ request, response, session }) => {
    session.put("cart", 7).flashInput(request.all()).flash("status", "Wrong.");
    return response.redirect("/read");
  }),
  Route.get("/read", ({ session }) => ({
    all: session.all(),
    title: session.old("title"),
    story: session.old("story"),
  })),
];

const create = (session: object = {}): Promise<Application> =>
  sessionApplication({ routes: ROUTES, session, views: { page: PAGE } });

/** Whether a page shows the form with all typed text. */
function seen(text: string): object {
  return {
    heading: /<h1>(.*)<\/h1>/.exec(text)?.[1],
    story: text.includes(`>${STORY}</textarea>`),
    title: text.includes('value="A tale"'),
    tag: text.includes('name="tags" value="two"'),
    error: text.includes("<p>title: is taken</p>"),
  };
}

const typed = (browser: Browser, more: Record<string, string> = {}) => ({
  __token: browser.token,
  title: "A tale",
  story: STORY,
  "tags[0]": "one",
  "tags[1]": "two",
  ...SECRETS,
  ...more,
});
const COMPLETE = { story: true, title: true, tag: true, error: true };

describe.each(["cookie", "database"])("S163 with the store %s", (store) => {
  test("a refused form comes back with everything that was typed, however long", async () => {
    const browser = new Browser(await create({ store }));
    await browser.open("/stories/create");
    const answer = await browser.post("/stories", typed(browser));
    expect([answer.status, seen(answer.text)]).toEqual([422, { heading: "create", ...COMPLETE }]);
    for (const secret of Object.values(SECRETS)) expect(answer.text).not.toContain(secret);
    expect(answer.headers.get("cache-control")).toBe("private, no-store");
    // The form can be sent from there to its own address, and nothing is left for other pages.
    browser.page = answer;
    const page = /name="__page" value="([^"]*)"/.exec(answer.text)![1]!;
    const headers = { referer: "http://localhost/stories" };
    const again = await browser.post("/stories", typed(browser, { __page: page }), { headers });
    expect([again.status, seen(again.text)]).toEqual([422, { heading: "create", ...COMPLETE }]);
    const short = await browser.post("/stories", typed(browser, { __page: page, story: "" }), { headers });
    expect([short.status, short.headers.get("location")]).toEqual([303, "/stories/create"]);
    await browser.open("/stories");
    expect((await browser.open("/stories")).text).not.toContain("A tale");
  });
});

test("S163 a form that fits is redirected to its page, which shows the same as the response to a longer one", async () => {
  const browser = new Browser(await create());
  await browser.open("/stories/7/edit?tab=text");
  const short = { ...typed(browser), __method: "PUT", story: "Short." };
  const redirect = await browser.post("/stories/7", short);
  expect([redirect.status, redirect.headers.get("location")]).toEqual([303, "/stories/7/edit?tab=text"]);
  const followed = await browser.open("/stories/7/edit?tab=text");
  const long = await browser.post("/stories/7", typed(browser, { __method: "PUT" }));
  expect(long.status).toBe(422);
  const without = (text: string) =>
    text
      .replace(/value="[\w-]{86}"/, "")
      .replace(STORY, "Short.")
      .replace(/<input type="hidden" name="__page"[^>]*>/, "");
  expect(without(long.text)).toBe(without(followed.text));
  expect(long.text).toContain("<h1>edit 7 text /stories/7/edit</h1>");
});

test.each<[string, Record<string, string | null>]>([
  ["without a referrer, as from a page that hides its address", { referer: null }],
  ["over plain http without a referrer", { referer: null, "sec-fetch-site": null, origin: "null" }],
])("S163 %s, it is the page at its own path", async (_, headers) => {
  const browser = new Browser(await create());
  await browser.open("/stories/create");
  const answer = await browser.post("/stories", typed(browser), { headers });
  expect([answer.status, seen(answer.text)]).toEqual([422, { heading: "all", ...COMPLETE }]);
});

test.each(["silent", "gone", "nowhere"])(
  "S163 a page that can't show the messages gets as much as fits: /%s",
  async (path) => {
    const browser = new Browser(await create());
    await browser.open("/silent");
    const headers = { referer: `http://localhost/${path}` };
    expect((await browser.post(`/${path}`, typed(browser), { headers })).status).toBe(303);
    expect(seen((await browser.open("/stories")).text)).toEqual({ heading: "all", ...COMPLETE, story: false });
  },
);

test("S163 more mistakes than the session can hold are all shown", async () => {
  const errors = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`items.${index}`, ["is missing"]]));
  const many = Route.post("/many", () => Promise.reject(new ValidationError(errors)));
  const browser = new Browser(await sessionApplication({ routes: [...ROUTES, many], views: { page: PAGE } }));
  await browser.open("/stories/create");
  const { status, text } = await browser.post("/many", { __token: browser.token, title: "A tale" });
  expect([status, text.match(/is missing/g)?.length, text.includes('value="A tale"')]).toEqual([422, 500, true]);
});

test.each([
  ["expired", "/stories", 419, "/stories", "all"],
  ["throttled", "/often", 429, "/stories/create?draft=1", "create"],
])(
  "S163 a form that can be sent again unchanged is shown completely, too: %s",
  async (_, path, status, page, heading) => {
    const browser = new Browser(await create());
    await browser.open(page);
    const body = new URLSearchParams(typed(browser, status === 419 ? { __token: "stale" } : {})).toString();
    const headers = { "content-type": "application/x-www-form-urlencoded", "content-length": String(body.length) };
    const answer = await browser.send(path, { method: "POST", body, headers });
    expect([answer.status, seen(answer.text)]).toEqual([status, { heading, ...COMPLETE, error: false }]);
    for (const secret of Object.values(SECRETS)) expect(answer.text).not.toContain(secret);
  },
);

test("S163 data that a handler keeps for the next page never fails the response, and as much as fits is kept", async () => {
  const browser = new Browser(await create());
  await browser.open("/stories/create");
  expect((await browser.post("/kept", typed(browser))).status).toBe(302);
  expect(JSON.parse((await browser.send("/read")).text)).toEqual({
    all: { cart: 7, status: "Wrong." },
    title: "A tale",
    story: null,
  });
});

/** Lengths around the shortest length that meets a condition. */
async function lengthsAround(isSo: (length: number) => Promise<boolean>): Promise<number[]> {
  let [below, least] = [0, 8192];
  while (least - below > 1) {
    const middle = Math.floor((below + least) / 2);
    if (await isSo(middle)) least = middle;
    else below = middle;
  }
  return Array.from({ length: 100 }, (_, index) => least - 50 + index);
}

test("S163 no typed text is lost when the session is almost full", async () => {
  const application = await create();
  const send = async (length: number) => {
    const browser = new Browser(application);
    await browser.open("/stories/create");
    const title = "x".repeat(length);
    const { status, text } = await browser.post("/stories", { __token: browser.token, title });
    const page = status === 303 ? (await browser.open("/stories/create")).text : text;
    return { status, isWhole: page.includes(`value="${title}"`) && page.includes("<p>title: is taken</p>") };
  };
  const lengths = await lengthsAround(async (length) => (await send(length)).status === 422);
  for (const [index, length] of lengths.entries()) {
    expect(await send(length), `${length}`).toEqual({ status: index < 50 ? 303 : 422, isWhole: true });
  }
});

test("S163 no message is lost when the session is almost full", async () => {
  const long = Route.post("/long/@length", ({ request }) => {
    throw new ValidationError({ title: ["x".repeat(Number(request.param("length")))] });
  });
  const application = await sessionApplication({ routes: [...ROUTES, long], views: { page: PAGE } });
  const send = async (length: number) => {
    const browser = new Browser(application);
    await browser.open("/stories/create");
    const { status, text } = await browser.post(`/long/${length}`, { __token: browser.token });
    const page = status === 303 ? (await browser.open("/stories/create")).text : text;
    return { status, isWhole: page.includes(`<p>title: ${"x".repeat(length)}</p>`) };
  };
  const lengths = await lengthsAround(async (length) => (await send(length)).status === 422);
  for (const [index, length] of lengths.entries()) {
    expect(await send(length), `${length}`).toEqual({ status: index < 50 ? 303 : 422, isWhole: true });
  }
});
