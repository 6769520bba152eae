import { expect, test } from "vitest";
import {
  Browser,
  type Page,
  type Sent,
  type SessionApplicationOptions,
  sessionApplication,
} from "../../../test/support/session-application.ts";
import type { Application } from "../../boot/index.ts";
import type { HttpContext, Next } from "../../http/index.ts";
import { Route } from "../../routing/index.ts";
import { AshlarError, RefusedError } from "../../support/index.ts";
import { SessionMiddleware } from "../session-middleware.ts";

const FORM = `<form method="post">{{ csrf_field }}<input name="article" value="{{ old('article') }}"><i>{{ old('text') }}</i></form>`;
const UNPROCESSED = "What you sent was not processed, and nothing was changed.";
const UNCERTAIN = "It isn't certain whether what you sent was processed. Check that before you send it again.";
const NOTES = {
  kept: "What you typed will be filled in again, except for passwords and files.",
  some: "Not everything you typed could be kept. Your browser's Back button may bring back the rest.",
  lost: "What you typed could not be kept. Your browser's Back button may bring it back.",
  reload: "You can also reload this page in a moment: that sends everything again.",
};
const TYPED = { article: "a lamp", password: "secret" };
/** More than fits into a cookie. */
const LONG = { article: "a lamp", text: "x".repeat(5000) };

const ERRORS: Readonly<Record<string, () => Error>> = {
  away: () => new AshlarError("E_OVERLOADED"),
  busy: () => RefusedError.of("Too many.", { why: "Too many.", bindings: {}, waitedMs: 0 }),
  broken: () => new Error("broken"),
  large: () => new AshlarError("E_PAYLOAD_TOO_LARGE"),
  forbidden: () => new AshlarError("E_FORBIDDEN"),
};

/** Fails with the error that the request's path names. */
class Failing {
  beforeBody(): boolean {
    return true;
  }

  handle({ request }: HttpContext, next: Next): unknown {
    const made = ERRORS[request.header("x-error") ?? ""];
    if (made !== undefined) throw made();
    return next();
  }
}

async function known(options: Partial<SessionApplicationOptions> = {}): Promise<Browser> {
  const application: Application = await sessionApplication({
    routes: [
      Route.view("/form", "form"),
      Route.post("/form", async ({ request }) => {
        if (request.header("x-drop") !== null) {
          await application.container.make("database").kysely.schema.dropTable("session_data").execute();
        }
        throw ERRORS[request.header("x-handler") ?? "broken"]!();
      }),
      Route.post("/apart", () => "done"),
      Route.get("/broken", () => Promise.reject(new Error("broken"))),
      Route.get("/failing/@error", async ({ request, view }) => {
        await view.render("form");
        throw ERRORS[String(request.param("error"))]!();
      }),
    ],
    views: { form: FORM },
    web: [SessionMiddleware, Failing],
    logged: [],
    // In other environments, a 500 shows the error's details.
    environment: { APP_ENV: "production", APP_URL: "http://localhost" },
    ...options,
  });
  const browser = new Browser(application);
  await browser.open("/form");
  return browser;
}

/** Sends the form with a `Content-Length`, because error handling only reads a body of known length. */
function post(browser: Browser, path: string, typed: Readonly<Record<string, string>>, more: Sent["headers"]) {
  const length = String(new URLSearchParams(typed)).length;
  return browser.post(path, typed, { headers: { "content-length": String(length), ...more } });
}

/** An error page's text about the form, and its link. */
function told({ status, text }: Page) {
  const says = (sentence: string) => text.replaceAll("&#39;", "'").includes(sentence);
  return {
    status,
    leadsTo: /<a class="button" href="([^"]*)">Back to the page/.exec(text)?.[1] ?? null,
    processed: says(UNPROCESSED) ? "no" : says(UNCERTAIN) ? "perhaps" : null,
    notes: Object.entries(NOTES).flatMap(([name, sentence]) => (says(sentence) ? [name] : [])),
  };
}

const isFilled = async (browser: Browser) => (await browser.open("/form")).text.includes('value="a lamp"');

