import fc from "fast-check";
import { FastURL } from "srvx";
import { describe, expect, test } from "vitest";
import { requestAuthority, requestPath, requestSearch, splitUrl } from "./request-url.ts";

describe("the parts of a request's URL", () => {
  test.each([
    [
      "https://shop.example/a/b?c=d",
      { origin: "https://shop.example", authority: "shop.example", path: "/a/b", search: "?c=d" },
    ],
    ["http://localhost:3000/", { origin: "http://localhost:3000", authority: "localhost:3000", path: "/", search: "" }],
    ["http://[::1]:80/a", { origin: "http://[::1]:80", authority: "[::1]:80", path: "/a", search: "" }],
    ["http://a/b?c?d#e?f", { origin: "http://a", authority: "a", path: "/b", search: "?c?d" }],
    ["http://a/b#c?d/e", { origin: "http://a", authority: "a", path: "/b", search: "" }],
    ["http://a/b?", { origin: "http://a", authority: "a", path: "/b", search: "" }],
    ["http://a/?b=/c", { origin: "http://a", authority: "a", path: "/", search: "?b=/c" }],
    ["http://a?b/c", { origin: "http://a", authority: "a", path: "/", search: "?b/c" }],
    ["http://a", { origin: "http://a", authority: "a", path: "/", search: "" }],
    ["http://a//b//c", { origin: "http://a", authority: "a", path: "//b//c", search: "" }],
  ])("%s", (url, parts) => {
    expect(splitUrl(url)).toEqual(parts);
  });

  test("agree with those that URL finds", () => {
    const url = fc.webUrl({ withQueryParameters: true, withFragments: true });
    fc.assert(
      fc.property(url, (text) => {
        const { href, host, origin, pathname, search } = new URL(text);
        expect(splitUrl(href)).toEqual({ origin, authority: host, path: pathname, search });
      }),
    );
  });

  test("come from the server's parsed URL if there is one", () => {
    const raw = Object.assign(new Request("http://unused/"), { _url: new FastURL("http://shop.example/a?b=c") });
    expect([requestPath(raw), requestSearch(raw)]).toEqual(["/a", "?b=c"]);
  });
});

describe("the host a request was sent to", () => {
  test("comes from the Host header, or from the URL if the header is missing", () => {
    expect(requestAuthority(new Request("http://a.example:81/"))).toBe("a.example:81");
    expect(requestAuthority(new Request("http://a.example/", { headers: { host: "b.example:8080" } }))).toBe(
      "b.example:8080",
    );
  });

  test("comes from the URL if the server parsed it: an absolute request target overrides the header", () => {
    const raw = new Request("http://a.example/", { headers: { host: "evil.example" } });
    expect(requestAuthority(Object.assign(raw, { _url: new FastURL("http://a.example/") }))).toBe("a.example");
  });
});
