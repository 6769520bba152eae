import { describe, expect, test } from "vitest";
import { isInBackground, isNavigation, isSpeculative } from "./navigation.ts";

const PAGE = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
const IMAGE = "image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8";

const sent = (headers: Record<string, string>, method = "GET"): Request =>
  new Request("http://shop.example/orders", { method, headers });

const fetched = (mode: string, dest: string, accept = "*/*") => ({
  "sec-fetch-mode": mode,
  "sec-fetch-dest": dest,
  accept,
});

describe("S161 a page that the user navigated to", () => {
  test.each<[string, Record<string, string>]>([
    ["a link, an address, a form", fetched("navigate", "document", PAGE)],
    ["a reload in Firefox", { ...fetched("navigate", "document", PAGE), "sec-fetch-user": "?1", priority: "u=0, i" }],
    ["the same over plain http", { accept: PAGE, "upgrade-insecure-requests": "1" }],
    ["Node's fetch(), which is not a browser, for a page", { accept: PAGE, "sec-fetch-mode": "cors" }],
    ["the same in Safari 15", { accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8" }],
  ])("%s", (_, headers) => {
    for (const request of [sent(headers), sent(headers, "POST")]) {
      expect([isNavigation(request), isInBackground(request), isSpeculative(request)]).toEqual([true, false, false]);
    }
  });
});

describe("S161 a resource that an open page loads", () => {
  test.each<[string, Record<string, string>]>([
    ["an image", fetched("no-cors", "image", IMAGE)],
    ["an image over plain http", { accept: IMAGE }],
    ["an image in Safari 15", { accept: "image/webp,image/png,image/svg+xml,image/*;q=0.8,video/*;q=0.8,*/*;q=0.5" }],
    ["a script", fetched("no-cors", "script")],
    ["a style", fetched("no-cors", "style", "text/css,*/*;q=0.1")],
    ["fetch()", fetched("cors", "empty")],
    ["fetch() that asks for a page", fetched("same-origin", "empty", PAGE)],
    ["fetch() over plain http", { accept: "*/*" }],
    ["XMLHttpRequest of a library over plain http", { accept: PAGE, "x-requested-with": "XMLHttpRequest" }],
    ["a frame", fetched("navigate", "iframe", PAGE)],
    ["an embedded document", fetched("navigate", "embed", PAGE)],
    ["an event source", fetched("cors", "empty", "text/event-stream")],
    ["a manifest", fetched("cors", "manifest")],
  ])("%s", (_, headers) => {
    for (const request of [sent(headers), sent(headers, "POST")]) {
      expect([isNavigation(request), isInBackground(request), isSpeculative(request)]).toEqual([false, true, false]);
    }
  });

  test.each<[string, Record<string, string>]>([
    ["a prefetch in Chromium", { ...fetched("navigate", "document", PAGE), "sec-purpose": "prefetch" }],
    ["a prerendering", { ...fetched("navigate", "document", PAGE), "sec-purpose": "prefetch;prerender" }],
    ["a prefetch of an older Chromium", { accept: PAGE, purpose: "prefetch" }],
    ["a prefetch in Firefox", { accept: PAGE, "x-moz": "prefetch" }],
    ["a preview in Safari", { accept: PAGE, "x-purpose": "preview" }],
    ["a prefetch by link", { ...fetched("no-cors", "empty"), "sec-purpose": "prefetch" }],
    ["a prefetch that says nothing else", { "sec-purpose": "prefetch" }],
  ])("%s", (_, headers) => {
    const request = sent(headers);
    expect([isNavigation(request), isInBackground(request), isSpeculative(request)]).toEqual([false, true, true]);
  });
});

test("a client that sends neither header counts as neither", () => {
  const request = sent({});
  expect([isNavigation(request), isInBackground(request), isSpeculative(request)]).toEqual([false, false, false]);
});