test.each([
  { error: "away", typed: TYPED, status: 503, notes: ["kept"], filled: true },
  { error: "away", typed: LONG, status: 503, notes: ["some", "reload"], filled: true },
  { error: "broken", typed: LONG, status: 500, notes: ["some"], filled: true },
  { error: "large", typed: TYPED, status: 413, notes: ["kept"], filled: true },
  // If the server is overloaded, the body isn't read.
  { error: "busy", typed: TYPED, status: 503, notes: ["lost", "reload"], filled: false },
])(
  "a form that fails before its handler leads back: $error $notes",
  async ({ error, typed, status, notes, filled }) => {
    const browser = await known();
    const answer = await post(browser, "/form", typed, { "x-error": error });
    expect(told(answer)).toEqual({ status, leadsTo: "/form", processed: "no", notes });
    expect(await isFilled(browser)).toBe(filled);
    expect(browser.page!.text).not.toContain("secret");
  },
);

test.each([
  { error: "away", typed: TYPED, status: 503, notes: ["kept"] },
  // Sending it again would repeat what the handler has done.
  { error: "away", typed: LONG, status: 503, notes: ["some"] },
  { error: "busy", typed: LONG, status: 503, notes: ["some"] },
  { error: "broken", typed: TYPED, status: 500, notes: ["kept"] },
])(
  "a form that fails in its handler may have been processed: $error $notes",
  async ({ error, typed, status, notes }) => {
    const browser = await known();
    const answer = await post(browser, "/form", typed, { "x-handler": error });
    expect(told(answer)).toEqual({ status, leadsTo: "/form", processed: "perhaps", notes });
    expect(await isFilled(browser)).toBe(true);
  },
);

const NOTHING = { leadsTo: null, processed: null, notes: [] };

test.each([
  { title: "another error", path: "/form", headers: { "x-error": "forbidden" }, status: 403 },
  { title: "a form without a page", path: "/apart", headers: { "x-error": "away", referer: null }, status: 503 },
  {
    title: "a caller that wants JSON",
    path: "/form",
    headers: { "x-error": "away", accept: "application/json" },
    status: 503,
  },
])("$title changes nothing", async ({ path, headers, status }) => {
  const browser = await known();
  const answer = await post(browser, path, TYPED, headers);
  expect([told(answer), answer.cookies]).toEqual([{ status, ...NOTHING }, []]);
  expect(await isFilled(browser)).toBe(false);
});

test("input that another site has sent is not kept", async () => {
  const browser = await known();
  const headers = { "x-error": "away", "sec-fetch-site": "cross-site", referer: "https://evil.example/" };
  expect(told(await post(browser, "/form", TYPED, headers))).toEqual({
    status: 503,
    leadsTo: "/form",
    processed: "no",
    notes: [],
  });
  expect(await isFilled(browser)).toBe(false);
});

test.each([
  { path: "/failing/broken", status: 500, filled: true },
  { path: "/failing/forbidden", status: 403, filled: false },
])(
  "the typed text is kept for the next page if the form's page has failed: $path",
  async ({ path, status, filled }) => {
    const browser = await known();
    await post(browser, "/form", TYPED, { "x-error": "away" });
    expect(told(await browser.send(path))).toEqual({ status, ...NOTHING });
    expect(await isFilled(browser)).toBe(filled);
  },
);

test("a page that fails starts no session", async () => {
  const browser = await known();
  browser.cookies.clear();
  expect((await browser.send("/broken")).cookies).toEqual([]);
});

test.each([
  { typed: TYPED, notes: ["lost"] },
  { typed: { ...LONG, text: "x".repeat(70_000) }, notes: ["lost"] },
])("the typed text is lost if its session can't be saved", async ({ typed, notes }) => {
  const browser = await known({ session: { store: "database" } });
  const answer = await post(browser, "/form", typed, { "x-drop": "yes" });
  expect(told(answer)).toEqual({ status: 500, leadsTo: "/form", processed: "perhaps", notes });
});
