import { describe, expect, test } from "vitest";
import { type ContextOptions, makeContext } from "../../../test/support/http-context.ts";
import { rememberIntended } from "./refuse-guest.ts";

/** The headers that browsers send when a user opens a page. */
const TO_PAGE = { "sec-fetch-mode": "navigate", "sec-fetch-dest": "document", accept: "text/html" };

interface Going extends ContextOptions {
  readonly headers?: Record<string, string>;
  readonly basePath?: string;
  readonly guard?: string | null;
  readonly hasSession?: boolean;
  /** The second argument. */
  readonly formPage?: string | null;
}

/** What is remembered after a request, with the guard that it is remembered for. */
function remembered({ basePath = "", guard = null, hasSession = true, formPage, ...request }: Going): unknown[] {
  const context = makeContext({ ...request, headers: { ...TO_PAGE, ...request.headers } });
  Object.assign(context.services, { basePath });
  const intended: unknown[] = [];
  const visitor = { intend: (...remembering: unknown[]) => intended.push(remembering) };
  Object.assign(context, { auth: { intendedScope: guard }, visitor: hasSession ? visitor : null });
  if (formPage === undefined) rememberIntended(context);
  else rememberIntended(context, formPage);
  return intended;
}

const PAGE = "http://localhost/orders?page=2";

describe("S130 the page that a login leads back to is", () => {
  test("the requested one, with its query", () => {
    expect(remembered({ url: PAGE })).toEqual([["/orders?page=2", null]]);
    expect(remembered({ url: "http://localhost/orders" })).toEqual([["/orders", null]]);
  });

  test("the requested one, not the one with the link to it", () => {
    const headers = { referer: "http://localhost/welcome" };
    expect(remembered({ url: PAGE, headers, formPage: "/form" })).toEqual([["/orders?page=2", null]]);
  });

  test("below the application's own path", () => {
    expect(remembered({ url: PAGE, basePath: "/shop" })).toEqual([["/shop/orders?page=2", null]]);
  });

  test("kept for the guard whose login is required", () => {
    expect(remembered({ url: PAGE, guard: "admin" })).toEqual([["/orders?page=2", "admin"]]);
  });

  test("for a form, the page that it is on", () => {
    const headers = { referer: "http://localhost/orders/create?draft=1" };
    for (const method of ["POST", "PUT", "DELETE"]) {
      expect(remembered({ url: PAGE, method, headers, formPage: "/form" })).toEqual([["/orders/create?draft=1", null]]);
    }
  });

  test("for a form from a trusted origin, its page there, and for any other origin, nothing", () => {
    const headers = { referer: "https://app.example/orders/create" };
    const form = { url: PAGE, method: "POST", headers };
    expect(remembered({ ...form, trustedOrigins: ["https://app.example"] })).toEqual([
      ["https://app.example/orders/create", null],
    ]);
    expect(remembered(form)).toEqual([]);
  });

  test("for a form whose page the browser hides, the given address, if there is one", () => {
    expect(remembered({ url: PAGE, method: "POST", formPage: "/form" })).toEqual([["/form", null]]);
    expect(remembered({ url: PAGE, method: "POST", formPage: null })).toEqual([]);
    expect(remembered({ url: PAGE, method: "POST" })).toEqual([]);
  });
});

describe("S130 nothing is remembered of", () => {
  test.each([
    ["an image", { "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image" }],
    ["a frame", { "sec-fetch-dest": "iframe" }],
    ["what a script fetches", { "sec-fetch-mode": "cors", "sec-fetch-dest": "empty" }],
    ["a prefetch", { "sec-purpose": "prefetch" }],
  ])("%s", (_, headers) => {
    expect(remembered({ url: PAGE, headers })).toEqual([]);
    expect(remembered({ url: PAGE, method: "POST", headers: { ...headers, referer: PAGE } })).toEqual([]);
  });

  test("HEAD", () => {
    expect(remembered({ url: PAGE, method: "HEAD", headers: { referer: PAGE }, formPage: "/form" })).toEqual([]);
  });

  test("a visitor without a session, and nothing fails", () => {
    expect(remembered({ url: PAGE, hasSession: false })).toEqual([]);
  });
});
